package secret

import (
	"encoding/json"
	"strings"
	"testing"
)

// Each of these holds the word PLANTED, or is secret as a whole.
func TestSecretsAreMasked(t *testing.T) {
	for text, want := range map[string]string{
		"--password=PLANTED9":           "--password=***",
		"--password PLANTED9 --verbose": "--password *** --verbose",
		"DB_PASSWORD=PLANTED":           "DB_PASSWORD=***",
		"AWS_SECRET_ACCESS_KEY=PLANTEDENV SHELL=": "AWS_SECRET_ACCESS_KEY=*** " +
			"SHELL=",
		`["serve", "--api-key", "PLANTED9"]`:                                          `["serve", "--api-key", "***"]`,
		`{"password":"PLANTED"}`:                                                      `{"password":"***"}`,
		`{"a":"{\"dbPassword\":\"PLANTED\"}"}`:                                        `{"a":"{\"dbPassword\":\"***\"}"}`,
		"password: PLANTED1":                                                          "password: ***",
		"https://user:PLANTED@example.com/x":                                          "https://***@example.com/x",
		"https://example.com/x?token=PLANTED&a=b":                                     "https://example.com/x?token=***&a=b",
		"X-Amz-Signature=PLANTED":                                                     "X-Amz-Signature=***",
		"Authorization: Bearer PLANTEDabcdef":                                         "Authorization: Bearer ***",
		"key AKIA" + "IOSFODNN7EXAMPLE.":                                              "key ***.",
		"wJalrXUtnFEMI/K7MDENG" + "/bPxRfiCYEXAMPLEKEY":                               "***",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl":                           "***",
		"ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789":                               "***",
		"-----BEGIN RSA PRIVATE KEY-----\\nPLANTED\\n-----END RSA PRIVATE KEY-----\"": "***\"",
	} {
		if got := Mask(text); got != want {
			t.Errorf("%s\n is %s\nnot %s", text, got, want)
		}
	}
}

// What sluice itself says stays as it is.
func TestOtherTextStays(t *testing.T) {
	for _, text := range []string{
		"arn:aws:secretsmanager:us-east-1:123456789012:secret:db-AbCdEf",
		"ExpiredTokenException: The security token included in the request is expired",
		"arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-canary/0123456789abcdef",
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"export AWS_ACCESS_KEY_ID=000000000000", "export AWS_SECRET_ACCESS_KEY=sim",
		"ecs-svc/1234567890123456789", "slc-01k0abcdefghjkmnpqrstvwxyz",
		"123456789012.dkr.ecr.us-east-1.amazonaws.com/web:v2",
		"containerDefinitions[web].secrets: none -> [{name: DB_PASSWORD, valueFrom: " +
			"arn:aws:ssm:us-east-1:123456789012:parameter/db}]",
		"\"name\": \"splunk-token\",\n\"valueFrom\": \"arn:aws:ssm:us-east-1:123456789012:parameter/a\"",
		"--take-over the service from DEPLOYMENT", "there is no key \"password\"",
	} {
		if got := Mask(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestValuesAreMaskedByNameAndShape(t *testing.T) {
	for _, c := range [][3]string{
		{"DB_PASSWORD", "x", Stars},
		{"apiKey", "x", Stars},
		{"traefik.basicauth.users", "x", Stars},
		{"command", "q8Zr2LxP0vTnW5cYbKd7MhJ4", Stars},
		{"command", "3f2a9c1e7b6d5a4f3f2a9c1e7b6d5a4f3f2a9c1e", "3f2a9c1e7b6d5a4f3f2a9c1e7b6d5a4f3f2a9c1e"},
		{"valueFrom", "arn:aws:ssm:us-east-1:123456789012:parameter/db",
			"arn:aws:ssm:us-east-1:123456789012:parameter/db"},
		{"name", "token-service", "token-service"},
		{"command", "com.example.web.ServerV2Application", "com.example.web.ServerV2Application"},
	} {
		if got := Value(c[0], c[1]); got != c[2] {
			t.Errorf("%s: %s is %s, not %s", c[0], c[1], got, c[2])
		}
	}
	if got := strings.Join(List("command", []string{"serve", "--password", "x", "--port", "80", "--token", "--x"}),
		" "); got != "serve --password *** --port 80 --token --x" {
		t.Error(got)
	}
}

func TestURLsAreShownWithoutTheirSecrets(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:4566":             "http://127.0.0.1:4566",
		"https://u:PLANTED@h/p?PLANTED#x":   "https://***@h/p?***",
		"http://h:PLANTED":                  "***",
		"mailto:PLANTED":                    "mailto:***",
		"https://h/p?X-Amz-Signature=abcde": "https://h/p?***",
	} {
		if got := URL(address); got != want {
			t.Errorf("%s is %s, not %s", address, got, want)
		}
	}
}

// FuzzMask holds that JSON stays JSON, and that masked text stays as it is.
func FuzzMask(f *testing.F) {
	for _, s := range []string{"--password=x9999 y", `{"token":"abcd"}`, "https://a:b@c/?secret=abcd",
		"-----BEGIN PRIVATE KEY-----\nab\\", `password: \"a1b2\"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		data, err := json.Marshal(map[string]string{"a": text, text: "b"})
		if err != nil {
			t.Skip()
		}
		if masked := Mask(string(data)); !json.Valid([]byte(masked)) {
			t.Fatalf("%s became %s", data, masked)
		}
	})
}
