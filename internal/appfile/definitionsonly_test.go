package appfile_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

const onlyTask = `{"family": "web", "containerDefinitions": [{"name": "web", "image": "web:1", "memory": 128,
	"portMappings": [{"containerPort": 80}]}]}`

// A folder with only the two definition files is an application, and its service definition says how
// callers reach it.
func TestDefinitionsAreAnApplication(t *testing.T) {
	for service, want := range map[string]sluice.Access{
		`{"serviceName": "web", "loadBalancers": [{"targetGroupArn": "arn:a", "containerName": "web",
			"containerPort": 80}]}`: sluice.ELB,
		`{"serviceName": "web", "serviceRegistries": [{"registryArn": "arn:b"}]}`: sluice.ServiceDiscovery,
		`{"serviceName": "web", "cluster": "prod"}`:                               sluice.NoAccess,
	} {
		files := fstest.MapFS{"web/taskdef.json": {Data: []byte(onlyTask)}, "web/servicedef.json": {Data: []byte(service)}}
		app, err := appfile.Load(files, "web", nil)
		if err != nil {
			t.Fatal(err)
		}
		if app.Access != want || *app.Service.Input.ServiceName != "web" || len(app.Pipeline) > 0 {
			t.Errorf("%s: access %s, pipeline %v", service, app.Access, app.Pipeline)
		}
		if len(app.Notes) != 1 || !strings.Contains(app.Notes[0], "sluice init") {
			t.Errorf("notes %q", app.Notes)
		}
	}
}

// An application file goes before the definitions, and a definition that is named as the application
// file is none.
func TestDefinitionsAreNoApplicationFile(t *testing.T) {
	files := fstest.MapFS{"taskdef.json": {Data: []byte(onlyTask)},
		"servicedef.json": {Data: []byte(`{"serviceName": "web"}`)}}
	for _, name := range []string{"servicedef.json", "./servicedef.json"} {
		if _, err := appfile.Load(files, name, nil); err == nil || !strings.Contains(err.Error(), "serviceName") {
			t.Errorf("%s: %v", name, err)
		}
	}
	files["sluice.yaml"] = &fstest.MapFile{Data: []byte("name: other\ninput: {serviceDefinitionFile: servicedef.json}\n")}
	if app, err := appfile.Load(files, ".", nil); err != nil || app.Name != "other" {
		t.Errorf("%+v %v", app, err)
	}
	delete(files, "sluice.yaml")
	delete(files, "taskdef.json")
	if _, err := appfile.Load(files, ".", nil); err == nil || !strings.Contains(err.Error(), "no application file") {
		t.Errorf("one definition is an application: %v", err)
	}
}
