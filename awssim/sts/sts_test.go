package sts_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/sts"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

type stopped struct{ now time.Time }

func (c stopped) Now() time.Time                             { return c.now }
func (c stopped) Sleep(context.Context, time.Duration) error { return nil }

var start = time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)

func endpoint() *wire.Server {
	w := world.New(world.Options{Clock: stopped{start}, Strict: true})
	return wire.New(w, sts.NewAPI(w))
}

func client(s *wire.Server, key, token string) *awssts.Client {
	return awssts.NewFromConfig(aws.Config{Region: "eu-west-1", HTTPClient: &http.Client{Transport: s},
		BaseEndpoint: aws.String("http://sim"), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: key, SecretAccessKey: "x", SessionToken: token}, nil
		})})
}

func whoami(t *testing.T, c *awssts.Client) string {
	t.Helper()
	out, err := c.GetCallerIdentity(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return *out.Account + " " + *out.Arn
}

func with(s *wire.Server, c *ststypes.Credentials) *awssts.Client {
	return client(s, *c.AccessKeyId, *c.SessionToken)
}

func TestAssumedCredentialsActInTheRolesAccount(t *testing.T) {
	s := endpoint()
	me := client(s, "123456789012", "")
	if got := whoami(t, me); got != "123456789012 arn:aws:iam::123456789012:user/sluice" {
		t.Errorf("before: %s", got)
	}
	out, err := me.AssumeRole(context.Background(), &awssts.AssumeRoleInput{
		RoleArn: aws.String("arn:aws:iam::000000000000:role/ci/deploy"), RoleSessionName: aws.String("me@x")})
	if err != nil {
		t.Fatal(err)
	}
	if got := whoami(t, with(
		s, out.Credentials)); got != "000000000000 arn:aws:sts::000000000000:assumed-role/deploy/me@x" {
		t.Errorf("after: %s", got)
	}
	if want := start.Add(time.Hour); !out.Credentials.Expiration.Equal(want) {
		t.Errorf("expires %s, want %s", out.Credentials.Expiration, want)
	}
	info, err := me.GetAccessKeyInfo(context.Background(),
		&awssts.GetAccessKeyInfoInput{AccessKeyId: out.Credentials.AccessKeyId})
	if err != nil || *info.Account != "000000000000" {
		t.Errorf("key belongs to %v, %v", info, err)
	}
}

func TestChainingLastsAnHourAtMost(t *testing.T) {
	s := endpoint()
	in := &awssts.AssumeRoleInput{RoleArn: aws.String("arn:aws:iam::000000000000:role/deploy"),
		RoleSessionName: aws.String("me")}
	out, err := client(s, "123456789012", "").AssumeRole(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	in.DurationSeconds = aws.Int32(7200)
	_, err = with(s, out.Credentials).AssumeRole(context.Background(), in)
	refused(t, err, "ValidationError", "role chaining")
}

func TestASessionTokenKeepsTheUser(t *testing.T) {
	s := endpoint()
	out, err := client(s, "123456789012", "").GetSessionToken(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := whoami(t, with(s, out.Credentials)); got != "123456789012 arn:aws:iam::123456789012:user/sluice" {
		t.Errorf("session is %s", got)
	}
	_, err = with(s, out.Credentials).GetSessionToken(context.Background(), nil)
	refused(t, err, "AccessDenied", "session credentials")
}

func TestWebIdentityNeedsNoSignature(t *testing.T) {
	s := endpoint()
	token := func(claims string) *string {
		return aws.String("e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".sig")
	}
	in := &awssts.AssumeRoleWithWebIdentityInput{RoleArn: aws.String("arn:aws:iam::000000000000:role/ci"),
		RoleSessionName:  aws.String("run"),
		WebIdentityToken: token(`{"iss":"https://ci.example","sub":"repo:a/b","aud":["sts.amazonaws.com"]}`)}
	c := awssts.New(awssts.Options{Region: "eu-west-1", HTTPClient: &http.Client{Transport: s},
		BaseEndpoint: aws.String("http://sim")})
	out, err := c.AssumeRoleWithWebIdentity(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if got := *out.Provider + " " + *out.SubjectFromWebIdentityToken + " " +
		*out.Audience; got != "ci.example repo:a/b sts.amazonaws.com" {
		t.Errorf("claims %s", got)
	}
	if got := whoami(t, with(s, out.Credentials)); got != "000000000000 arn:aws:sts::000000000000:assumed-role/ci/run" {
		t.Errorf("session is %s", got)
	}
	in.WebIdentityToken = aws.String("nonsense")
	_, err = c.AssumeRoleWithWebIdentity(context.Background(), in)
	var typed *ststypes.InvalidIdentityTokenException
	if !errors.As(err, &typed) {
		t.Errorf("a token that is none: %v", err)
	}
}

func TestTemporaryKeysNeedTheirToken(t *testing.T) {
	s := endpoint()
	for _, token := range []string{"", "FwoSluicenonsense"} {
		_, err := client(s, "ASIAIOSFODNN7EXAMPLE", token).GetCallerIdentity(context.Background(), nil)
		refused(t, err, "InvalidClientTokenId", "security token")
	}
	if got := whoami(t, client(s, "ASIAIOSFODNN7EXAMPLE", "from elsewhere")); !strings.HasPrefix(got, wire.Anonymous) {
		t.Errorf("a foreign session is %s", got)
	}
}

func TestRefusedInputs(t *testing.T) {
	c := client(endpoint(), "123456789012", "")
	role, name := aws.String("arn:aws:iam::000000000000:role/deploy"), aws.String("me")
	for text, in := range map[string]*awssts.AssumeRoleInput{
		"arn:aws:iam::000000000000:user/deploy is invalid": {RoleArn: aws.String(
			"arn:aws:iam::000000000000:user/deploy"), RoleSessionName: name},
		"'roleSessionName' failed to satisfy constraint": {RoleArn: role,
			RoleSessionName: aws.String("a b")},
		"Member must have value greater than or equal to 900": {RoleArn: role, RoleSessionName: name,
			DurationSeconds: aws.Int32(60)},
		"Member must have value less than or equal to 43200": {RoleArn: role, RoleSessionName: name,
			DurationSeconds: aws.Int32(43201)},
		"Member must have length greater than or equal to 2": {RoleArn: role,
			RoleSessionName: aws.String("a")},
		"at 'roleArn' failed to satisfy constraint: Member must have l": {RoleArn: aws.String("short"),
			RoleSessionName: name},
	} {
		_, err := c.AssumeRole(context.Background(), in)
		refused(t, err, "ValidationError", text)
	}
}

func refused(t *testing.T, err error, code, text string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
		t.Errorf("got %v, want %s with %q", err, code, text)
	}
}
