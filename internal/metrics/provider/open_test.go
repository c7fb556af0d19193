package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
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
func open(t *testing.T, p Provider, status int, body string) (*http.Request, error) {
	t.Helper()
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	defer server.Close()
	if strings.HasPrefix(p.Config.Address, "http") {
		p.Config.Address = server.URL + strings.TrimPrefix(p.Config.Address, "https://p.test")
	}
	source, err := p.Open(t.Context(), Environment{Client: server.Client(), Resolve: resolve, Credentials: fixedKeys{},
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
		provider     Provider
		body         string
		header, want string
	}{
		{Provider{Type: Prometheus, Config: Config{Bearer: "env:TOKEN"}}, emptyMatrix, "Authorization",
			"Bearer PLANTED-token"},
		{Provider{Type: Prometheus, Config: Config{Username: "file:/u", Password: "ssm:/p"}}, emptyMatrix, "Authorization",
			"Basic cmVhZGVyOlBMQU5URUQtcGFzc3dvcmQ="},
		{Provider{Type: Prometheus, Config: Config{Headers: []Header{{"x-scope-orgid", "team"}}}}, emptyMatrix,
			"X-Scope-OrgID", "team"},
		{Provider{Type: Web, Config: Config{Headers: []Header{{"X-Token", "env:TOKEN"}}}}, `{"x": 1}`, "X-Token",
			"PLANTED-token"},
		{Provider{Type: Datadog, Config: Config{APIKey: "env:TOKEN", ApplicationKey: "ssm:/p"}}, emptySeries, "DD-API-KEY",
			"PLANTED-token"},
		{Provider{Type: Datadog, Config: Config{APIKey: "env:TOKEN", ApplicationKey: "ssm:/p"}}, emptySeries,
			"DD-APPLICATION-KEY", "PLANTED-password"},
	} {
		c.provider.Config.Address = "https://p.test"
		r, err := open(t, c.provider, 200, c.body)
		if err != nil || r.Header.Get(c.header) != c.want {
			t.Errorf("%+v: %v, %v", c.provider, r, err)
		}
	}
}

// A value of a reference is in no error, even if the provider returns it.
func TestErrorsHaveNoCredentials(t *testing.T) {
	for value, c := range map[string]Config{
		"PLANTED-token":                    {Bearer: "env:TOKEN"},
		"PLANTED-password":                 {Username: "file:/u", Password: "ssm:/p"},
		"cmVhZGVyOlBMQU5URUQtcGFzc3dvcmQ=": {Username: "file:/u", Password: "ssm:/p"},
		"PLANTED-token ":                   {Headers: []Header{{"X-Token", "env:TOKEN"}}},
	} {
		c.Address = "https://p.test"
		_, err := open(t, Provider{Name: "prom", Type: Prometheus, Config: c}, 403, "no access for "+value)
		if sluice.KindOf(err) != sluice.Denied || strings.Contains(err.Error(), strings.TrimSpace(value)) ||
			!strings.Contains(err.Error(), "no access for ***") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Requests for Amazon Managed Service for Prometheus are signed for the Region of the workspace.
func TestSigV4(t *testing.T) {
	p := Provider{Name: "amp", Type: Prometheus,
		Config: Config{Address: "https://p.test/workspaces/ws-1", SigV4: &SigV4{}}}
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
		"https://amp.proxy.test/x": "us-east-1",
	} {
		p.Config.Address = address
		if got := p.signingRegion("us-east-1"); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
	p.Config.SigV4.Region = "ap-south-1"
	if got := p.signingRegion("us-east-1"); got != "ap-south-1" {
		t.Error(got)
	}
}

// A reference without a value is an error that names the reference and the remedy.
func TestMissingCredentials(t *testing.T) {
	for ref, want := range map[Ref][2]string{
		"env:GONE":  {"bearer: env:GONE: it is not set", "set the environment variable GONE"},
		"ssm:/gone": {"bearer: ssm:/gone", "create the parameter /gone in Systems Manager"},
		"file:/x":   {"bearer: file:/x", "create the file /x"},
		"env:EMPTY": {"env:EMPTY is empty", "set the environment variable EMPTY"},
		"env:LINES": {"env:LINES has several lines", "correct the value"},
	} {
		_, err := open(t, Provider{Name: "prom", Type: Prometheus,
			Config: Config{Address: "https://p.test", Bearer: ref}}, 200, "")
		if err == nil || !strings.Contains(err.Error(), want[0]) || !strings.Contains(sluice.NextStep(err), want[1]) ||
			!strings.Contains(err.Error(), "(prom)") {
			t.Errorf("%s: %v, next %s", ref, err, sluice.NextStep(err))
		}
	}
}

// A query that cannot be right is refused without a request, where sluice knows its language.
func TestCheckQuery(t *testing.T) {
	for _, c := range []struct {
		kind        Type
		query, want string
	}{
		{Prometheus, "sum(x)", ""}, {Datadog, "avg:x{*}", ""}, {Prometheus, " ", "is empty"},
		{Web, ".a / .b", ""}, {Web, ".a /", "no expression of jq"},
		{CloudWatch, "S M Sum", ""}, {CloudWatch, "S M", "is no metric"},
	} {
		err := Provider{Type: c.kind}.CheckQuery(c.query, time.Minute)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.kind, c.query, err, c.want)
		}
	}
}
