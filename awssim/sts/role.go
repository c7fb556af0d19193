package sts

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// roleSession is a session of an assumed role.
type roleSession struct{ partition, account, path, session string }

var (
	roleARN     = regexp.MustCompile(`^arn:(aws[a-z-]*):iam::(\d{12}):role/([\w+=,.@/-]+)$`)
	sessionName = regexp.MustCompile(`^[\w+=,.@-]*$`)
)

func readRole(arn, session *string) (roleSession, error) {
	switch {
	case arn == nil:
		return roleSession{}, constraintViolation("null", "roleArn", "Member must not be null")
	case len(*arn) < 20:
		return roleSession{}, constraintViolation("'"+*arn+"'", "roleArn",
			"Member must have length greater than or equal to 20")
	case session == nil:
		return roleSession{}, constraintViolation("null", "roleSessionName", "Member must not be null")
	case len(*session) < 2:
		return roleSession{}, constraintViolation("'"+*session+"'", "roleSessionName",
			"Member must have length greater than or equal to 2")
	case len(*session) > 64:
		return roleSession{}, constraintViolation("'"+*session+"'", "roleSessionName",
			"Member must have length less than or equal to 64")
	case !sessionName.MatchString(*session):
		return roleSession{}, constraintViolation("'"+*session+"'", "roleSessionName",
			`Member must satisfy regular expression pattern: [\w+=,.@-]*`)
	}
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

// checkDuration returns the duration of a session in seconds.
func checkDuration(asked *int32, def, most int32) (int32, error) {
	switch {
	case asked == nil:
		return def, nil
	case *asked < 900:
		return 0, constraintViolation("'"+itoa(*asked)+"'", "durationSeconds",
			"Member must have value greater than or equal to 900")
	case *asked > most:
		return 0, constraintViolation("'"+itoa(*asked)+"'", "durationSeconds",
			"Member must have value less than or equal to "+itoa(most))
	}
	return *asked, nil
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }

func constraintViolation(value, member, text string) error {
	return world.Refuse("ValidationError",
		"1 validation error detected: Value %s at '%s' failed to satisfy constraint: %s", value, member, text)
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
