package appfile_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/appfile/render"
)

// The keys of an environment replace those of the file. None is chosen by chance.
func TestEnvironments(t *testing.T) {
	files := fstest.MapFS{
		"sluice.yaml": {Data: []byte(`
input: {serviceDefinitionFile: servicedef.json}
region: ${REGION:-us-east-1}
bake: 1m
planner: {autoRollback: "${BACK:-true}"}
variables: {NAME: web, TEAM: shop}
environments:
  dev: {desiredCount: 1, variables: {NAME: web-dev}}
  prod: {region: eu-west-1, role: "arn:aws:iam::123456789012:role/deploy", cluster: prod, bake: 5m}
`)},
		"taskdef.json":    {Data: []byte(`{"family": "${NAME}", "containerDefinitions": [{"name": "app", "memory": 64, "image": "${TEAM}:1"}]}`)},
		"servicedef.json": {Data: []byte(`{"serviceName": "${NAME}", "desiredCount": 4}`)},
	}
	load := func(env string, set map[string]string) (*appfile.Application, error) {
		return appfile.Load(files, ".", &render.Environment{Chosen: env,
			Variables: func(name string) (string, bool) { return set[name], set[name] != "" }})
	}
	for env, want := range map[string]string{
		"dev":  "us-east-1  web-dev shop:1 1 1m0s true",
		"prod": "eu-west-1 arn:aws:iam::123456789012:role/deploy web shop:1 4 5m0s true",
	} {
		a, err := load(env, nil)
		if err != nil {
			t.Errorf("%s: %v", env, err)
			continue
		}
		got := strings.Join([]string{a.Region, a.Role, *a.Service.Input.ServiceName,
			*a.Task.Input.ContainerDefinitions[0].Image, text(*a.Service.Input.DesiredCount), a.Bake.String(), text(a.AutoRollback)}, " ")
		if got != want {
			t.Errorf("%s: %q, want %q", env, got, want)
		}
	}
	a, err := load("dev", map[string]string{"NAME": "other", "BACK": "false", "REGION": "eu-north-1"})
	if err != nil || *a.Service.Input.ServiceName != "other" || a.AutoRollback || a.Region != "eu-north-1" {
		t.Errorf("%v %+v", err, a)
	}
	for env, want := range map[string]string{"": "the environments dev, prod, and none is chosen",
		"pord":       "the file has no environment pord (it has dev, prod)",
		"PASSWORD=x": "the file has no environment of that name (it has dev, prod)"} {
		if _, err := load(env, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", env, err)
		}
	}
	files["sluice.yaml"].Data = append(files["sluice.yaml"].Data, "  test: {clustr: x, name: y}\n"...)
	for _, env := range []string{"dev", "test"} { // each problem once, also in the environment that is chosen
		if _, err = load(env, nil); strings.Count(err.Error(), "clustr: x") != 2 {
			t.Errorf("%s: %v", env, err)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "clustr") || !strings.Contains(err.Error(), `"name" in environments.test`) {
		t.Errorf("%v", err)
	}
}

func text(v any) string { return fmt.Sprint(v) }

// A command that only needs the names of a service needs no variable of its task definition. Problems of the application
// file and of the service definition stay, and a standalone task is its task definition.
func TestProblemsOfNames(t *testing.T) {
	const task = "family: web\ncontainerDefinitions:\n- {name: web, image: \"web:${TAG:?the tag}\"}\n"
	for name, c := range map[string]struct{ file, service, want string }{
		"only the task definition": {"name: web\ncluster: prod\n", "serviceName: web\n", ""},
		"the service too":          {"name: web\ncluster: prod\n", "serviceName: \"${NAME:?the name}\"\n", "NAME"},
		"the file too":             {"name: web\ncluster: prod\npipelin: {}\n", "serviceName: web\n", "pipelin"},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{"taskdef.yaml": {Data: []byte(task)}, "servicedef.yaml": {Data: []byte(c.service)},
				"sluice.yaml": {Data: []byte(c.file + "input: {taskDefinitionFile: taskdef.yaml, serviceDefinitionFile: servicedef.yaml}\n")}}
			files, err := appfile.ReadFiles(fsys, "sluice.yaml", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if files.Problems == nil || !strings.Contains(files.Problems.Error(), "TAG") {
				t.Errorf("all problems: %v", files.Problems)
			}
			err = files.ProblemsOfNames()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("problems of the names: %v, want %q", err, c.want)
			}
			if err == nil && *files.Application.Service.Input.ServiceName != "web" {
				t.Error("the service has no name")
			}
		})
	}
}

// A misspelled key environments is the problem of a chosen environment that the file lacks.
func TestEnvironmentOfMisspelledKey(t *testing.T) {
	files := fstest.MapFS{"sluice.yaml": {Data: []byte("name: web\nenvironment: {prod: {cluster: prod}}\n")}}
	_, err := appfile.Load(files, ".", &render.Environment{Chosen: "prod"})
	want := "sluice.yaml:2:1: unknown key \"environment\" in the file\n"
	if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), `did you mean "environments"?`) {
		t.Errorf("got %v, want %sand the key environments", err, want)
	}
}
