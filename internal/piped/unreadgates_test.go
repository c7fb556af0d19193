package piped_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// waitPipeline has a gate beside a WAIT.
const waitPipeline = `
  pipeline:
    stages:
      - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}
      - {name: ECS_TRAFFIC_ROUTING, with: {canary: 20}}
      - {name: WAIT, with: WITH}
      - {name: ECS_PRIMARY_ROLLOUT}
      - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
      - {name: ECS_CANARY_CLEAN}
`

const waitGates = `{"duration":"20m","gates":[{"signal":"errors","max":"10%"}]}`

// waitStages is what piped sends to a plugin that has the stage WAIT.
func waitStages(with string) []*contract.BuildPipelineSyncStagesRequest_StageConfig {
	all := stagesOf()
	all[1].Config = []byte(`{"canary":20}`)
	return append(all, &contract.BuildPipelineSyncStagesRequest_StageConfig{Name: "WAIT", Index: 2, Config: []byte(with)})
}

func waitFile(with string) string { return appFile(strings.Replace(waitPipeline, "WITH", with, 1)) }

// A gate that no plugin evaluates is refused before anything is written. Files without such gates are not.
func TestGatesThatNoPluginEvaluates(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	analysis := func(with string) string {
		return strings.Replace(waitFile(with), "WAIT", "ANALYSIS", 1)
	}
	for name, c := range map[string]struct{ app, tells string }{
		"beside a WAIT": {waitFile(waitGates), "next: set wait: true under config of plugin ecs"},
		"an alarm of ANALYSIS": {analysis(`{"duration":"5m","alarms":["down"]}`),
			"next: set analysis: true under config of plugin ecs"},
		"a signal of ANALYSIS": {analysis(`{"duration":"5m","metrics":[{"signal":"errors","max":"10%"}]}`),
			"another plugin runs stage ANALYSIS"},
		"of the whole file": {waitFile(`{"duration":"5m"}`) + "  gates: [{signal: errors, max: 10%}]\n",
			"the gate is never evaluated: another plugin runs stage WAIT"},
	} {
		d := r.begin(source{image: "sim/web:v1"}, source{app: c.app}, stagesOf()...)
		if log := d.fails(d.Stages[0]); !strings.Contains(log, c.tells) || !strings.Contains(log, "app.pipecd.yaml:") {
			t.Errorf("%s: the log does not tell %q:\n%s", name, c.tells, log)
		}
	}
	r.want(serves("v1"))
	for _, app := range []string{waitFile(`{"duration":"5m"}`),
		analysis(`{"duration":"5m","metrics":[{"provider":"prom","query":"up","expected":{"max":1}}]}`)} {
		d := r.begin(source{image: "sim/web:v1"}, source{app: app}, stagesOf()...)
		d.run(d.forward()[0])
	}
}

// The plugin runs WAIT if its configuration says so: a bad gate fails the stage, and nothing of the new version stays.
func TestGateOfAWaitFailsInsidePiped(t *testing.T) {
	t.Parallel()
	r := newRig(t, external)
	r.configure(`{"wait":true}`)
	r.flow()
	d := r.begin(source{image: "sim/web:v1"}, source{app: waitFile(waitGates), image: "sim/web:v2?errors=60%"},
		waitStages(waitGates)...)
	stages := d.inOrder()
	d.run(stages[0])
	d.run(stages[1])
	if log := d.fails(stages[2]); !strings.Contains(log, "of the canary are bad (") {
		t.Errorf("the log has no counts\n%s", log)
	}
	d.run(d.back())
	r.want(serves("v1"))
}

// A WAIT with good gates takes its whole time, unlike ANALYSIS.
func TestWaitInsidePiped(t *testing.T) {
	t.Parallel()
	r := newRig(t, external)
	r.configure(`{"wait":true}`)
	r.flow()
	app := waitFile(waitGates)
	d := r.begin(source{image: "sim/web:v1"}, source{app: app}, waitStages(waitGates)...)
	for _, s := range d.inOrder() {
		began := r.clock.Now()
		d.run(s)
		if took := r.clock.Now().Sub(began); s.GetName() == "WAIT" && took < 20*time.Minute {
			t.Errorf("WAIT took %s", took)
		}
	}
	r.want(serves("v2"))
	r.noneLost()
}
