package verify

import (
	"net/url"
	"testing"
)

func TestImagesAreParsed(t *testing.T) {
	for name, want := range map[string]Image{
		"nginx":                {Host: dockerHub, Repository: "library/nginx", Tag: "latest"},
		"shop/web:v1":          {Host: dockerHub, Repository: "shop/web", Tag: "v1"},
		"docker.io/nginx:1":    {Host: dockerHub, Repository: "library/nginx", Tag: "1"},
		"localhost:5000/a":     {Host: "localhost:5000", Repository: "a", Tag: "latest"},
		"ghcr.io/a/b@sha256:c": {Host: "ghcr.io", Repository: "a/b", Tag: "latest", Digest: "sha256:c"},
		"public.ecr.aws/a/b:1": {Host: "public.ecr.aws", Repository: "a/b", Tag: "1"},
		"123456789012.dkr.ecr.eu-west-1.amazonaws.com/a/b:1": {Host: "123456789012.dkr.ecr.eu-west-1.amazonaws.com",
			Repository: "a/b", Tag: "1", Account: "123456789012", Region: "eu-west-1"},
	} {
		if got, err := parseImage(name); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "a:", "a {{ b }}", "ghcr.io/"} {
		if got, err := parseImage(name); err == nil {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

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
