package appfile_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/appfile/render"
	"github.com/sluice-ecs/sluice/internal/folder"
)

const taskInJsonnet = `{family: 'web', tags: [{key: 'owner', value: 'a'}, {key: 'cost', value: 'b'}],
	containerDefinitions: [{name: 'web', image: 'web:' + std.native('must_env')('TAG'), memory: 128,
	portMappings: [{containerPort: 80}]}]}`

const serviceInJSON = `{"desiredCount": {{ env "COUNT" "3" }}, "loadBalancers": [{"targetGroupArn": "arn:a",
	"containerName": "web", "containerPort": 80}], "tags": [{"key": "owner", "value": "a"}]}`

const ecspressoConfig = `region: '{{ must_env "AWS_REGION" }}'
cluster: prod
service: web
task_definition: ecs-task-def.jsonnet
service_definition: ecs-service-def.json
`

// ecspressoFiles are the files of a service, with a configuration of that name and text.
func ecspressoFiles(name, config string) fstest.MapFS {
	return fstest.MapFS{name: {Data: []byte(config)}, "ecs-task-def.jsonnet": {Data: []byte(taskInJsonnet)},
		"ecs-service-def.json": {Data: []byte(serviceInJSON)}}
}

func environment(vars map[string]string) *render.Environment {
	return &render.Environment{Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}
}

func TestEcspressoFilesAreAnApplication(t *testing.T) {
	from := environment(map[string]string{"TAG": "v2", "AWS_REGION": "us-east-1"})
	const more = "required_version: '>= 2.3'\ntimeout: 15m\nignore: {tags: [owner]}\nappspec: {Hooks: [{BeforeInstall: f}]}\n" +
		"codedeploy: {application_name: a, deployment_group_name: g, deployment_config_name: c}\n"
	for _, name := range []string{"ecspresso.yml", "ecspresso.yaml", "prod.yml"} {
		app, err := appfile.Load(ecspressoFiles(name, ecspressoConfig+more), name, from)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		in := app.Service.Input
		if app.Format != appfile.Ecspresso || app.Region != "us-east-1" || app.Cluster != "prod" || *in.ServiceName != "web" ||
			*in.Cluster != "prod" || *in.DesiredCount != 3 || *app.Task.Input.ContainerDefinitions[0].Image != "web:v2" {
			t.Errorf("%s: the application is %+v", name, app)
		}
		if app.AutoRollback || app.Timeout != 15*time.Minute || app.Access != sluice.ELB || len(app.Pipeline) != 0 {
			t.Errorf("%s: rollback %t, timeout %s, access %s", name, app.AutoRollback, app.Timeout, app.Access)
		}
		if got := (appfile.CodeDeploy{Application: "a", Group: "g", Config: "c"}); app.CodeDeploy != got ||
			len(app.Hooks) != 1 || app.Hooks[0].Function != "f" {
			t.Errorf("%s: CodeDeploy %+v, hooks %v", name, app.CodeDeploy, app.Hooks)
		}
		if tags := app.Task.Input.Tags; len(tags) != 1 || *tags[0].Key != "cost" || len(in.Tags) != 0 {
			t.Errorf("%s: the ignored tag remains: %v, %v", name, tags, in.Tags)
		}
		if len(app.Notes) != 1 || !strings.Contains(app.Notes[0], "required_version") {
			t.Errorf("%s: notes %q", name, app.Notes)
		}
		if read := slices.Sorted(maps.Keys(app.Source)); len(read) != 3 {
			t.Errorf("%s: the digests are of %v", name, read)
		}
	}
	const json = `{"cluster": "prod", "service": "web", "task_definition": "ecs-task-def.jsonnet",
		"service_definition": "ecs-service-def.json"}`
	const jsonnet = `local name = 'web'; {service: name, task_definition: 'ecs-task-def.jsonnet',
		service_definition: 'ecs-service-def.json'}`
	for name, text := range map[string]string{"ecspresso.json": json, "ecspresso.jsonnet": jsonnet} {
		app, err := appfile.Load(ecspressoFiles(name, text), ".", from)
		if err != nil || app.Timeout != 10*time.Minute || app.Region != "us-east-1" {
			t.Errorf("%s: %+v, %v", name, app, err)
		}
	}
}

func TestEcspressoFileForTasksOnly(t *testing.T) {
	app, err := appfile.Load(ecspressoFiles("ecspresso.yml", "task_definition: ecs-task-def.jsonnet\n"), ".",
		environment(map[string]string{"TAG": "v2"}))
	if err != nil || app.Service != nil || app.Standalone.Run || app.Cluster != "default" {
		t.Errorf("%+v, %v", app, err)
	}
}

// TestEcspressoFilesAreRefused checks that nothing in the files is lost silently.
func TestEcspressoFilesAreRefused(t *testing.T) {
	vars := map[string]string{"TAG": "v2", "AWS_REGION": "us-east-1"}
	for _, c := range []struct {
		name, config, want string
		without            string // a variable that is not set
	}{
		{"an unknown key", ecspressoConfig + "task_defintion: a\n", `ecspresso.yml:6:1: unknown key "task_defintion"`, ""},
		{"a timeout without its unit", ecspressoConfig + "timeout: 600\n", "ecspresso.yml:6:10: timeout is a duration", ""},
		{"its advice", ecspressoConfig + "timeout: 600\n", "add the unit", ""},
		{"another plugin", ecspressoConfig + "plugins: [{name: external}]\n", "ecspresso.yml:6:18: the plugin external is not " +
			"supported", ""},
		{"a state without a place", ecspressoConfig + "plugins: [{name: tfstate}]\n", "ecspresso.yml:6:11: the plugin " +
			"tfstate has neither config.path nor config.url", ""},
		{"a state outside of the folder", ecspressoConfig + state("path: ../a.tfstate"), "../a.tfstate: it is outside the " +
			"folder", ""},
		{"a state in another cloud", ecspressoConfig + state("url: 'gs://bucket/key'"), "sluice does not read a state by gs",
			""},
		{"a state in S3 without AWS", ecspressoConfig + state("url: 's3://bucket/key'"),
			"ecspresso.yml:7:35: s3://bucket/key: this command does not read values of AWS", ""},
		{"a missing state", ecspressoConfig + state("path: none.tfstate"), "none.tfstate: the file does not exist", ""},
		{"a file that is no state", ecspressoConfig + state("path: ecs-service-def.json"), "it is not a Terraform state", ""},
		{"two states with one name", ecspressoConfig + state("path: terraform.tfstate") +
			"  - {name: tfstate, config: {path: terraform.tfstate}}\n", "the function tfstate is defined twice", ""},
		{"Express Mode", ecspressoConfig + "express_definition: a.json\n", "express_definition is refused", ""},
		{"a picker", ecspressoConfig + "filter_command: peco\n", "filter_command is refused", ""},
		{"a missing variable of the configuration", ecspressoConfig, `ecspresso.yml:1:13: must_env: the environment ` +
			`variable AWS_REGION is not set`, "AWS_REGION"},
		{"a missing variable of a definition", ecspressoConfig, "ecs-task-def.jsonnet:2:55: must_env: the environment " +
			"variable TAG is not set", "TAG"},
		{"no task definition", "service: web\nservice_definition: ecs-service-def.json\n", "the file has no task_definition", ""},
		{"no service definition", "service: web\ntask_definition: ecs-task-def.jsonnet\n", "no service_definition", ""},
		{"a file outside of the folder", "task_definition: ../task.json\n", "is outside the folder", ""},
		{"its advice", "task_definition: ../task.json\n", "move the file into the folder of the configuration", ""},
		{"an absolute path outside of the folder", "task_definition: /etc/task.json\n", "/etc/task.json is outside the folder", ""},
		{"a missing file", "task_definition: none.json\n", "there is no file none.json", ""},
		{"camel case", "taskDefinition: a\ntask_definition: ecs-task-def.jsonnet\n", `unknown key "taskDefinition"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			given := maps.Clone(vars)
			delete(given, c.without)
			files := ecspressoFiles("ecspresso.yml", c.config)
			files["terraform.tfstate"] = &fstest.MapFile{Data: []byte(terraformState)}
			_, err := appfile.Load(files, ".", environment(given))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// A misspelled plugin is told with the one that was meant, and it is the one problem: its functions are there.
func TestMisspelledPlugin(t *testing.T) {
	files := ecspressoFiles("ecspresso.yml", ecspressoConfig+"plugins:\n  - {name: tfsatte, config: {path: terraform.tfstate}}\n")
	files["terraform.tfstate"] = &fstest.MapFile{Data: []byte(terraformState)}
	files["ecs-task-def.jsonnet"].Data = []byte(`{family: "web-{{ tfstate ` + "`output.count`" + ` }}",
  containerDefinitions: [{name: 'web', image: 'web:v1', memory: 64, portMappings: [{containerPort: 80}]}]}`)
	_, err := appfile.Load(files, ".", environment(map[string]string{"AWS_REGION": "us-east-1"}))
	want := `ecspresso.yml:7:12: the plugin tfsatte is not supported
   7 |   - {name: tfsatte, config: {path: terraform.tfstate}}
     |            ^
did you mean "tfstate"?`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant only %s", err, want)
	}
}

// A service definition may name the service too, but not another one.
func TestEcspressoServiceHasOneName(t *testing.T) {
	files := ecspressoFiles("ecspresso.yml", ecspressoConfig)
	files["ecs-service-def.json"].Data = []byte(`{"serviceName": "other", "desiredCount": 1}`)
	_, err := appfile.Load(files, ".", environment(map[string]string{"TAG": "v2", "AWS_REGION": "us-east-1"}))
	if err == nil || !strings.Contains(err.Error(), "service is web, but ecs-service-def.json has serviceName other") {
		t.Errorf("got %v", err)
	}
}

// Two formats in one folder are ambiguous; two names of ecspresso's file are not: it takes the first too.
func TestEcspressoFileIsFoundByName(t *testing.T) {
	from := environment(map[string]string{"TAG": "v2", "AWS_REGION": "us-east-1"})
	files := ecspressoFiles("ecspresso.yml", ecspressoConfig)
	files["ecspresso.json"] = &fstest.MapFile{Data: []byte("{}")}
	if app, err := appfile.Load(files, ".", from); err != nil || app.File != "ecspresso.yml" {
		t.Errorf("%+v, %v", app, err)
	}
	files["sluice.yaml"] = &fstest.MapFile{Data: []byte("name: web\n")}
	if _, err := appfile.Load(files, ".", from); err == nil || !strings.Contains(err.Error(), "sluice.yaml, ecspresso.yml") {
		t.Errorf("got %v", err)
	}
}

// state is the plugin tfstate with its settings.
func state(settings string) string {
	return "plugins:\n  - {name: tfstate, config: {" + settings + "}}\n"
}

const terraformState = `{"version": 4, "outputs": {"count": {"value": 2}}, "resources": [
	{"mode": "managed", "type": "aws_lb_target_group", "name": "web", "instances": [
		{"index_key": "blue", "attributes": {"arn": "arn:tg"}}]},
	{"mode": "managed", "type": "aws_iam_role", "name": "task", "instances": [{"attributes": {"arn": "arn:role"}}]}]}`

// Values of a Terraform state come into templates and Jsonnet, with the prefix of the plugin.
func TestEcspressoReadsATerraformState(t *testing.T) {
	const task = `{family: 'web', executionRoleArn: std.native('net_tfstate')('aws_iam_role.task.arn'),
	containerDefinitions: [{name: 'web', image: 'web:1', memory: 128, portMappings: [{containerPort: 80}]}]}`
	const service = `{"desiredCount": {{ net_tfstate "output.count" }}, "loadBalancers": [{"containerName": "web",
	"targetGroupArn": "{{ net_tfstatef "aws_lb_target_group.web['%s'].arn" (env "COLOR" "blue") }}", "containerPort": 80}]}`
	load := func(task, service, more string) (*appfile.Application, error) {
		files := ecspressoFiles("ecspresso.yml", ecspressoConfig+"plugins:\n  - name: tfstate\n    func_prefix: net_\n"+
			"    config: {path: terraform.tfstate"+more+"}\n")
		files["ecs-task-def.jsonnet"].Data, files["ecs-service-def.json"].Data = []byte(task), []byte(service)
		if more == "" {
			files["terraform.tfstate"] = &fstest.MapFile{Data: []byte(terraformState)}
		}
		return appfile.Load(files, ".", environment(map[string]string{"AWS_REGION": "us-east-1"}))
	}
	app, err := load(task, service, "")
	if err != nil {
		t.Fatal(err)
	}
	if in := app.Service.Input; *in.DesiredCount != 2 || *in.LoadBalancers[0].TargetGroupArn != "arn:tg" ||
		*app.Task.Input.ExecutionRoleArn != "arn:role" {
		t.Errorf("the application has %+v and %+v", in, app.Task.Input)
	}
	if app.Source["terraform.tfstate"] == "" {
		t.Errorf("the state is no source of the application: %v", app.Source)
	}
	for _, c := range []struct{ task, service, more, want string }{
		{strings.Replace(task, "task.arn", "tsk.arn", 1), service, "", "ecs-task-def.jsonnet:1:35: net_tfstate: the state has " +
			"no aws_iam_role.tsk.arn"},
		{strings.Replace(task, "task.arn", "tsk.arn", 1), service, "", "check the address: terraform state list prints them"},
		{task, strings.Replace(service, "blue", "green", 1), "", "ecs-service-def.json:2:24: net_tfstate: the state has no " +
			"aws_lb_target_group.web['green'].arn: the resource has 1 instance"},
		{task, strings.Replace(service, "net_tfstate ", "tfstate ", 1), "", "the template function tfstate is not known"},
		{task, service, ", optional: true", "the state has no aws_iam_role.task.arn"},
	} {
		if _, err := load(c.task, c.service, c.more); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// A service definition that belongs to no service says where sluice run starts tasks, as in ecspresso.
func TestEcspressoServiceDefinitionWithoutService(t *testing.T) {
	files := ecspressoFiles("ecspresso.yml", "cluster: prod\ntask_definition: ecs-task-def.jsonnet\n"+
		"service_definition: ecs-service-def.json\n")
	files["ecs-service-def.json"].Data = []byte(`{"launchType": "EC2", "loadBalancers": [
		{"targetGroupArn": "arn:a", "containerName": "other", "containerPort": 80}],
		"networkConfiguration": {"awsvpcConfiguration": {"subnets": ["subnet-1"]}}}`)
	app, err := appfile.Load(files, ".", environment(map[string]string{"TAG": "v2"}))
	if err != nil {
		t.Fatal(err)
	}
	run := app.Standalone.RunTask.Input
	if app.Service != nil || app.Standalone.LaunchType != "" || run.LaunchType != "EC2" ||
		run.NetworkConfiguration.AwsvpcConfiguration.Subnets[0] != "subnet-1" {
		t.Errorf("the application has %+v, and runs tasks with %+v", app, run)
	}
	if len(app.Notes) != 1 || !strings.Contains(app.Notes[0], "only sluice run uses ecs-service-def.json") {
		t.Errorf("the notes are %q", app.Notes)
	}
}

// Auto scaling that --suspend-auto-scaling suspends may stay suspended, as in ecspresso.
func TestEcspressoKeepsAutoScalingSuspended(t *testing.T) {
	app, err := appfile.Load(ecspressoFiles("ecspresso.yml", ecspressoConfig), ".",
		environment(map[string]string{"TAG": "v2", "AWS_REGION": "us-east-1"}))
	if err != nil || !app.Scaling.KeepSuspended || app.Scaling.IsRequested() {
		t.Errorf("the application has %+v, %v", app, err)
	}
}

// Absolute paths lead to files of the folder: in the configuration, for a state, and for imports of Jsonnet. Others do not.
func TestEcspressoAbsolutePaths(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"a/ecspresso.yml": "cluster: prod\nservice: web\ntask_definition: '{{ must_env \"DIR\" }}/a/task.jsonnet'\n" +
			"service_definition: '{{ must_env \"DIR\" }}/a/service.json'\n" +
			"plugins: [{name: tfstate, config: {path: '{{ must_env \"DIR\" }}/a/state/terraform.tfstate'}}]\n",
		"a/service.json":            `{"desiredCount": {{ tfstate "output.count" }}}`,
		"a/state/terraform.tfstate": terraformState,
		"a/name.libsonnet":          "'web'",
		"a/task.jsonnet": "local name = import '" + filepath.ToSlash(dir) + "/a/name.libsonnet'; {family: name, " +
			"containerDefinitions: [{name: name, image: 'web:1', memory: 128}]}",
	}
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		must(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)))
	}
	other := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, other); err != nil {
		t.Skip(err)
	}
	from := environment(map[string]string{"DIR": filepath.ToSlash(dir)})
	for name, fsys := range map[string]fs.FS{"a": folder.New(dir), ".": folder.New(filepath.Join(dir, "a")),
		"in/the/prefix": folder.WithPrefix("in/the/prefix", folder.New(filepath.Join(dir, "a")))} {
		app, err := appfile.Load(fsys, name, from)
		if err != nil || app.Task.File != path.Join(name, "task.jsonnet") || *app.Service.Input.DesiredCount != 2 {
			t.Errorf("%s: %+v, %v", name, app, err)
		}
	}
	if _, err := appfile.Load(folder.New(filepath.Join(other, "a")), ".", from); err != nil {
		t.Errorf("through a symbolic link: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "a", "ecspresso.yml"),
		[]byte("task_definition: '"+filepath.ToSlash(dir)+"/b/task.jsonnet'\n"), 0o600))
	_, err := appfile.Load(folder.New(dir), "a", from)
	if err == nil || !strings.Contains(err.Error(), "/b/task.jsonnet is outside the folder") {
		t.Errorf("outside: %v", err)
	}
}

// Files that cannot be deployed can be printed: definitions that do not fit together, values that AWS refuses, and a
// configuration whose definitions cannot be read.
func TestRefusedFilesAreRead(t *testing.T) {
	from := environment(map[string]string{"TAG": "v2", "AWS_REGION": "us-east-1"})
	read := func(task, service string) *appfile.Files {
		t.Helper()
		files := ecspressoFiles("ecspresso.yml", ecspressoConfig)
		files["ecs-task-def.jsonnet"].Data, files["ecs-service-def.json"].Data = []byte(task), []byte(service)
		read, err := appfile.ReadFiles(files, ".", from, nil)
		if err != nil || read.Problems == nil || len(read.Application.Text) == 0 {
			t.Fatalf("problems %v, error %v", read, err)
		}
		return read
	}
	const task = `{family: 'web', networkMode: 'bridge', containerDefinitions: [{name: 'web', image: 'web:1', memory: 128}]}`
	const service = `{"desiredCount": 1, "networkConfiguration": {"awsvpcConfiguration": {"subnets": ["subnet-1"]}}}`
	for name, files := range map[string]*appfile.Files{"definitions that do not fit": read(task, service),
		"a value that AWS refuses": read(strings.Replace(task, "128", "1", 1), strings.Replace(service, "1,", "-1,", 1))} {
		text, err := files.TaskJSON()
		if err != nil || !strings.Contains(string(text), `"family":"web"`) {
			t.Errorf("%s: task definition %s, %v", name, text, err)
		}
		text, err = files.ServiceJSON()
		if err != nil || !strings.Contains(string(text), `"cluster":"prod"`) || !strings.Contains(string(text), `"serviceName":"web"`) {
			t.Errorf("%s: service definition %s, %v", name, text, err)
		}
	}
	placement := ecspressoFiles("ecspresso.yml", "task_definition: ecs-task-def.jsonnet\nservice_definition: ecs-service-def.json\n")
	placed, err := appfile.ReadFiles(placement, ".", from, nil)
	must(t, err)
	if text, err := placed.ServiceJSON(); err != nil || strings.Contains(string(text), "serviceName") {
		t.Errorf("a service definition without a service: %s, %v", text, err)
	}
	files := read("{family: std.native('must_env')('NONE')}", `{"desiredCuont": 1}`)
	if text, err := files.TaskJSON(); err == nil || !strings.Contains(err.Error(), "NONE is not set") {
		t.Errorf("a missing variable: %s, %v", text, err)
	}
	if text, err := files.ServiceJSON(); err == nil || !strings.Contains(err.Error(), "desiredCuont") {
		t.Errorf("an unknown member: %s, %v", text, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// besideEcspresso is a sluice.yaml beside a configuration of ecspresso.
const besideEcspresso = `ecspresso: ecspresso.yml
bake: ${BAKE:-1m}
input:
  targetGroups:
    primary: {targetGroupArn: "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/a/1", containerName: web, containerPort: 80}
    canary: {targetGroupArn: "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/b/2", containerName: web, containerPort: 80}
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: ECS_CANARY_CLEAN}
`

// A sluice.yaml beside the configuration of ecspresso adds a pipeline to its templates. Definitions keep ecspresso's
// templates, and have no variables of sluice.yaml.
func TestPipelineBesideEcspresso(t *testing.T) {
	from := environment(map[string]string{"TAG": "v2", "AWS_REGION": "us-east-1"})
	files := ecspressoFiles("ecspresso.yml", ecspressoConfig+"ignore: {tags: [owner]}\ntimeout: 15m\n"+
		"codedeploy: {application_name: a, deployment_group_name: g}\n")
	files["ecs-task-def.jsonnet"] = &fstest.MapFile{Data: []byte(strings.Replace(taskInJsonnet, "name: 'web',",
		"name: 'web', environment: [{name: 'A', value: '$${X}'}],", 1))}
	for name, key := range map[string]string{".": "ecspresso.yml", "sluice.yaml": "./ecspresso.yml"} {
		files["sluice.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(besideEcspresso, "ecspresso.yml", key, 1))}
		app, err := appfile.Load(files, name, from)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		in := app.Service.Input
		if app.Format != appfile.Sluice || app.File != "sluice.yaml" || app.Region != "us-east-1" || app.Cluster != "prod" ||
			*in.ServiceName != "web" || *in.DesiredCount != 3 || len(app.Pipeline) != 3 || app.Bake != time.Minute ||
			!app.AutoRollback || app.Timeout != 15*time.Minute || app.Access != sluice.ELB || app.CodeDeploy.Group != "g" {
			t.Errorf("%s: the application is %+v", name, app)
		}
		if value := *app.Task.Input.ContainerDefinitions[0].Environment[0].Value; value != "$${X}" {
			t.Errorf("%s: the definition has variables: %s", name, value)
		}
		if image := *app.Task.Input.ContainerDefinitions[0].Image; image != "web:v2" || len(in.Tags) != 0 ||
			len(app.Task.Input.Tags) != 1 {
			t.Errorf("%s: image %s, tags %v of the service and %v of the task", name, image, in.Tags, app.Task.Input.Tags)
		}
	}
	app, err := appfile.Load(files, "ecspresso.yml", from)
	if err != nil || app.Format != appfile.Ecspresso || len(app.Pipeline) != 0 {
		t.Errorf("the file of ecspresso itself: %v", err)
	}
}

func TestPipelineBesideEcspressoIsRefused(t *testing.T) {
	for change, want := range map[[2]string]string{
		{"ecspresso: ecspresso.yml", "ecspresso: ../ecspresso.yml"}: "sluice.yaml:1:12: ecspresso: ../ecspresso.yml is not in the " +
			"folder of this file",
		{"ecspresso: ecspresso.yml", "ecspresso: other.yml"}: "sluice.yaml:1:12: ecspresso: there is no file other.yml",
		{"input:", "input:\n  taskDefinitionFile: a.json"}: "sluice.yaml:4:23: input.taskDefinitionFile and ecspresso exclude " +
			"each other: ecspresso.yml names the definitions",
		{"cluster: prod", "clutser: prod"}:    `ecspresso.yml:2:1: unknown key "clutser"`,
		{"ecs-task-def.jsonnet", "none.json"}: "ecspresso.yml:4:18: task_definition: there is no file none.json",
	} {
		files := ecspressoFiles("ecspresso.yml", strings.Replace(ecspressoConfig, change[0], change[1], 1))
		files["sluice.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(besideEcspresso, change[0], change[1], 1))}
		_, err := appfile.Load(files, "sluice.yaml", environment(map[string]string{"TAG": "v2", "AWS_REGION": "us-east-1"}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", change[1], err)
		}
	}
}
