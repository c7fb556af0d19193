package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/metrics"
)

func now() time.Time { return time.Date(2027, 1, 2, 12, 10, 0, 0, time.UTC) }

// secrets are what references have as their values.
var secrets = map[string]string{"env:TOKEN": "PLANTED-token", "file:/u": "reader\n", "ssm:/p": "PLANTED-password",
	"env:LINES": "a\nb", "env:EMPTY": ""}

func resolve(_ context.Context, ref string) (string, error) {
	v, ok := secrets[ref]
	if !ok {
		return "", errors.New("it is not set")
	}
	return v, nil
}

type fixedKeys struct{}

func (fixedKeys) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "PLANTED-secret",
		SessionToken: "PLANTED-session"}, nil
}

// open opens a provider whose requests arrive at a server, and returns a query's error and its request.
func open(t *testing.T, p appfile.Provider, status int, body string) (*http.Request, error) {
	t.Helper()
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	defer server.Close()
	p.Config = maps.Clone(p.Config)
	p.Config["address"] = server.URL + strings.TrimPrefix(p.Config["address"], "https://p.test")
	source, err := Open(t.Context(), p, Environment{Client: server.Client(), Resolve: resolve, Credentials: fixedKeys{},
		Region: "us-east-1", Now: now})
	if err != nil {
		return nil, err
	}
	_, err = source.Query(t.Context(), ".x", metrics.Span{From: now().Add(-10 * time.Minute), To: now()}, time.Minute)
	return got, err
}

const (
	emptyMatrix = `{"status":"success","data":{"resultType":"matrix","result":[]}}`
	emptySeries = `{"status":"ok","series":[]}`
)

// Requests carry the values of the references.
func TestRequestsAreAuthorized(t *testing.T) {
	for _, c := range []struct {
		kind         string
		config       appfile.ProviderConfig
		body         string
		header, want string
	}{
		{appfile.ProviderPrometheus, appfile.ProviderConfig{"bearer": "env:TOKEN"}, emptyMatrix, "Authorization",
			"Bearer PLANTED-token"},
		{appfile.ProviderPrometheus, appfile.ProviderConfig{"usernameFile": "/u", "password": "ssm:/p"}, emptyMatrix,
			"Authorization", "Basic cmVhZGVyOlBMQU5URUQtcGFzc3dvcmQ="},
		{appfile.ProviderPrometheus, appfile.ProviderConfig{"headers.x-scope-orgid": "team"}, emptyMatrix,
			"X-Scope-OrgID", "team"},
		{appfile.ProviderWeb, appfile.ProviderConfig{"headers.X-Token": "env:TOKEN", "headers.X-TokenFile": "a"}, `{"x": 1}`,
			"X-Token", "PLANTED-token"},
		{appfile.ProviderDatadog, appfile.ProviderConfig{"apiKey": "env:TOKEN", "applicationKey": "ssm:/p"}, emptySeries,
			"DD-API-KEY", "PLANTED-token"},
		{appfile.ProviderDatadog, appfile.ProviderConfig{"apiKeyFile": "/u", "applicationKey": "ssm:/p"}, emptySeries,
			"DD-APPLICATION-KEY", "PLANTED-password"},
	} {
		r, err := open(t, appfile.Provider{Type: c.kind, Config: c.config}, 200, c.body)
		if err != nil || r.Header.Get(c.header) != c.want {
			t.Errorf("%s %v: %v, %v", c.kind, c.config, r, err)
		}
	}
}

// A value of a reference is in no error, even if the provider returns it.
func TestErrorsHaveNoCredentials(t *testing.T) {
	for value, c := range map[string]appfile.ProviderConfig{
		"PLANTED-token":                    {"bearer": "env:TOKEN"},
		"PLANTED-password":                 {"usernameFile": "/u", "password": "ssm:/p"},
		"cmVhZGVyOlBMQU5URUQtcGFzc3dvcmQ=": {"usernameFile": "/u", "password": "ssm:/p"},
		"PLANTED-token ":                   {"headers.X-Token": "env:TOKEN"},
	} {
		_, err := open(t, appfile.Provider{Name: "prom", Type: appfile.ProviderPrometheus, Config: c}, 403, "no access for "+value)
		if sluice.KindOf(err) != sluice.Denied || strings.Contains(err.Error(), strings.TrimSpace(value)) ||
			!strings.Contains(err.Error(), "no access for ***") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Requests for Amazon Managed Service for Prometheus are signed for the Region of the workspace.
func TestSigV4(t *testing.T) {
	p := appfile.Provider{Name: "amp", Type: appfile.ProviderPrometheus,
		Config: appfile.ProviderConfig{"address": "https://p.test/workspaces/ws-1", "sigv4": "true"}}
	r, err := open(t, p, 200, emptyMatrix)
	if err != nil {
		t.Fatal(err)
	}
	const want = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20270102/us-east-1/aps/aws4_request, SignedHeaders="
	if got := r.Header.Get("Authorization"); !strings.HasPrefix(got, want) ||
		!strings.Contains(got, "x-amz-security-token") || r.Header.Get("X-Amz-Date") != "20270102T121000Z" || r.Header.Get("X-Amz-Security-Token") != "PLANTED-session" {
		t.Errorf("%v", r.Header)
	}
	for address, want := range map[string]string{
		"https://aps-workspaces.eu-west-1.amazonaws.com/workspaces/ws-1":      "eu-west-1",
		"https://aps-workspaces-fips.us-west-2.amazonaws.com/workspaces/ws-1": "us-west-2",
		"https://amp.proxy.test/x": "",
	} {
		p.Config["address"] = address
		if got, isSigned := p.Config.SigningRegion(); got != want || !isSigned {
			t.Errorf("%s: %s, signed: %t", address, got, isSigned)
		}
	}
	p.Config["sigv4"] = "ap-south-1"
	if got, isSigned := p.Config.SigningRegion(); got != "ap-south-1" || !isSigned {
		t.Error(got)
	}
	p.Config["sigv4"] = "false"
	if _, isSigned := p.Config.SigningRegion(); isSigned {
		t.Error("sigv4: false signs")
	}
}

// A reference without a value is an error that names the reference and the remedy.
func TestMissingCredentials(t *testing.T) {
	for ref, want := range map[string][2]string{
		"env:GONE":  {"bearer: env:GONE: it is not set", "set the environment variable GONE"},
		"ssm:/gone": {"bearer: ssm:/gone", "create the parameter /gone in Systems Manager"},
		"file:/x":   {"bearer: file:/x", "create the file /x"},
		"env:EMPTY": {"env:EMPTY is empty", "set the environment variable EMPTY"},
		"env:LINES": {"env:LINES has several lines", "correct the value"},
	} {
		_, err := open(t, appfile.Provider{Name: "prom", Type: appfile.ProviderPrometheus,
			Config: appfile.ProviderConfig{"bearer": ref}}, 200, "")
		if err == nil || !strings.Contains(err.Error(), want[0]) || !strings.Contains(sluice.NextStep(err), want[1]) ||
			!strings.Contains(err.Error(), "(prom)") {
			t.Errorf("%s: %v, next %s", ref, err, sluice.NextStep(err))
		}
	}
}

// Each type that a file may name is opened, and is in the documentation.
func TestEveryTypeIsOpened(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range appfile.ProviderTypes() {
		if _, err := Open(t.Context(), appfile.Provider{Name: "p", Type: kind}, Environment{}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if !strings.Contains(string(page), "\n| `"+kind+"` | ") {
			t.Errorf("docs/reference/metrics.md does not have %s", kind)
		}
	}
}

// A query that cannot be right is refused without a request, where sluice knows its language.
func TestCheckQuery(t *testing.T) {
	for _, c := range []struct{ kind, query, want string }{
		{appfile.ProviderPrometheus, "sum(x)", ""}, {appfile.ProviderDatadog, "avg:x{*}", ""},
		{appfile.ProviderPrometheus, " ", "is empty"},
		{appfile.ProviderWeb, ".a / .b", ""}, {appfile.ProviderWeb, ".a /", "no expression of jq"},
		{appfile.ProviderCloudWatch, "S M Sum", ""}, {appfile.ProviderCloudWatch, "S M", "is no metric"},
	} {
		err := CheckQuery(c.kind, c.query, time.Minute)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.kind, c.query, err, c.want)
		}
	}
}
