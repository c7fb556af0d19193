package sts

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"

	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// roleSession is a session of an assumed role.
type roleSession struct{ partition, account, path, session string }

var (
	roleARN = regexp.MustCompile(`^arn:(aws[a-z-]*):iam::(\d{12}):role/([\w+=,.@/-]+)$`)
)

func readRole(arn, session *string) (roleSession, error) {
	m := roleARN.FindStringSubmatch(*arn)
	if m == nil {
		return roleSession{}, world.Refuse("ValidationError", "%s is invalid", *arn)
	}
	return roleSession{m[1], m[2], m[3], *session}, nil
}

// roleName returns the role's name without its path.
func (r roleSession) roleName() string { return r.path[strings.LastIndex(r.path, "/")+1:] }

func (r roleSession) sessionARN() string {
	return "arn:" + r.partition + ":sts::" + r.account + ":assumed-role/" + r.roleName() + "/" + r.session
}

func (r roleSession) sessionID() string {
	return uniqueID("AROA", r.account+"/"+r.roleName()) + ":" + r.session
}

func (r roleSession) assumedRoleUser() *ststypes.AssumedRoleUser {
	arn, id := r.sessionARN(), r.sessionID()
	return &ststypes.AssumedRoleUser{Arn: &arn, AssumedRoleId: &id}
}

func secondsOr(asked *int32, def int32) int32 {
	if asked == nil {
		return def
	}
	return *asked
}

// constraints returns the constraints of the service's model.
func constraints() map[string]wire.Constraint {
	role := wire.Constraint{Required: true, Length: []int{20, 2048}}
	session := wire.Constraint{Required: true, Length: []int{2, 64}, Pattern: `[\w+=,.@-]*`}
	duration := wire.Constraint{Value: []int{900, 43200}}
	return map[string]wire.Constraint{
		"AssumeRoleInput.RoleArn":                         role,
		"AssumeRoleInput.RoleSessionName":                 session,
		"AssumeRoleInput.DurationSeconds":                 duration,
		"AssumeRoleWithWebIdentityInput.RoleArn":          role,
		"AssumeRoleWithWebIdentityInput.RoleSessionName":  session,
		"AssumeRoleWithWebIdentityInput.DurationSeconds":  duration,
		"AssumeRoleWithWebIdentityInput.WebIdentityToken": {Required: true, Length: []int{4, 20000}},
		"GetSessionTokenInput.DurationSeconds":            {Value: []int{900, 129600}},
		"GetAccessKeyInfoInput.AccessKeyId":               {Required: true, Length: []int{16, 128}, Pattern: `[\w]*`},
	}
}

// tokenClaims are the claims of a JSON Web Token that STS returns.
type tokenClaims struct{ issuer, subject, audience string }

func readClaims(token string) (tokenClaims, bool) {
	part := strings.Split(token, ".")
	if len(part) != 3 {
		return tokenClaims{}, false
	}
	b, err := base64.RawURLEncoding.DecodeString(part[1])
	var x struct {
		Iss, Sub string
		Aud      any
	}
	if err != nil || json.Unmarshal(b, &x) != nil || x.Sub == "" {
		return tokenClaims{}, false
	}
	c := tokenClaims{issuer: strings.TrimPrefix(x.Iss, "https://"), subject: x.Sub}
	switch a := x.Aud.(type) {
	case string:
		c.audience = a
	case []any:
		if len(a) > 0 {
			c.audience, _ = a[0].(string)
		}
	}
	return c, true
}
