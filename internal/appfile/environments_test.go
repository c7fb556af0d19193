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
	for env, want := range map[string]string{"": "the environments dev, prod, and none is chosen", "pord": "no environment of that name"} {
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
