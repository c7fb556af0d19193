package sts

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// tokenPrefix begins session tokens. A token contains the session itself, as AWS's do, so that it
// survives a reset and a restart.
const tokenPrefix = "FwoSluice"

type session struct {
	Key     string // access key id
	Account string
	ARN     string `json:",omitempty"`
	UserID  string `json:",omitempty"`
}

// issueCredentials creates credentials of an account; arn is empty for its user.
func (s *Service) issueCredentials(ctx context.Context, account, arn, id string, seconds int32) *ststypes.Credentials {
	var c ststypes.Credentials
	_ = s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		key := accessKey(account, tx.NewHex("access key", 10))
		b, _ := json.Marshal(session{Key: key, Account: account, ARN: arn, UserID: id})
		token := tokenPrefix + base64.StdEncoding.EncodeToString(b)
		secret := tx.NewHex("secret key", 40)
		until := tx.Now().Add(time.Duration(seconds) * time.Second).Truncate(time.Second)
		c = ststypes.Credentials{AccessKeyId: &key, SecretAccessKey: &secret, SessionToken: &token, Expiration: &until}
		return nil
	})
	return &c
}

// identifyCaller recognizes credentials that [Service.issueCredentials] created. It refuses
// temporary keys without their token, and it does not recognize other tokens.
func identifyCaller(key, token string, _ time.Time) (wire.Caller, bool, *world.Refusal) {
	b, ours := strings.CutPrefix(token, tokenPrefix)
	if !ours {
		if strings.HasPrefix(key, "ASIA") && token == "" {
			return wire.Caller{}, false, invalidToken()
		}
		return wire.Caller{}, false, nil
	}
	var x session
	raw, err := base64.StdEncoding.DecodeString(b)
	if err != nil || json.Unmarshal(raw, &x) != nil || x.Key != key {
		return wire.Caller{}, false, invalidToken()
	}
	return wire.Caller{AccessKey: key, Account: x.Account, ARN: x.ARN, UserID: x.UserID}, true, nil
}

func invalidToken() *world.Refusal {
	return &world.Refusal{Code: "UnrecognizedClientException", Status: 403,
		Message: "The security token included in the request is invalid."}
}

// accessKey encodes the account in the key as AWS does: bits 7 to 46 of the first six of ten bytes,
// in base32. random is at least ten hexadecimal digits.
func accessKey(account, random string) string {
	n, _ := strconv.ParseUint(account, 10, 64)
	r, _ := hex.DecodeString(random[:10])
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], 1<<47|n<<7|uint64(r[0]&0x7f))
	return "ASIA" + base32.StdEncoding.EncodeToString(append(b[2:], r[1:]...))
}

// accountOfKey returns the account of a key.
func accountOfKey(key string) (string, bool) {
	if len(key) == 12 && strings.Trim(key, "0123456789") == "" {
		return key, true
	}
	if len(key) != 20 || (!strings.HasPrefix(key, "ASIA") && !strings.HasPrefix(key, "AKIA")) {
		return "", false
	}
	b, err := base32.StdEncoding.DecodeString(key[4:])
	if err != nil {
		return "", false
	}
	n := binary.BigEndian.Uint64(append([]byte{0, 0}, b[:6]...)) & 0x7fffffffff80 >> 7
	return fmt.Sprintf("%012d", n), n < 1e12
}

// uniqueID returns an IAM unique id. It is the same for the same ARN.
func uniqueID(prefix, arn string) string {
	sum := sha256.Sum256([]byte(arn))
	return prefix + base32.StdEncoding.EncodeToString(sum[:])[:17]
}

func userARN(k world.Key) string { return k.GlobalARN("iam", "user/sluice") }
