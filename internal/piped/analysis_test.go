package piped_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// analysisStage is what piped sends of the stage.
const analysisStage = `{"duration":"20m","metrics":[{"signal":"errors","max":"10%"}]}`

// analysisPipeline is the application file of the stages of analysisStages.
const analysisPipeline = `
  pipeline:
    stages:
      - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}
      - {name: ECS_TRAFFIC_ROUTING, with: {canary: 20}}
      - {name: ANALYSIS, with: ` + analysisStage + `}
      - {name: ECS_PRIMARY_ROLLOUT}
      - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
      - {name: ECS_CANARY_CLEAN}
`

// analysisStages is what piped sends to a plugin that has the stage ANALYSIS.
func analysisStages() []*contract.BuildPipelineSyncStagesRequest_StageConfig {
	all := stagesOf()
	all[1].Config = []byte(`{"canary":20}`)
	return append(all, &contract.BuildPipelineSyncStagesRequest_StageConfig{Name: "ANALYSIS", Index: 2,
		Config: []byte(analysisStage)})
}

// analysing starts the plugin with the stage ANALYSIS, under load.
func analysing(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, external)
	r.configure(`{"analysis":true}`)
	r.flow()
	return r
}

// configure starts the plugin again with a configuration of its own.
func (r *rig) configure(config string) {
	r.Helper()
	r.plugin.kill()
	r.plugin = r.launch(strings.Replace(r.entry("dt"), `"name":"ecs"`, `"name":"ecs","config":`+config, 1))
}

// inOrder are the stages of a deployment by their index, as piped runs them.
func (d *deployment) inOrder() []*contract.PipelineStage {
	var all []*contract.PipelineStage
	for i := range int32(6) {
		for _, s := range d.forward() {
			if s.GetIndex() == i {
				all = append(all, s)
			}
		}
	}
	return all
}

// A version whose requests are answered passes ANALYSIS before its time is over, and becomes the primary.
func TestAnalysisPassesInsidePiped(t *testing.T) {
	t.Parallel()
	r := analysing(t)
	app := appFile(analysisPipeline)
	d := r.begin(source{image: "sim/web:v1", app: app}, source{app: app}, analysisStages()...)
	for _, s := range d.inOrder() {
		began := r.clock.Now()
		d.run(s)
		if took := r.clock.Now().Sub(began); s.GetName() == "ANALYSIS" && (took < 3*time.Minute || took > 15*time.Minute) {
			t.Errorf("ANALYSIS took %s", took)
		}
		if log := r.piped.text(s.GetId()); s.GetName() == "ANALYSIS" && !strings.Contains(log, "good") {
			t.Errorf("the log has no verdict\n%s", log)
		}
	}
	r.want(serves("v2"))
	r.noneLost()
}

// A version that fails requests fails its stage with the counts as the cause, and the rollback restores the state
// before.
func TestAnalysisFailsInsidePiped(t *testing.T) {
	t.Parallel()
	r := analysing(t)
	app := appFile(analysisPipeline)
	d := r.begin(source{image: "sim/web:v1", app: app}, source{app: app, image: "sim/web:v2?errors=60%"}, analysisStages()...)
	stages := d.inOrder()
	d.run(stages[0])
	d.run(stages[1])
	log := d.fails(stages[2])
	if !strings.Contains(log, "of the canary are bad (") || !strings.Contains(log, "more than the accepted 10.00 %") {
		t.Errorf("the log has no counts\n%s", log)
	}
	d.run(d.back())
	r.want(serves("v1"))
	r.free()
}
