package pulumi_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// secret returns a value as the engine sends a secret.
func secret(v any) map[string]any {
	return map[string]any{"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": v}
}

// A failed wait with secret inputs: they have their marks in the state, and no text has their values.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	answer := got(r.Configure(context.Background(), &pulumirpc.ConfigureRequest{AcceptSecrets: true}))(t)
	hello := got(r.Handshake(context.Background(), &pulumirpc.ProviderHandshakeRequest{
		EngineAddress: r.engine.address}))(t)
	if !answer.GetAcceptSecrets() || !hello.GetAcceptSecrets() {
		t.Errorf("secrets are sent without marks: %v %v", answer, hello)
	}
	r.serve("sim/web:v1", breaker{true, true})
	arn := r.revision(crash)
	r.deploy(arn)
	in := inputs(t, "", map[string]any{"desiredTaskDef": secret(arn), "timeoutMs": secret(600000), "failOnError": true,
		"triggers": map[string]any{"build": "17", "keys": []any{secret("planted-in-a-list")}},
		"endpoint": secret(r.url)})
	check := got(r.Check(context.Background(), &pulumirpc.CheckRequest{Urn: urn, News: in}))(t)
	if len(check.GetFailures()) > 0 || !proto.Equal(check.GetInputs(), in) {
		t.Fatalf("%v", check)
	}
	_, err := r.Create(context.Background(), &pulumirpc.CreateRequest{Urn: urn, Properties: in})
	c := initError(err)
	c.expect(t, "rolled back", "[secret] was rolled back to web:1", "exit code 3", "next: ")
	for name, sent := range in.AsMap() {
		if was, is := asJSON(t, sent), asJSON(t, c.out[name]); was != is {
			t.Errorf("output %s is %s, sent %s", name, is, was)
		}
	}
	texts := []string{err.Error(), r.engine.lines(), asJSON(t, c.reasons)}
	for _, name := range []string{"failureMessage", "reasons", "rolledBackTo", "outcome", "status"} {
		texts = append(texts, asJSON(t, c.out[name]))
	}
	for _, never := range []string{arn, "web:2", "planted", r.url, strings.TrimPrefix(r.url, "http://")} {
		if text := strings.Join(texts, "\n"); strings.Contains(text, never) {
			t.Errorf("%q in %s", never, text)
		}
	}
}

// Errors without a verdict have no secret either: an endpoint that does not answer, a role that is denied, an
// input that is refused.
func TestErrorsHaveNoSecretInput(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	r.serve("sim/web:v1", breaker{})
	must(t, r.sim.Inject("denied sts:AssumeRole"))
	for name, never := range map[string]string{"endpoint": "127.0.0.1:1",
		"assumeRole": "arn:aws:iam::123456789012:role/planted", "clusterName": "planted-cluster"} {
		value := never
		if name == "endpoint" {
			value = "http://" + never
		}
		c := r.create(inputs(t, "web:1", map[string]any{name: secret(value)}), 0)
		if c.err == nil || c.kept || strings.Contains(c.err.Error(), never) || !strings.Contains(c.err.Error(), "[secret]") {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	resp := got(r.Check(context.Background(), &pulumirpc.CheckRequest{Urn: urn,
		News: inputs(t, "web:1", map[string]any{"assumeRole": secret("planted"), "clusterName": secret(unknown),
			"serviceName": secret(" ")})}))(t)
	if all := asJSON(t, resp.GetFailures()); len(resp.GetFailures()) != 2 || strings.Contains(all, "planted") {
		t.Errorf("%s", all)
	}
}

// A value that becomes a secret is the same value. The stored status may be a secret too.
func TestDiffLooksIntoSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	plain := inputs(t, "web:1", map[string]any{"triggers": []any{"17"}})
	hidden := inputs(t, "", map[string]any{"desiredTaskDef": secret("web:1"), "triggers": secret([]any{"17"})})
	other := inputs(t, "", map[string]any{"desiredTaskDef": secret("web:1"), "triggers": []any{secret("18")}})
	diff := func(olds, news *structpb.Struct, status any) *pulumirpc.DiffResponse {
		outputs := got(structpb.NewStruct(map[string]any{"status": status}))(t)
		return got(r.Diff(context.Background(), &pulumirpc.DiffRequest{Urn: urn, Olds: outputs, OldInputs: olds,
			News: news}))(t)
	}
	if d := diff(plain, hidden, "COMPLETED"); d.GetChanges() != pulumirpc.DiffResponse_DIFF_NONE {
		t.Errorf("%v", d)
	}
	if d := diff(hidden, other, "COMPLETED"); strings.Join(d.GetDiffs(), " ") != "triggers" {
		t.Errorf("%v", d)
	}
	if d := diff(hidden, hidden, secret("FAILED")); strings.Join(d.GetDiffs(), " ") != "status" {
		t.Errorf("%v", d)
	}
}

// The ID of a resource is shown. It has no secret name.
func TestIDHasNoSecretName(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	r.serve("sim/web:v1", breaker{})
	_, err := r.GetPluginInfo(context.Background(), &emptypb.Empty{})
	must(t, err)
	c := r.create(inputs(t, "web:1", map[string]any{"clusterName": secret("prod")}), 0)
	if c.err != nil || c.id != "[secret]/web" {
		t.Errorf("%q %v", c.id, c.err)
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	return string(got(json.Marshal(v))(t))
}
