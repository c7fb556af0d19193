package appfile_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/appfile/render"
)

const (
	jsonnetTask = `local image = import 'image.libsonnet';
{
  family: 'web',
  containerDefinitions: [{ name: 'web', image: image + ':${TAG}', memory: 128, command: ['{{ echo }}'] }],
}
`
	jsonnetService = `{ serviceName: 'web', desiredCount: std.extVar('count') }` + "\n"
)

// jsonnetFiles is an application whose definitions are Jsonnet, below a folder.
func jsonnetFiles(folder string) fstest.MapFS {
	return fstest.MapFS{
		folder + "taskdef.jsonnet":    {Data: []byte(jsonnetTask)},
		folder + "image.libsonnet":    {Data: []byte(`'shop'`)},
		folder + "servicedef.jsonnet": {Data: []byte(jsonnetService)},
	}
}

// The definitions of a sluice.yaml may be Jsonnet, beside it or below its root. They have external variables of the command
// line and the variables of the file, and no templates.
func TestDefinitionsInJsonnet(t *testing.T) {
	const input = "region: us-east-1\ncluster: prod\ninput:\n  taskDefinitionFile: %taskdef.jsonnet\n" +
		"  serviceDefinitionFile: %servicedef.jsonnet\n"
	for name, c := range map[string]struct {
		app  string
		root fs.FS // with the folder web of the file
		in   fstest.MapFS
	}{
		"beside it": {strings.ReplaceAll(input, "%", ""), nil, jsonnetFiles("")},
		"below the root": {"root: ..\n" + strings.ReplaceAll(input, "%", "../shared/"), jsonnetFiles("shared/"),
			fstest.MapFS{}},
	} {
		c.in["sluice.yaml"] = &fstest.MapFile{Data: []byte(c.app)}
		from := &render.Environment{ExtCode: map[string]string{"count": "1 + 2"},
			Variables: func(name string) (string, bool) { return "v2", name == "TAG" },
			Root:      func(string) (fs.FS, string, error) { return c.root, "web", nil }}
		app, err := appfile.Load(c.in, ".", from)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		container := app.Task.Input.ContainerDefinitions[0]
		if *container.Image != "shop:v2" || container.Command[0] != "{{ echo }}" || *app.Service.Input.DesiredCount != 3 {
			t.Errorf("%s: image %s, command %q, desired count %d, want shop:v2, {{ echo }}, 3", name, *container.Image,
				container.Command, *app.Service.Input.DesiredCount)
		}
	}
}

// Errors of Jsonnet name the file and say what is wrong there, not what YAML expects.
func TestDefinitionsInJsonnetAreRefused(t *testing.T) {
	const app = "region: us-east-1\ncluster: prod\ninput: {taskDefinitionFile: taskdef.jsonnet, " +
		"serviceDefinitionFile: servicedef.jsonnet}\n"
	given := &render.Environment{ExtCode: map[string]string{"count": "3"},
		Variables: func(string) (string, bool) { return "v2", true }}
	for change, c := range map[[2]string]struct {
		from appfile.Evaluator
		want []string
	}{
		{"family: 'web',", "family: 'web'"}:       {given, []string{"taskdef.jsonnet:4:3", "Expected a comma before next field"}},
		{"'image.libsonnet'", "'none.libsonnet'"}: {given, []string{"taskdef.jsonnet:1:15", "none.libsonnet"}},
		{"family:", "familly:"}: {given, []string{`taskdef.jsonnet (evaluated):`, `unknown key "familly"`,
			`did you mean "family"?`}},
		{"memory: 128", "memory: 1 / 0"}: {given, []string{"taskdef.jsonnet:4", "Division by zero"}},
		{"family", "family "}: {nil, []string{"taskdef.jsonnet: only the command line evaluates Jsonnet",
			"next: name a file of JSON or YAML"}},
	} {
		files := jsonnetFiles("")
		files["sluice.yaml"] = &fstest.MapFile{Data: []byte(app)}
		files["taskdef.jsonnet"] = &fstest.MapFile{Data: []byte(strings.Replace(jsonnetTask, change[0], change[1], 1))}
		_, err := appfile.Load(files, ".", c.from)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "YAML:") {
				t.Errorf("%q: %v\nwant %q", change[1], err, want)
			}
		}
	}
}
