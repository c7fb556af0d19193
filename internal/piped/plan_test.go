package piped_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

func (r *rig) input(running, target *contract.DeploymentSource) *contract.PlanPluginInput {
	// as for a preview
	return &contract.PlanPluginInput{Deployment: &contract.Deployment{PipedId: "piped-1", ApplicationId: "app-1",
		ApplicationName: "web"},
		RunningDeploymentSource: running, TargetDeploymentSource: target}
}

// The pipeline is chosen whenever what would run changes, the image or not.
func TestStrategy(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick)
	v1 := source{image: "sim/web:v1"}.write(t)
	const quickly, slowly = contract.SyncStrategy_QUICK_SYNC, contract.SyncStrategy_PIPELINE
	for name, c := range map[string]struct {
		running *contract.DeploymentSource
		target  source
		want    contract.SyncStrategy
		tells   string
	}{
		"nothing changed": {v1, source{image: "sim/web:v1"}, quickly,
			"neither the task definition nor the service definition changed"},
		"a default written down": {v1, source{image: "sim/web:v1", task: taskFile + "    essential: true\n"}, quickly,
			""},
		"another image": {v1, source{}, slowly, "containerDefinitions[web].image: sim/web:v1 → sim/web:v2"},
		"environment": {v1, source{image: "sim/web:v1", task: taskFile +
			"    environment: [{name: A, value: b}]\n"}, slowly, "environment"},
		"memory": {v1, source{image: "sim/web:v1", task: strings.Replace(taskFile, "512", "1024", 1)},
			slowly, "memory: 512 → 1024"},
		"service definition": {v1, source{image: "sim/web:v1", service: serviceFile + "desiredCount: 3\n"}, slowly,
			"desiredCount"},
		"network": {v1,
			source{image: "sim/web:v1", service: strings.Replace(serviceFile, ", subnet-0123456789abcdef1", "", 1)},
			slowly, "networkConfiguration"},
		"nothing was deployed": {nil, source{}, slowly, "there is no earlier deployment"},
		"the former is not there": {&contract.DeploymentSource{ApplicationDirectory: t.TempDir()}, source{}, slowly,
			"cannot be read"},
		// piped shows no errors of this call: the reason is the summary
		"wrong files": {v1, source{app: appFile(pipeline + "  unknown: 1\n")}, slowly,
			`The files cannot be deployed: app.pipecd.yaml:33:3: unknown key "unknown"`},
	} {
		out := got(r.plugin.DetermineStrategy(context.Background(),
			&contract.DetermineStrategyRequest{Input: r.input(c.running, c.target.write(t))}))(t)
		if out.GetSyncStrategy() != c.want || !strings.Contains(out.GetSummary(), c.tells) || out.GetUnsupported() {
			t.Errorf("%s: %s, %s", name, out.GetSyncStrategy(), out.GetSummary())
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick)
	digest := "sha256:" + strings.Repeat("ab", 32)
	var containers strings.Builder
	for i, image := range []string{"nginx", "registry.example.com:5000/team/web:v1.2",
		"registry.example.com:5000/team/side", "repo/pinned:v3@" + digest, "nginx"} {
		fmt.Fprintf(&containers, "  - {name: %q, image: %q, portMappings: [{containerPort: %d}]}\n",
			[]string{"web", "c1", "c2", "c3", "c4"}[i], image, 80+i)
	}
	out := got(r.plugin.DetermineVersions(context.Background(), &contract.DetermineVersionsRequest{
		Input: r.input(nil, source{task: "family: web\nnetworkMode: awsvpc\ncpu: 256\nmemory: 512\n" +
			"containerDefinitions:\n" + containers.String()}.write(t))}))(t)
	var all []string
	for _, v := range out.GetVersions() {
		all = append(all, v.GetName()+" "+v.GetVersion())
	}
	if got, want := strings.Join(all, ", "), "nginx , web v1.2, side , pinned "+digest; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// piped takes indexes that it sent and no others; a rollback may share one.
func TestRollbackBorrowsTheSmallestIndex(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick)
	d := r.begin(source{}, source{}, &contract.BuildPipelineSyncStagesRequest_StageConfig{Name: "ECS_CANARY_CLEAN",
		Index: 4},
		&contract.BuildPipelineSyncStagesRequest_StageConfig{Name: "ECS_PRIMARY_ROLLOUT", Index: 2, Desc: "all of it"})
	if d.back().GetIndex() != 2 || d.back().GetName() != "ECS_ROLLBACK" || len(d.Stages) != 3 ||
		d.Stages[1].GetDesc() != "all of it" {
		t.Errorf("%v", d.Stages)
	}
	_, err := r.plugin.BuildPipelineSyncStages(context.Background(),
		&contract.BuildPipelineSyncStagesRequest{Stages: []*contract.BuildPipelineSyncStagesRequest_StageConfig{{Name: "ECS_NONE"}}})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "ECS_CANARY_ROLLOUT") {
		t.Error(err)
	}
}

// Files that cannot be deployed fail their stage with a sentence, untouched.
func TestBadInputIsAnsweredWithASentence(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	noCanary := strings.Replace(appFile(pipeline), "          canary: {targetGroupArn", "          #", 1)
	for name, c := range map[string]struct {
		target source
		change func(*deployment)
		tells  string
	}{
		"no canary target group": {source{app: noCanary}, nil,
			"the stage needs a canary target group, but the file names none"},
		"a wrong type": {source{app: strings.Replace(appFile(pipeline), "scale: 50", "scale: much", 1)}, nil,
			"scale is a whole percentage"},
		"another plugin's name": {source{app: strings.Replace(appFile(pipeline), "    ecs:\n", "    other:\n", 1)},
			nil, "spec.plugins has no entry ecs"},
		"an unknown stage": {source{app: strings.Replace(appFile(pipeline), "ECS_CANARY_CLEAN",
			"ECS_CANARY_CLEANUP", 1)}, nil, "unknown stage"},
		"service discovery": {source{app: strings.Replace(appFile(pipeline), "      input:\n",
			"      input:\n        accessType: SERVICE_DISCOVERY\n", 1)}, nil,
			"access type SERVICE_DISCOVERY needs a service registry"},
		"code deploy": {source{service: strings.Replace(serviceFile, "EXTERNAL", "CODE_DEPLOY", 1)}, nil,
			"CODE_DEPLOY"},
		"no deploy target": {source{}, func(d *deployment) { d.DeployTargetsByPlugin = nil },
			"has no deploy target of plugin ecs"},
		"unknown deploy target": {source{},
			func(d *deployment) { d.DeployTargetsByPlugin["ecs"].DeployTargets[0] = "mars" },
			"plugin ecs has no deploy target of that name"},
		"no files": {source{}, func(d *deployment) { d.target = nil }, "piped sent no files"},
		"a stage of another": {source{}, func(d *deployment) { d.Stages[0].Name = "WAIT" },
			"this plugin has no such stage"},
	} {
		d := r.begin(source{image: "sim/web:v1"}, c.target, stagesOf()...)
		if c.change != nil {
			c.change(d)
		}
		if log := d.fails(d.Stages[0]); !strings.Contains(log, c.tells) {
			t.Errorf("%s: the log does not tell %q:\n%s", name, c.tells, log)
		}
	}
	r.want(serves("v1"))
}

// The plugin answers within the promised time after its start.
func TestStartsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick)
	best := time.Hour
	for range 5 {
		r.plugin.kill()
		began := time.Now()
		r.plugin = r.launch(r.plugin.entry)
		best = min(best, time.Since(began))
	}
	t.Logf("it took %s", best)
	if *timed && best > 200*time.Millisecond {
		t.Errorf("it took %s", best)
	}
	if size := got(os.Stat(binary))(t).Size(); size > 45_000_000 {
		t.Errorf("the plugin has %d bytes", size)
	}
}

func TestTerminatesAtOnceWhenIdle(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick)
	must(t, r.plugin.cmd.Process.Signal(syscall.SIGTERM))
	<-r.plugin.ended
	if code := r.plugin.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d\n%s", code, r.plugin.out)
	}
}

// Stopped in the middle of a stage, the plugin tells so and ends; the next one goes
// on.
func TestTerminatedInAStage(t *testing.T) {
	t.Parallel()
	r := newRig(t, external)
	d := r.usual()
	s := d.forward()[0]
	r.onLine(s.GetId(), "ecs:CreateTaskSet", func(string) { _ = r.plugin.cmd.Process.Signal(syscall.SIGTERM) })
	if status, _ := d.execute(context.Background(), s); status == contract.StageStatus_STAGE_SUCCESS {
		t.Error("the stage went on")
	}
	<-r.plugin.ended
	if log := r.piped.text(s.GetId()); !strings.Contains(log, "the plugin is being stopped") {
		t.Errorf("log:\n%s", log)
	}
	r.restart()
	d.run(s)
	if state := r.state(); strings.Count(state, "v2") != 1 {
		t.Error(state)
	}
}

func TestFlagsAndEntry(t *testing.T) {
	t.Parallel()
	good := map[string]any{"name": "ecs", "url": "file:///x", "port": 1}
	with := func(key string, value any) string {
		e := map[string]any{key: value}
		for k, v := range good {
			if _, given := e[k]; !given {
				e[k] = v
			}
		}
		return string(got(json.Marshal(e))(t))
	}
	start := func(config string) []string {
		return []string{"start", "--piped-plugin-service", "localhost:1", "--config", config}
	}
	for name, c := range map[string]struct {
		args  []string
		tells string
	}{
		"nothing":         {nil, "usage"},
		"another word":    {[]string{"serve"}, "usage"},
		"no config":       {[]string{"start", "--piped-plugin-service", "localhost:1"}, "--config is not given"},
		"an unknown flag": {append([]string{"--no-such-flag"}, start("{}")...), "no-such-flag"},
		"tolerated flags": {append([]string{"--log-level", "debug"}, append(start("{}"), "--log-encoding=json",
			"--metrics=false", "--grace-period", "1s")...), "has no name"},
		"no JSON": {start("{"), "--config"},
		"no name": {start(with("name", "")), "has no name"},
		"no port": {start(with("port", 0)), "port 0"},
	} {
		out, err := exec.Command(binary, c.args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.tells) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}
