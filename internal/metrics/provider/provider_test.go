package provider

import (
	"encoding/json"
	"strings"
	"testing"
)

// parse parses the JSON of a config. It returns the provider as JSON, or the problems, one per line.
func parse(t *testing.T, kind, config string) string {
	t.Helper()
	var decoded map[string]any
	if err := json.Unmarshal([]byte(config), &decoded); err != nil {
		t.Fatal(config, err)
	}
	p, problems := Parse("prom", kind, decoded)
	var out []string
	for _, x := range problems {
		out = append(out, x.Key+": "+x.Err.Error())
	}
	text, err := json.Marshal(p.Config)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		return string(text)
	}
	return strings.Join(out, "\n")
}

// Configurations in piped's form, and what sluice adds to it.
func TestParse(t *testing.T) {
	for _, c := range []struct{ kind, config, want string }{
		{"PROMETHEUS", `{"address": "http://prometheus:9090/"}`, `{"address":"http://prometheus:9090"}`},
		{"PROMETHEUS", `{"address": "https://p.test/x", "usernameFile": "/u", "passwordFile": "/p"}`,
			`{"address":"https://p.test/x","username":"file:/u","password":"file:/p"}`},
		{"PROMETHEUS", `{"address": "https://p.test", "username": "reader", "password": "ssm:/prom/password"}`,
			`{"address":"https://p.test","username":"reader","password":"ssm:/prom/password"}`},
		{"PROMETHEUS", `{"address": "https://p.test", "bearer": "env:TOKEN", "headers": {"X-Scope-OrgID": "team"}}`,
			`{"address":"https://p.test","bearer":"env:TOKEN","headers":[{"name":"X-Scope-OrgID","value":"team"}]}`},
		{"PROMETHEUS", `{"address": "https://p.test", "sigv4": true}`, `{"address":"https://p.test","sigv4":{}}`},
		{"PROMETHEUS", `{"address": "https://p.test", "sigv4": false}`, `{"address":"https://p.test"}`},
		{"PROMETHEUS", `{"address": "https://p.test", "sigv4": {"region": "eu-west-1"}}`,
			`{"address":"https://p.test","sigv4":{"region":"eu-west-1"}}`},
		{"DATADOG", `{"address": "datadoghq.eu", "apiKeyFile": "/a", "applicationKeyFile": "/b"}`,
			`{"address":"datadoghq.eu","apiKey":"file:/a","applicationKey":"file:/b"}`},
		{"DATADOG", `{"apiKey": "env:A", "applicationKey": "ssm:/b"}`, `{"apiKey":"env:A","applicationKey":"ssm:/b"}`},
		{"CLOUDWATCH", `{}`, `{}`},
		{"WEB", `{"address": "https://api.test/health?full=1", "headers": {"X-Api-Key": "env:KEY", "Accept": "application/json"}}`,
			`{"address":"https://api.test/health?full=1","headers":[{"name":"Accept","value":"application/json"},` +
				`{"name":"X-Api-Key","value":"env:KEY"}]}`},
	} {
		if got := parse(t, c.kind, c.config); got != c.want {
			t.Errorf("%s %s:\n%s\nwant\n%s", c.kind, c.config, got, c.want)
		}
	}
}

// Every refusal says what is wrong and what to write. A literal secret is in no text and in no value.
func TestParseRefuses(t *testing.T) {
	const address = `"address": "https://p.test"`
	for _, c := range []struct{ kind, config, want string }{
		{"PROMETHEUS", `{}`, "address: a provider of type PROMETHEUS needs an address"},
		{"PROMETHEUS", `{"address": ""}`, "address: address is empty"},
		{"PROMETHEUS", `{"address": 7}`, "address: address is not a text"},
		{"PROMETHEUS", `{"address": "prometheus:9090"}`, "is no URL with http:// or https://"},
		{"PROMETHEUS", `{"address": "https://u:PLANTED1@p.test"}`, "address: the address contains a password"},
		{"PROMETHEUS", `{"address": "https://p.test/x?dedup=true"}`,
			"address: the address has a query: write only https://p.test/x"},
		{"WEB", `{"address": "https://p.test/x?token=PLANTED1"}`,
			"address: the address contains text that looks like a secret"},
		{"PROMETHEUS", `{` + address + `, "username": "x", "password": "PLANTED1"}`, "password: password is a literal"},
		{"PROMETHEUS", `{` + address + `, "bearer": "PLANTED1"}`, "as in bearer: env:NAME or ssm:/path"},
		{"PROMETHEUS", `{` + address + `, "bearer": "env:"}`, "bearer: bearer is a literal"},
		{"PROMETHEUS", `{` + address + `, "usernameFile": "/u"}`, "password: password is missing"},
		{"PROMETHEUS", `{` + address + `, "passwordFile": "/u"}`, "username: username is missing"},
		{"PROMETHEUS", `{` + address + `, "username": "u", "usernameFile": "/u", "passwordFile": "/p"}`,
			"username: username and usernameFile are both given"},
		{"PROMETHEUS", `{` + address + `, "bearer": "env:A", "sigv4": true}`, "sigv4: bearer and sigv4 are given"},
		{"PROMETHEUS", `{` + address + `, "bearer": "env:A", "headers": {"authorization": "env:B"}}`,
			"bearer and headers.Authorization are given"},
		{"PROMETHEUS", `{` + address + `, "sigv4": {"Region": "x"}}`, "sigv4 is true, or has the key region"},
		{"PROMETHEUS", `{` + address + `, "sigv4": "yes"}`, "sigv4 is neither true nor a map"},
		{"PROMETHEUS", `{` + address + `, "headers": {"X-Token": "PLANTED1"}}`,
			"headers.X-Token: the value of header X-Token"},
		{"PROMETHEUS", `{` + address + `, "headers": {"X-A": "Bearer PLANTED1PLANTED1"}}`,
			"headers.X-A: the value of header X-A"},
		{"PROMETHEUS", `{` + address + `, "headers": {"Cookie": "PLANTED1"}}`, "headers.Cookie: the value"},
		{"PROMETHEUS", `{` + address + `, "headers": {"X A": "b"}}`, `"X A" is no name of a header`},
		{"PROMETHEUS", `{` + address + `, "headers": {"X-A": "b\nX-B: c"}}`, "is not a line of text"},
		{"PROMETHEUS", `{` + address + `, "headers": ["X-A"]}`, "headers: headers is not a map"},
		{"PROMETHEUS", `{` + address + `, "adress": "x"}`,
			"adress: a provider of type PROMETHEUS has no key adress: probably address"},
		{"PROMETHEUS", `{` + address + `, "apiKeyFile": "x"}`,
			"apiKeyFile: a provider of type PROMETHEUS has no key apiKeyFile"},
		{"DATADOG", `{"address": "datadog.test", "apiKeyFile": "/a", "applicationKeyFile": "/b"}`,
			"is no site of Datadog"},
		{"DATADOG", `{"apiKeyFile": "/a"}`, "applicationKey: applicationKey is missing"},
		{"DATADOG", `{"apiKeyData": "PLANTED1", "applicationKeyFile": "/b"}`, "apiKeyData: apiKeyData is a literal"},
		{"DATADOG", `{"apiKey": "PLANTED1", "applicationKeyFile": "/b"}`, "apiKey: apiKey is a literal"},
		{"DATADOG", `{"address": "https://x:PLANTED1@proxy.test", "apiKeyFile": "/a", "applicationKeyFile": "/b"}`,
			"address: the address contains a password"},
		{"CLOUDWATCH", `{"region": "x"}`,
			"region: a provider of type CLOUDWATCH has no key region: it reads the account"},
		{"WEB", `{}`, "address: a provider of type WEB needs an address"},
		{"STACKDRIVER", `{"serviceAccountFile": "/x"}`, "type: sluice does not read metrics of STACKDRIVER"},
		{"prometheus", `{}`, `type: "prometheus" is no type of provider: write PROMETHEUS`},
		{"GRAPHITE", `{}`, `type: "GRAPHITE" is no type of provider: use PROMETHEUS, DATADOG, CLOUDWATCH or WEB`},
	} {
		got := parse(t, c.kind, c.config)
		if !strings.Contains(got, c.want) || strings.Contains(got, "PLANTED") {
			t.Errorf("%s %s:\n%s\nwant\n%s", c.kind, c.config, got, c.want)
		}
		p, _ := Parse("prom", c.kind, decode(t, c.config))
		if text, _ := json.Marshal(p); strings.Contains(string(text), "PLANTED") {
			t.Errorf("%s: the provider contains the literal: %s", c.config, text)
		}
	}
	if _, problems := Parse(" ", "CLOUDWATCH", nil); len(problems) != 1 || problems[0].Key != "name" {
		t.Errorf("%v", problems)
	}
}

func decode(t *testing.T, config string) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(config), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
