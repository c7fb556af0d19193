package mode

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// job is an application with a service or, if that is empty, without one.
func job(t *testing.T, app, service string) *appfile.Application {
	t.Helper()
	task := "family: job\nmemory: 512\n"
	if strings.Contains(service, "FARGATE") {
		task += "networkMode: awsvpc\ncpu: 256\n"
	}
	fsys := fstest.MapFS{
		"sluice.yaml": {Data: []byte(app)},
		"taskdef.yaml": {Data: []byte(task + "containerDefinitions:\n  - {name: side, image: x, essential: false}\n" +
			"  - {name: job, image: x}\n")},
		"servicedef.yaml": {Data: []byte(service)},
	}
	a, err := appfile.Load(fsys, "sluice.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const alonePart = "cluster: prod\ninput:\n  taskDefinitionFile: taskdef.yaml\n"

// What is given goes over what the file gives, that over the service definition;
// overrides, environments and tags are merged by their names.
func TestRequestOfARun(t *testing.T) {
	a := job(t, alonePart+`  serviceDefinitionFile: servicedef.yaml
  runTask:
    count: 2
    tags: [{key: team, value: a}, {key: kept, value: b}]
    overrides: {cpu: "512", containerOverrides: [{name: job, command: [old], environment: [{name: A, value: "1"}, {name: B, value: "2"}]}]}
`, "serviceName: web\nlaunchType: FARGATE\nplatformVersion: 1.4.0\nnetworkConfiguration: {awsvpcConfiguration: {subnets: [subnet-1]}}\n")
	given, err := definition.ReadRun("flags", []byte(`
count: 3
tags: [{key: team, value: z}]
capacityProviderStrategy: [{capacityProvider: FARGATE_SPOT}]
overrides: {containerOverrides: [{name: job, environment: [{name: B, value: "3"}]}, {name: side, cpu: 1}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := MakeRun(a, plan.AWSState{}, RunOptions{Given: given, Command: []string{"new", "words"}})
	if err != nil {
		t.Fatal(err)
	}
	s := p.Stages[0]
	want := `{"capacityProviderStrategy":[{"base":0,"capacityProvider":"FARGATE_SPOT","weight":0}],"enableECSManagedTags":false,"enableExecuteCommand":false,` +
		`"networkConfiguration":{"awsvpcConfiguration":{"subnets":["subnet-1"]}},"overrides":{"containerOverrides":[` +
		`{"command":["new","words"],"environment":[{"name":"A","value":"1"},{"name":"B","value":"3"}],"name":"job"},{"cpu":1,"name":"side"}],"cpu":"512"},` +
		`"platformVersion":"1.4.0","tags":[{"key":"team","value":"z"},{"key":"kept","value":"b"}]}`
	if string(s.Task.Request) != want {
		t.Errorf("request %s\nwant %s", s.Task.Request, want)
	}
	if s.Task.Count != 3 || s.Task.Watch != "job" || p.Service != "family:job" || !p.Standalone {
		t.Errorf("%+v of %s", s.Task, p.Service)
	}
	kept := string(p.ForJournal().Stages[0].Task.Request)
	if strings.Contains(kept, `"3"`) || !p.ForJournal().NeedsFiles() || p.NeedsFiles() {
		t.Errorf("kept %s", kept)
	}
}

// A redacted plan takes its values from the files again, if they are the same.
func TestSupplyOfATask(t *testing.T) {
	const file = alonePart +
		"  runTask: {overrides: {containerOverrides: [{name: job, environment: [{name: A, value: hush}]}]}}\n"
	p, err := MakeRun(job(t, file, ""), plan.AWSState{}, RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kept := p.ForJournal()
	if kept.RestoreDefinitions(job(t, strings.Replace(file, "hush", "other", 1), "")); !kept.NeedsFiles() {
		t.Error("other values were taken")
	}
	if kept.RestoreDefinitions(job(t, file, "")); kept.NeedsFiles() ||
		string(kept.Stages[0].Task.Request) != string(p.Stages[0].Task.Request) {
		t.Errorf("%s", kept.Stages[0].Task.Request)
	}
}

func TestRunsThatCannotBe(t *testing.T) {
	a := job(t, alonePart, "")
	for _, c := range []struct {
		o    RunOptions
		want string
	}{
		{RunOptions{Watch: "web"}, `has no container "web"`},
		{RunOptions{Watch: "web", Command: []string{"x"}}, `has no container "web"`},
	} {
		if _, err := MakeRun(a, plan.AWSState{}, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}
