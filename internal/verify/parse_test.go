package verify

import (
	"net/url"
	"testing"
)

func TestSecretsAreParsed(t *testing.T) {
	const arn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/db-AbCdEf"
	for from, want := range map[string]secretRef{
		"/shop/key": {isParameter: true, id: "/shop/key"},
		"arn:aws:ssm:eu-west-1:123456789012:parameter/shop/key": {isParameter: true, region: "eu-west-1",
			id: "arn:aws:ssm:eu-west-1:123456789012:parameter/shop/key"},
		arn:                           {region: "eu-west-1", id: arn},
		arn + ":user::":               {region: "eu-west-1", id: arn, key: "user"},
		arn + "::AWSPREVIOUS:":        {region: "eu-west-1", id: arn, stage: "AWSPREVIOUS"},
		arn + ":user:AWSPREVIOUS:v-1": {region: "eu-west-1", id: arn, key: "user", stage: "AWSPREVIOUS", versions: "v-1"},
	} {
		if got, err := parseSecret(from); err != nil || got != want {
			t.Errorf("%s: %+v, %v", from, got, err)
		}
	}
	for _, from := range []string{arn + ":user", "arn:aws:s3:::bucket/key", "arn:aws"} {
		if got, err := parseSecret(from); err == nil {
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
		got, err := trustsService(url.PathEscape(text), tasksService)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := trustsService("%7B", tasksService); err == nil {
		t.Error("a broken policy is read")
	}
}
