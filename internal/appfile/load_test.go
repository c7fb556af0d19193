package appfile

import (
	"os"
	"path"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
)

func load(t *testing.T, name string) *Application {
	t.Helper()
	app, err := Load(os.DirFS("testdata"), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// The same application in three formats is the same application.
func TestFormatsAgree(t *testing.T) {
	for _, name := range []string{"simple", "canary", "bluegreen"} {
		v0, v1, own := load(t, "v0/"+name), load(t, "v1/"+name), load(t, "sluice/"+name)
		if v0.Format != PipeCDv0 || v1.Format != PipeCDv1 || own.Format != Sluice {
			t.Errorf("%s: formats %s, %s, %s", name, v0.Format, v1.Format, own.Format)
		}
		if own.Region != "ap-northeast-1" || own.Cluster != "test-cluster" || own.ProgressDeadline != 3*time.Minute {
			t.Errorf("%s: sluice.yaml's own keys: %+v", name, own)
		}
		for _, app := range []*Application{v0, v1} {
			if app.ProgressDeadline != 10*time.Minute {
				t.Errorf("%s: progress deadline %s", name, app.ProgressDeadline)
			}
		}
		if a, b := alike(v0), alike(v1); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: v0 %+v\nv1 %+v", name, a, b)
		}
		if a, b := alike(v0), alike(own); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: v0 %+v\nsluice.yaml %+v", name, a, b)
		}
	}
}

// alike is an application without what its format makes of it.
func alike(app *Application) Application {
	a := *app
	a.File, a.Format, a.Region, a.Cluster, a.ProgressDeadline = "", "", "", "", 0
	a.Notes, a.Text, a.Source, a.src = nil, nil, nil, nil
	a.Standalone.Run = false
	a.Pipeline = nil
	for _, st := range app.Pipeline {
		st.Line = 0
		a.Pipeline = append(a.Pipeline, st)
	}
	task, service := *app.Task, *app.Service
	task.File, service.File, task.Text, service.Text = "", "", definition.FileText{}, definition.FileText{}
	a.Task, a.Service = &task, &service
	return a
}

func TestCanary(t *testing.T) {
	app := load(t, "v0/canary/app.pipecd.yaml")
	want := []Stage{
		{Name: "ECS_CANARY_ROLLOUT", Timeout: 6 * time.Hour, With: CanaryRollout{Scale: 30}},
		{Name: "ECS_TRAFFIC_ROUTING", Timeout: 6 * time.Hour, With: TrafficRouting{Weights: sluice.CanaryShare(20)}},
		{Name: "WAIT_APPROVAL", Timeout: 6 * time.Hour, With: Approval{Approvers: []string{"someone", "other"},
			MinApprovers: 2}},
		{Name: "ECS_PRIMARY_ROLLOUT", Timeout: 6 * time.Hour, With: PrimaryRollout{}},
		{Name: "ECS_TRAFFIC_ROUTING", Timeout: 6 * time.Hour, With: TrafficRouting{Weights: sluice.CanaryShare(0)}},
		{Name: "ECS_CANARY_CLEAN", Timeout: 6 * time.Hour, With: CanaryClean{}},
	}
	if got := alike(app).Pipeline; !reflect.DeepEqual(got, want) {
		t.Errorf("pipeline\n%+v\nwant\n%+v", got, want)
	}
	if !app.AutoRollback || app.Access != sluice.ELB || app.Recreate {
		t.Errorf("%+v", app)
	}
	canary := &TargetGroup{ARN: "arn:aws:elasticloadbalancing:ap-northeast-1:123456789012:targetgroup/green/2222222222222222", Container: "web", Port: 80}
	if !reflect.DeepEqual(app.Canary, canary) {
		t.Errorf("canary %+v", app.Canary)
	}
	if app.Cluster != "arn:aws:ecs:ap-northeast-1:123456789012:cluster/test-cluster" ||
		*app.Service.Input.DesiredCount != 2 || *app.Task.Input.Memory != "512" {
		t.Errorf("%+v", app)
	}
	notes := []string{"ignored by sluice (used by piped): spec.labels, spec.trigger, spec.encryption, spec.description"}
	if !reflect.DeepEqual(app.Notes, notes) {
		t.Errorf("notes %q", app.Notes)
	}
	if len(app.Source) != 3 || len(app.Source["v0/canary/taskdef.yaml"]) != 64 {
		t.Errorf("sources %v", app.Source)
	}
	if app.Pipeline[1].Line != 26 {
		t.Errorf("line %d", app.Pipeline[1].Line)
	}
}

func TestBlueGreen(t *testing.T) {
	app := load(t, "v1/bluegreen")
	if app.AutoRollback {
		t.Error("rolls back though planner.autoRollback is false")
	}
	got := alike(app).Pipeline
	if got[0].Timeout != 30*time.Minute || got[0].Desc != "green" || got[0].With != (CanaryRollout{Scale: 100}) ||
		got[1].With != (TrafficRouting{Weights: sluice.CanaryShare(100)}) || !reflect.DeepEqual(got[2].With, Wait{Duration: 5 * time.Minute}) ||
		got[3].With != (PrimaryRollout{KeepOld: true}) {
		t.Errorf("%+v", got)
	}
}

func TestSimpleIsQuickSync(t *testing.T) {
	app := load(t, "v0/simple")
	if len(app.Pipeline) != 0 || !app.Recreate || app.Canary != nil || app.Primary == nil {
		t.Errorf("%+v", app)
	}
}

func TestStandalone(t *testing.T) {
	app := load(t, "v0/standalone")
	want := Standalone{RunTask: app.Standalone.RunTask, Run: true,
		ClusterARN: "arn:aws:ecs:ap-northeast-1:123456789012:cluster/test-cluster", LaunchType: "FARGATE",
		Subnets: []string{"subnet-YYYY"}, SecurityGroups: []string{"sg-YYYY"}, AssignPublicIP: "ENABLED"}
	if app.Service != nil || !reflect.DeepEqual(app.Standalone, want) || app.Cluster != want.ClusterARN {
		t.Errorf("%+v", app)
	}
}

func TestServiceDiscovery(t *testing.T) {
	app := load(t, "v1/discovery")
	if app.Access != sluice.ServiceDiscovery || app.ProgressDeadline != 90*time.Second ||
		app.Pipeline[0].With != (Sync{}) {
		t.Errorf("%+v", app)
	}
}

// files is a small application around one application file.
func files(name, content string) fstest.MapFS {
	return fstest.MapFS{
		name: {Data: []byte(content)},
		"taskdef.json": {Data: []byte(
			`{"family": "web", "memory": "512", "containerDefinitions": [{"name": "web", "image": "web:v1"}]}`)},
		"servicedef.yaml": {Data: []byte("serviceName: web\ncluster: main\n")},
	}
}

func TestWhatIsNotGiven(t *testing.T) {
	app, err := Load(files("sluice.yaml", "input: {serviceDefinitionFile: servicedef.yaml}\n"), ".", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !app.AutoRollback || app.Timeout != 6*time.Hour || app.ProgressDeadline != 10*time.Minute ||
		app.Access != sluice.ELB || app.Cluster != "main" || len(app.Notes) != 0 {
		t.Errorf("%+v", app)
	}
}

func TestPrimaryZeroIsRefused(t *testing.T) {
	const pipeline = "pipeline: {stages: [{name: ECS_TRAFFIC_ROUTING, with: {primary: 0}}]}}\n"
	app, err := Load(files("app.pipecd.yaml",
		"apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\nspec: {input: {}, "+pipeline), ".", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := app.Pipeline[0].With.(TrafficRouting).Weights; got != sluice.CanaryShare(100) {
		t.Errorf("weights %s", got)
	}
	const want = "line 3: primary 0 sends all traffic to the canary; PipeCD uses primary 100, canary 0"
	if len(app.Notes) != 1 || app.Notes[0] != want {
		t.Errorf("notes %q", app.Notes)
	}
}

func TestRollbackKeysThatDisagree(t *testing.T) {
	app, err := Load(files("sluice.yaml", "input: {autoRollback: false}\nplanner: {autoRollback: true}\n"),
		"sluice.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if app.AutoRollback || len(app.Notes) != 1 {
		t.Errorf("%+v", app)
	}
}

func TestTheClusterIsOfTheService(t *testing.T) {
	fsys := files("sluice.yaml", "cluster: main\ninput: {serviceDefinitionFile: servicedef.yaml}\n")
	fsys["servicedef.yaml"] = &fstest.MapFile{Data: []byte("serviceName: web\n")}
	app, err := Load(fsys, ".", nil)
	if err != nil {
		t.Fatal(err)
	}
	if *app.Service.Input.Cluster != "main" || !app.Service.Given["cluster"] {
		t.Errorf("%+v", app.Service)
	}
}

func TestFindingTheFile(t *testing.T) {
	for _, c := range []struct {
		files []string
		name  string
		want  string // file, or what the error holds
	}{
		{[]string{"app.pipecd.yaml"}, ".", "app.pipecd.yaml"},
		{[]string{"web.pipecd.yaml"}, ".", "web.pipecd.yaml"},
		{[]string{"sluice.yaml"}, ".", "sluice.yaml"},
		{[]string{"x/sluice.yaml"}, "x", "x/sluice.yaml"},
		{[]string{"x/other.yaml"}, "x/other.yaml", "x/other.yaml"},
		{[]string{"a.pipecd.yaml", "app.pipecd.yaml", "sluice.yaml"}, ".",
			"the folder has 3 application files: app.pipecd.yaml, a.pipecd.yaml, sluice.yaml"},
		{[]string{"x/other.yaml"}, "x", "the folder has no application file"},
		{[]string{"x/other.yaml"}, "y", "the file does not exist"},
		{[]string{"x/other.yaml"}, "../y", "the path is outside the folder"},
	} {
		fsys := fstest.MapFS{}
		for _, f := range c.files {
			fsys[f] = &fstest.MapFile{Data: []byte("{}\n")}
			fsys[path.Join(path.Dir(f), "taskdef.json")] = files("x", "")["taskdef.json"]
		}
		app, err := Load(fsys, c.name, nil)
		switch {
		case err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v", c.want, err)
		case err != nil && sluice.NextStep(err) == "":
			t.Errorf("%s: no next step", c.want)
		case err == nil && app.File != c.want:
			t.Errorf("%s: %s", c.want, app.File)
		}
	}
}

// Nothing of Keys is without its sentence, and each key has one place.
func TestKeysAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Keys() {
		if k.Sentence == "" || len(k.Formats) == 0 || k.Treatment == "" {
			t.Errorf("%+v", k)
		}
		for _, f := range k.Formats {
			if at := string(f) + k.Path; seen[at] {
				t.Errorf("%s is listed twice for %s", k.Path, f)
			} else {
				seen[at] = true
			}
		}
	}
	for _, path := range strings.Fields(pipecdKeys) {
		if !seen[string(PipeCDv0)+path] && !seen[string(PipeCDv1)+path] {
			t.Errorf("%s is in none of the lists", path)
		}
	}
}

// pipecdKeys are the keys that PipeCD's two versions have for ECS.
const pipecdKeys = `
name labels description planner planner.alwaysUsePipeline planner.autoRollback commitMatcher pipeline pipeline.stages
pipeline.stages[].id pipeline.stages[].name pipeline.stages[].desc pipeline.stages[].timeout pipeline.stages[].with pipeline.stages[].skipOn
trigger postSync timeout encryption attachment notification eventWatcher driftDetection plugins plugin deployTarget
input input.taskDefinitionFile input.serviceDefinitionFile input.runStandaloneTask input.clusterArn input.launchType input.accessType
input.awsvpcConfiguration.subnets input.awsvpcConfiguration.assignPublicIp input.awsvpcConfiguration.securityGroups
input.targetGroups.primary input.targetGroups.canary input.targetGroups.primary.targetGroupArn input.targetGroups.primary.containerName
input.targetGroups.primary.containerPort input.targetGroups.primary.loadBalancerName input.autoRollback quickSync quickSync.recreate
pipeline.stages[ECS_SYNC] pipeline.stages[ECS_CANARY_ROLLOUT].with.scale pipeline.stages[ECS_PRIMARY_ROLLOUT]
pipeline.stages[ECS_TRAFFIC_ROUTING].with.primary pipeline.stages[ECS_TRAFFIC_ROUTING].with.canary pipeline.stages[ECS_CANARY_CLEAN]
pipeline.stages[ROLLBACK] pipeline.stages[ECS_ROLLBACK] pipeline.stages[WAIT].with.duration
pipeline.stages[WAIT_APPROVAL].with.approvers pipeline.stages[WAIT_APPROVAL].with.minApproverNum pipeline.stages[ANALYSIS] pipeline.stages[SCRIPT_RUN]
region profile credentialsFile roleARN tokenFile
`

// What PipeCD v1's page has and PipeCD does not read has no effect but a note, and the timeout of an
// approval is the stage's.
func TestKeysOfPipeCDsPageAreNoted(t *testing.T) {
	app, err := Load(files("app.pipecd.yaml", v1+"  plugin: ecs\n  deployTarget: stage\n  plugins: {ecs: {}}\n"+
		"  pipeline: {stages: [{name: WAIT_APPROVAL, with: {timeout: 90m}}]}\n"), ".", nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "without effect, in PipeCD as in sluice: spec.plugin, spec.deployTarget " +
		"(PipeCD stores the deploy target in its settings of the application)"
	if len(app.Notes) != 1 || app.Notes[0] != want {
		t.Errorf("notes %q", app.Notes)
	}
	if got := app.Pipeline[0].Timeout; got != 90*time.Minute {
		t.Errorf("the approval's timeout is %s", got)
	}
}

func TestStepsAndRunTask(t *testing.T) {
	fsys := files("sluice.yaml", `
input:
  runTask:
    count: 3
    capacityProviderStrategy: [{capacityProvider: FARGATE_SPOT, weight: 1}]
    overrides: {containerOverrides: [{name: web, command: [./job], environment: [{name: A, value: b}]}]}
  watchContainer: web
before:
  - {name: migrate, taskDefinitionFile: taskdef.json, timeout: 20m, runTask: {overrides: {cpu: "512"}}}
after:
  - {name: smoke, rollback: true, watchContainer: web}
`)
	app, err := Load(fsys, "sluice.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	in := app.Standalone.RunTask.Input
	if *in.Count != 3 || *in.CapacityProviderStrategy[0].CapacityProvider != "FARGATE_SPOT" ||
		in.Overrides.ContainerOverrides[0].Command[0] != "./job" ||
		app.Standalone.LaunchType != "" || app.Standalone.WatchContainer != "web" {
		t.Errorf("%+v", app.Standalone)
	}
	b, a := app.Before[0], app.After[0]
	if b.Name != "migrate" || b.Task == nil || b.Timeout != 20*time.Minute || *b.Run.Input.Overrides.Cpu != "512" ||
		a.Name != "smoke" || !a.Rollback || a.Task != nil {
		t.Errorf("%+v %+v", b, a)
	}
	for file, want := range map[string]string{
		"input: {runTask: {clientToken: x}}\n": "input.runTask.clientToken is not " +
			"allowed here: sluice sets it",
		"desiredCount: \"3\"\n":          `desiredCount is a whole number from 0 to 100000, and this is text: "3"`,
		"input: {runTask: {cuont: 1}}\n": `unknown key "cuont" in input.runTask`,
		"input: {runTask: {count: 0}}\n": "input.runTask.count is a whole number " +
			"from 1, and this is 0",
		"before: [{name: a}, {name: a}]\n":                     "before[1].name: a is given twice",
		"before: [{name: a b}]\n":                              `has 1 to 40 letters, digits, - and _, and this is "a b"`,
		"before: [{name: a, rollback: true}]\n":                `unknown key "rollback" in before[]`,
		"before: [{name: a, taskDefinitionFile: none.yaml}]\n": "there is no file none.yaml",
		"input: {runTask: {overrides: {containerOverrides: [{cpu: 1}]}}}\n": "an entry of containerOverrides has " +
			"no name",
		"input: {runTask: {propagateTags: SERVICE}}\n": "propagateTags cannot be SERVICE",
		v0 +
			"  before: [{name: a}]\n": "spec.before is refused. In PipeCD's files before is a key of input",
		v0 +
			"  input: {after: [{name: a b}]}\n": `has 1 to 40 letters, digits, - and _, and this is "a b"`,
		v0 +
			"  input: {after: [{name: a, runTask: {cuont: 1}}]}\n": `unknown key "cuont" in input.after[0].runTask`,
		"input: {before: [{name: a}]}\n": "input.before is refused. In sluice.yaml before is a top-level key",
		"input: {launchType: EC2, runTask: {capacityProviderStrategy: [{capacityProvider: x}]}}\n": "exclude each " +
			"other",
	} {
		if _, err := Load(files("sluice.yaml", file), "sluice.yaml", nil); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// An error about a resource of AWS names the line where the file names it.
func TestPlaceOf(t *testing.T) {
	const group, rule = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/0123456789abcdef", "arn:aws:x:::y"
	fsys := fstest.MapFS{"sluice.yaml": {Data: []byte("name: prod\ncluster: prod\ninput:\n  taskDefinitionFile: taskdef.json\n" +
		"  serviceDefinitionFile: servicedef.json\n  listenerRules:\n  - " + rule +
		"\n  targetGroups:\n    primary:\n      targetGroupArn: " + group +
		"\n    canary: {targetGroupArn: " + group + "}\npipeline:\n  stages: [{name: ECS_SYNC}]\n")},
		"taskdef.json": {Data: []byte("{\n\"family\": \"web\", \"containerDefinitions\": [{\n\"name\": \"web\",\n" +
			"\"image\": \"web:v1\", \"memory\": 64}]}")},
		"servicedef.json": {Data: []byte("{\"cluster\": \"prod\",\n\"serviceName\": \"web\"}")}}
	files, err := ReadFiles(fsys, "sluice.yaml", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for resource, want := range map[string]string{"prod": "sluice.yaml:2", rule: "sluice.yaml:7", group: "sluice.yaml:10",
		"web": "", "": "", "taskdef.json": "", group + "0": "", "image web:v1": "taskdef.json:4", "web:v1": ""} {
		if got := files.Application.PlaceOf(resource); got != want {
			t.Errorf("%q is at %q, want %q", resource, got, want)
		}
	}
	for want, got := range map[string]string{"servicedef.json:2": files.Application.PlaceOfServiceName(),
		"sluice.yaml:11": files.Application.PlaceOfCanaryGroup(), "sluice.yaml:12": files.Application.PlaceOfPipeline()} {
		if got != want {
			t.Errorf("the member at %s is at %q", want, got)
		}
	}
}
