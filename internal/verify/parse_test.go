package verify

import (
	"net/url"
	"testing"
)

func TestSecretsAreParsed(t *testing.T) {
	const arn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/db-AbCdEf"
	for from, want := range map[string]SecretRef{
		"/shop/key": {IsParameter: true, ID: "/shop/key"},
		"arn:aws:ssm:eu-west-1:123456789012:parameter/shop/key": {IsParameter: true, Region: "eu-west-1",
			ID: "arn:aws:ssm:eu-west-1:123456789012:parameter/shop/key"},
		arn:                           {Region: "eu-west-1", ID: arn},
		arn + ":user::":               {Region: "eu-west-1", ID: arn, Key: "user"},
		arn + "::AWSPREVIOUS:":        {Region: "eu-west-1", ID: arn, Stage: "AWSPREVIOUS"},
		arn + ":user:AWSPREVIOUS:v-1": {Region: "eu-west-1", ID: arn, Key: "user", Stage: "AWSPREVIOUS", Versions: "v-1"},
	} {
		if got, err := ParseSecret(from); err != nil || got != want {
			t.Errorf("%s: %+v, %v", from, got, err)
		}
	}
	for _, from := range []string{arn + ":user", "arn:aws:s3:::bucket/key", "arn:aws"} {
		if got, err := ParseSecret(from); err == nil {
			t.Errorf("%s: %+v", from, got)
		}
	}
}

func TestTrustPolicies(t *testing.T) {
	for text, want := range map[string]bool{
		`{"Statement":{"Effect":"Allow","Principal":{"Service":"ecs-tasks.amazonaws.com"},"Action":"sts:AssumeRole"}}`:           true,
		`{"Statement":[{"Effect":"Allow","Principal":{"Service":["a","ecs-tasks.amazonaws.com"]},"Action":["sts:AssumeRole"]}]}`: true,
		`{"Statement":[{"Effect":"Deny","Principal":{"Service":"ecs-tasks.amazonaws.com"},"Action":"sts:AssumeRole"}]}`:          false,
		`{"Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`:               false,
		`{"Statement":[{"Effect":"Allow","Principal":{"Service":"ecs-tasks.amazonaws.com"},"Action":"sts:TagSession"}]}`:         false,
		`{"Statement":[{"Effect":"Allow","Principal":"*","Action":"sts:AssumeRole"}]}`:                                           false,
	} {
		policy, err := parseTrust(url.PathEscape(text))
		if got := policy.allows(tasksService); err != nil || got != want {
			t.Errorf("%s allows tasks to assume the role: %v, %v, want %v", text, got, err, want)
		}
	}
	if _, err := parseTrust("%7B"); err == nil {
		t.Error("a broken policy is read")
	}
}
