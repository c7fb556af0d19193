package appfile

import (
	"encoding/json"
	"strings"
	"testing"
)

// loadProvider loads a file with a gate of one provider.
func loadProvider(kind, config string) (*Application, error) {
	return Load(files("sluice.yaml", "gates: [{provider: prom, expected: {max: 1}, query: q}]\n"+
		"analysisProviders: [{name: prom, type: "+kind+", config: "+config+"}]\n"), ".", nil)
}

// The settings of a provider are in the plan as in the file: headers by their names, sigv4 as a word. Journals have this
// form.
func TestProvidersAreRead(t *testing.T) {
	const address = `"address":"https://p.test"`
	for _, c := range []struct{ kind, config, want string }{
		{"PROMETHEUS", "{address: 'http://prometheus:9090/'}", `"address":"http://prometheus:9090/"`},
		{"PROMETHEUS", "{address: 'https://p.test', usernameFile: /u, passwordFile: /p}",
			address + `,"passwordFile":"/p","usernameFile":"/u"`},
		{"PROMETHEUS", "{address: 'https://p.test', username: reader, password: 'ssm:/prom/password'}",
			address + `,"password":"ssm:/prom/password","username":"reader"`},
		{"PROMETHEUS", "{address: 'https://p.test', bearer: 'env:TOKEN', headers: {X-Scope-OrgID: team}}",
			address + `,"bearer":"env:TOKEN","headers.X-Scope-OrgID":"team"`},
		{"PROMETHEUS", "{address: 'https://p.test', sigv4: true}", address + `,"sigv4":"true"`},
		{"PROMETHEUS", "{address: 'https://p.test', sigv4: false, bearer: 'env:A'}",
			address + `,"bearer":"env:A","sigv4":"false"`},
		{"PROMETHEUS", "{address: 'https://p.test', sigv4: {region: eu-west-1}}", address + `,"sigv4":"eu-west-1"`},
		{"DATADOG", "{address: datadoghq.eu, apiKeyFile: /a, applicationKey: 'ssm:/b'}",
			`"address":"datadoghq.eu","apiKeyFile":"/a","applicationKey":"ssm:/b"`},
		{"WEB", "{address: 'https://p.test/health?full=1', headers: {X-Api-Key: 'env:KEY', Accept: application/json}}",
			`"address":"https://p.test/health?full=1","headers.Accept":"application/json","headers.X-Api-Key":"env:KEY"`},
	} {
		app, err := loadProvider(c.kind, c.config)
		if err != nil {
			t.Errorf("%s: %v", c.config, err)
			continue
		}
		got, err := json.Marshal(app.Gates[0].Read.Provider)
		want := `{"name":"prom","type":"` + c.kind + `","config":{` + c.want + `}}`
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", c.config, got, err, want)
		}
	}
}

// Every refusal names the place in the file, and no literal secret is shown.
func TestProvidersAreRefused(t *testing.T) {
	const address = "address: 'https://p.test'"
	for _, c := range []struct{ kind, config, want string }{
		{"PROMETHEUS", "{}", "prom (PROMETHEUS) has no config.address"},
		{"PROMETHEUS", "{address: ''}", "address is empty"},
		{"PROMETHEUS", "{address: 7}", "address is text, and this is a number"},
		{"PROMETHEUS", "{address: 'prometheus:9090'}", "prom (PROMETHEUS): prometheus:*** is no URL with http:// or https://"},
		{"PROMETHEUS", "{address: 'p.test'}", "p.test is no URL with http:// or https://"},
		{"PROMETHEUS", "{address: 'https://u:PLANTED1@p.test'}", "the address has a secret in it"},
		{"PROMETHEUS", "{address: 'https://p.test/x?dedup=true'}", "the address has a query: write only https://p.test/x"},
		{"WEB", "{address: 'https://p.test/x?token=PLANTED1'}", "the address has a secret in it"},
		{"PROMETHEUS", "{" + address + ", username: x, password: PLANTED1}", "password is the place of a secret"},
		{"PROMETHEUS", "{" + address + ", bearer: PLANTED1}", "bearer is the place of a secret: env:NAME or ssm:/name"},
		{"PROMETHEUS", "{" + address + ", bearer: 'env:'}", "bearer is the place of a secret"},
		{"PROMETHEUS", "{" + address + ", usernameFile: /u}", "basic authentication needs username and password"},
		{"PROMETHEUS", "{" + address + ", passwordFile: /u}", "basic authentication needs username and password"},
		{"PROMETHEUS", "{" + address + ", username: u, usernameFile: /u, passwordFile: /p}",
			"username and usernameFile are both given"},
		{"PROMETHEUS", "{" + address + ", bearer: 'env:A', sigv4: true}", "bearer and sigv4 are given: use one way"},
		{"PROMETHEUS", "{" + address + ", bearer: 'env:A', headers: {authorization: 'env:B'}}",
			"bearer and headers.Authorization are given"},
		{"PROMETHEUS", "{" + address + ", sigv4: {Region: x}}", "sigv4 is true, or {region: NAME}"},
		{"PROMETHEUS", "{" + address + ", sigv4: 'yes'}", "sigv4 is true, or {region: NAME}"},
		{"PROMETHEUS", "{" + address + ", headers: {X-Token: PLANTED1}}", "the value of header X-Token is a secret"},
		{"PROMETHEUS", "{" + address + ", headers: {X-A: Bearer PLANTED1PLANTED1}}", "the value of header X-A is a secret"},
		{"PROMETHEUS", "{" + address + ", headers: {Cookie: PLANTED1}}", "the value of header Cookie is a secret"},
		{"PROMETHEUS", "{" + address + ", headers: {Proxy-Authorization: PLANTED1}}", "header Proxy-Authorization is a secret"},
		{"PROMETHEUS", "{" + address + ", headers: {X A: b}}", `"X A" is no name of a header`},
		{"PROMETHEUS", "{" + address + `, headers: {X-A: "b\nX-B: c"}}`, "the value of header X-A has several lines"},
		{"PROMETHEUS", "{" + address + ", headers: [X-A]}", "headers is a map"},
		{"PROMETHEUS", "{" + address + ", adress: x}", `did you mean "address"?`},
		{"PROMETHEUS", "{" + address + ", apiKeyFile: x}", "prom (PROMETHEUS) does not use config.apiKeyFile"},
		{"DATADOG", "{apiKeyFile: /a}", "prom (DATADOG) has no config.applicationKey"},
		{"DATADOG", "{apiKey: PLANTED1, applicationKeyFile: /b}", "apiKey is the place of a secret"},
		{"DATADOG", "{apiKeyFile: /a, apiKey: 'env:A', applicationKeyFile: /b}", "apiKey and apiKeyFile are both given"},
		{"DATADOG", "{address: 'https://x:PLANTED1@proxy.test', apiKeyFile: /a, applicationKeyFile: /b}",
			"the address has a secret in it"},
		{"CLOUDWATCH", "{address: x}", "prom (CLOUDWATCH) does not use config.address"},
		{"WEB", "{}", "prom (WEB) has no config.address"},
		{"STACKDRIVER", "{}", "sluice has no provider for Google Cloud"},
		{"prometheus", "{}", `did you mean "PROMETHEUS"?`},
	} {
		_, err := loadProvider(c.kind, c.config)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "sluice.yaml:2:") {
			t.Errorf("%s %s: %v\nwant %q with its line", c.kind, c.config, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "PLANTED") {
			t.Errorf("%s: the secret is shown: %v", c.config, err)
		}
	}
}

// A provider that no gate uses may have settings that sluice cannot use, as in a file of piped. A provider of two gates has
// one problem.
func TestProvidersOfGatesAreChecked(t *testing.T) {
	gate := "{provider: odd, query: q, expected: {max: 1}"
	const providers = "analysisProviders: [{name: odd, type: WEB, config: {address: p.test}}]\n"
	if _, err := Load(files("sluice.yaml", providers), ".", nil); err != nil {
		t.Error(err)
	}
	_, err := Load(files("sluice.yaml", providers+"gates: ["+gate+"}, "+gate+", name: two}]\n"), ".", nil)
	if err == nil || strings.Count(err.Error(), "p.test is no URL") != 1 {
		t.Error(err)
	}
}
