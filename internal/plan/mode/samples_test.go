package mode_test

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/plan/mode/modetest"
)

// Every mode makes a plan with every access type that it can have. Each stage has words and writes,
// and the new revision needs time.
func TestEveryModePlansEveryStage(t *testing.T) {
	modetest.Each(t, func(t *testing.T, s modetest.Sample) {
		p := s.Plan(t)
		f := mode.NewForecast(p, forecast.Timings{Start: time.Minute, Tasks: 4})
		for i, stage := range p.Stages {
			if mode.StageText(p, stage) == "" || mode.StageSummary(p, stage) == "" {
				t.Errorf("stage %s has no words", stage.Name)
			}
			if len(stage.Writes) == 0 {
				t.Errorf("stage %s has no writes", stage.Name)
			}
			if !stage.NeedsApproval() && f.Stages[i] == 0 {
				t.Errorf("stage %s takes no time", stage.Name)
			}
		}
		if s.Mode.HasService() && (len(p.Rollback.Writes) == 0 || mode.StageText(p, p.Rollback) == "") {
			t.Errorf("the rollback has no words or no writes: %+v", p.Rollback)
		}
		if !p.HasChanges() || p.From != "web:1" || s.Mode.HasVariants() == (len(p.Stages) == 1) {
			t.Errorf("%+v", p)
		}
		if p.CountsShares() && s.Mode.HasVariants() && !hasShare(p) {
			t.Error("no stage has a share by counts")
		}
	})
}

func hasShare(p *plan.Plan) bool {
	for _, s := range p.Stages {
		if s.Share != nil {
			return true
		}
	}
	return false
}
