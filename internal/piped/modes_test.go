package piped

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/plan/mode/modetest"
)

// Every mode is deployed by PipeCD: the saved baseline gives the same stages and writes in every
// stage, and each stage that piped asks for is in the plan.
func TestEveryModeIsDeployedByPipeCD(t *testing.T) {
	modetest.Each(t, func(t *testing.T, s modetest.Sample) {
		s.App.Pipeline = slices.DeleteFunc(s.App.Pipeline, func(stage appfile.Stage) bool {
			return !slices.Contains(ourStages, stage.Name) // another plugin runs it
		})
		want := s.Plan(t)
		var saved baseline
		data, err := json.Marshal(newBaseline(s.Live, len(s.App.Pipeline) == 0))
		if err == nil {
			err = json.Unmarshal(data, &saved)
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := saved.makePlan(s.App)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(p.Stages, want.Stages) || !reflect.DeepEqual(p.Rollback, want.Rollback) {
			t.Errorf("piped's plan is\n%+v\n%+v\nnot\n%+v\n%+v", p.Stages, p.Rollback, want.Stages, want.Rollback)
		}
		run := &targetRun{plugin: &plugin{entry: &pluginEntry{}}, plan: p, baseline: saved, target: &loadedApp{app: s.App}}
		for _, stage := range s.App.Pipeline {
			run.target.pipeline = append(run.target.pipeline, stage.Name)
		}
		asked := slices.Clone(run.target.pipeline)
		if saved.Quick {
			asked = []string{"ECS_SYNC"}
		}
		for _, name := range append(asked, "ECS_ROLLBACK") {
			at := max(0, slices.Index(run.target.pipeline, name))
			run.in = &contract.ExecutePluginInput{Stage: &contract.PipelineStage{Name: name, Index: int32(at)}}
			if run.planIndex() < 0 {
				t.Errorf("the plan has no stage for piped's %s", name)
			}
		}
	})
}
