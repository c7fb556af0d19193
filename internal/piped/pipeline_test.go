package piped_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

func TestPipelineGoesFromV1ToV2WithoutLosingARequest(t *testing.T) {
	t.Parallel()
	r := newRig(t, external)
	r.flow()
	d := r.usual()
	for i, s := range d.forward() {
		d.run(s)
		t.Logf("%s: %s\n%s", s.GetName(), r.state(), r.piped.text(s.GetId()))
		if i == 1 {
			r.want("PRIMARY sim/web:v1 100% 2 running; ACTIVE sim/web:v2 50% 1 running; primary 90; canary 10")
		}
	}
	r.want(serves("v2"))
	r.noneLost()
}

func TestQuickSync(t *testing.T) {
	t.Parallel()
	r := newRig(t, external)
	r.flow()
	d := r.begin(source{image: "sim/web:v1"}, source{})
	d.all()
	r.want(serves("v2"))
	r.noneLost()
	r.free()
	r.commit("h2", true)
	if text := r.piped.displayed(d.Stages[0].GetId()); text != "primary: 2/2 tasks, 2 healthy" {
		t.Errorf("displayed %q", text)
	}
}

func TestFirstDeployment(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick)
	d := r.begin(source{}, source{service: serviceFile + "desiredCount: 2\ntags: [{key: team, value: a}]\n"})
	d.running = nil
	d.all()
	r.want(serves("v2"))
	tags := r.tags()
	for key, value := range map[string]string{"team": "a", "pipecd-dev-managed-by": "piped-ecs-plugin",
		"pipecd-dev-piped":       "piped-1",
		"pipecd-dev-application": "app-1", "pipecd-dev-commit-hash": "h2", "sluice:deployment": ""} {
		if tags[key] != value {
			t.Errorf("tag %s is %q, want %q", key, tags[key], value)
		}
	}
}

// A service with controller ECS is rolled by ECS and followed; its rollback stops
// or returns it.
func TestRollingServiceAndItsRollback(t *testing.T) {
	t.Parallel()
	r := newRig(t, rolling)
	r.flow()
	app := appFile("")
	d := r.begin(source{image: "sim/web:v1", app: app, service: rollingFile}, source{app: app, service: rollingFile})
	d.all()
	if state := r.state(); !strings.Contains(state, "PRIMARY sim/web:v2 100% 2 running") ||
		strings.Contains(state, "v1") {
		t.Errorf("%s\n%s", state, r.piped.text(d.Stages[0].GetId()))
	}
	d.run(d.back())
	if state := r.state(); !strings.Contains(state, "sim/web:v1") || strings.Contains(state, "v2") {
		t.Errorf("%s\n%s", state, r.piped.text(d.back().GetId()))
	}
	r.noneLost()
	r.free()
	r.commit("h1", true)
}

// All that a deployment saves stays small.
func TestMetadataStaySmall(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	for i := range int32(20) {
		r.rule(i+1, fmt.Sprintf("/%d/*", i), both(100, 0, true))
	}
	d := r.usual()
	d.run(d.forward()[0])
	d.run(d.forward()[1])
	sum := 0
	for key, value := range r.piped.values() {
		sum += len(value)
		if len(value) > 6<<10 {
			t.Errorf("%s has %d bytes", key, len(value))
		}
	}
	if sum > 20<<10 {
		t.Errorf("all values together have %d bytes", sum)
	}
}

// PipeCD's own keys are written as its plugin does.
func TestPipeCDsKeysAreKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.usual()
	d.run(d.forward()[0])
	d.run(d.forward()[1])
	values := r.piped.values()
	for key, want := range map[string]string{"canary-target-group-arn": canaryARN, "primary-percentage": "90",
		"canary-percentage": "10", "current-listeners": listenerARN} {
		if got := values[d.Id+"/ecs/"+key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if text := r.piped.displayed(d.forward()[1].GetId()); text != "primary 90% / canary 10%" {
		t.Errorf("displayed %q", text)
	}
}

// With a pipeline the canary is a service of its own beside the one that ECS rolls.
func TestPipelineWithACanaryService(t *testing.T) {
	t.Parallel()
	r := newRig(t, rolling)
	r.flow()
	d := r.begin(source{image: "sim/web:v1", service: rollingFile}, source{service: rollingFile}, stagesOf()...)
	for _, s := range d.forward() {
		d.run(s)
	}
	if state := r.state(); !strings.Contains(state, "PRIMARY sim/web:v2 100% 2 running") ||
		strings.Contains(state, "v1") || !strings.Contains(state, "canary 0") {
		t.Error(state)
	}
	d.run(d.back())
	if state := r.state(); !strings.Contains(state, "sim/web:v1") || strings.Contains(state, "v2") {
		t.Errorf("%s\n%s", state, r.piped.text(d.back().GetId()))
	}
	r.noneLost()
	r.free()
}

// A deployment that the official plugin began, which piped hands over in the middle,
// is not taken for one that changed nothing.
func TestDeploymentOfTheOfficialPluginIsRecognized(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	for _, key := range []string{"canary-task-set", "current-listeners"} {
		d := r.usual()
		r.piped.set(func() { r.piped.metadata[d.Id+"/ecs/"+key] = "{}" })
		for _, s := range []*contract.PipelineStage{d.forward()[4], d.back()} {
			if log := d.fails(s); !strings.Contains(log,
				"another plugin began this deployment: it has metadata "+key) || written(log) {
				t.Errorf("log of %s:\n%s", s.GetName(), log)
			}
		}
	}
	r.want(serves("v1"))
}
