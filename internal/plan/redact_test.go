package plan

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// hidden is an application whose service definition holds a secret.
func hidden(t *testing.T, value string) *appfile.Application {
	t.Helper()
	app, err := appfile.Load(fstest.MapFS{
		"sluice.yaml": {Data: []byte(
			"input: {serviceDefinitionFile: service.yaml, taskDefinitionFile: task.yaml}\ncluster: prod\n")},
		"task.yaml": {Data: []byte("family: web\ncontainerDefinitions: [{name: web, image: sim/web:v1, " +
			"memory: 512}]\n")},
		"service.yaml": {Data: []byte("serviceName: web\ndesiredCount: 2\nserviceConnectConfiguration:\n  enabled: " +
			"true\n  logConfiguration: {logDriver: splunk, options: {splunk-token: " + value +
			", awslogs-group: web}}\n")},
	}, "sluice.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// A plan is kept without the secrets of its service definition, and whole again only
// by the files that it was made from.
func TestServiceDefinitionIsKeptWithoutSecrets(t *testing.T) {
	app := hidden(t, "PLANTED")
	service, err := app.Service.JSON()
	if err != nil {
		t.Fatal(err)
	}
	task, err := app.Task.JSON()
	if err != nil {
		t.Fatal(err)
	}
	p := &Plan{Task: task, Digest: definition.Digest(app.Task),
		Definition: []byte(strings.Replace(string(service), `"desiredCount":2`, `"desiredCount":5`, 1))}
	kept := p.ForJournal()
	data, err := json.Marshal(kept)
	if err != nil || strings.Contains(string(data), "PLANTED") || !strings.Contains(string(data), "awslogs-group") {
		t.Fatalf("%s %v", data, err)
	}
	if !kept.NeedsFiles() || kept.RestoreDefinitions(hidden(t, "another")) {
		t.Error("another file's value was taken")
	}
	if !kept.RestoreDefinitions(app) || kept.NeedsFiles() || !strings.Contains(string(kept.Definition), "PLANTED") ||
		!strings.Contains(string(kept.Definition), `"desiredCount":5`) {
		t.Errorf("%s", kept.Definition)
	}
}

func TestSecretsOfTasksAreEmptied(t *testing.T) {
	for text, want := range map[string]string{
		`{"command":["serve","--password","PLANTED"]}`:                                     `{"command":["serve","--password",""]}`,
		`{"dockerLabels":{"api.token":"PLANTED","team":"web"}}`:                            `{"dockerLabels":{"api.token":"","team":"web"}}`,
		`{"healthCheck":{"command":["CMD","curl","http://a:PLANTED@h"]}}`:                  `{"healthCheck":{"command":["CMD","curl",""]}}`,
		`{"logConfiguration":{"options":{"awslogs-group":"g","x":"y"}}}`:                   `{"logConfiguration":{"options":{"awslogs-group":"g","x":""}}}`,
		`{"tags":[{"key":"secret_token","value":"PLANTED"},{"key":"team","value":"web"}]}`: `{"tags":[{"key":"secret_token","value":""},{"key":"team","value":"web"}]}`,
		`{"tags":[{"key":"token","value":"arn:aws:ssm:us-east-1:1:parameter/a"}]}`:         `{"tags":[{"key":"token","value":"arn:aws:ssm:us-east-1:1:parameter/a"}]}`,
		`{"secrets":[{"name":"PASSWORD","valueFrom":"db"}]}`:                               `{"secrets":[{"name":"PASSWORD","valueFrom":"db"}]}`,
	} {
		got, lost := withoutSecrets([]byte(text), nil)
		if string(got) != want || lost != (text != want) {
			t.Errorf("%s\n is %s\nnot %s", text, got, want)
		}
	}
}

// A value that a lookup has read is removed wherever it is, also if it looks harmless.
func TestKnownSecretsAreNotJournaled(t *testing.T) {
	const text = `{"image":"web:sesame","command":["--open","sesame"],"tag":"a","family":"web"}`
	got, lost := withoutSecrets([]byte(text), []string{"sesame", "a"})
	const want = `{"command":["--open",""],"family":"web","image":"","tag":""}`
	if !lost || string(got) != want {
		t.Errorf("%s, %v; want %s", got, lost, want)
	}
}

// A change shows values of the definitions.
func TestKnownSecretsAreNotInChanges(t *testing.T) {
	p := &Plan{Task: []byte(`{}`), Hidden: []string{"sesame"}, Changes: []Change{{Path: "command", Have: "[a]",
		Want: "[--open=sesame]"}}}
	if got := p.ForJournal().Changes[0]; got.Want != "[--open=***]" || got.Have != "[a]" ||
		p.Changes[0].Want != "[--open=sesame]" {
		t.Errorf("%+v", got)
	}
}
