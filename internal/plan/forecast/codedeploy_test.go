package forecast

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/plan"
)

func TestShiftTakes(t *testing.T) {
	const m = time.Minute
	for config, want := range map[string]time.Duration{
		"CodeDeployDefault.ECSAllAtOnce":                    0,
		"CodeDeployDefault.ECSCanary10Percent5Minutes":      5 * m,
		"CodeDeployDefault.ECSCanary10Percent15Minutes":     15 * m,
		"CodeDeployDefault.ECSLinear10PercentEvery1Minutes": 9 * m,
		"CodeDeployDefault.ECSLinear10PercentEvery3Minutes": 27 * m,
	} {
		if got, ok := shiftDuration(config); got != want || !ok {
			t.Errorf("%s: %s %v, want %s", config, got, ok, want)
		}
	}
	if _, ok := shiftDuration("Half"); ok {
		t.Error("nobody can tell how long Half takes")
	}
}

func TestForecastOfABlueGreenDeployment(t *testing.T) {
	p := &plan.Plan{Controller: plan.ControllerCodeDeploy, Stages: []plan.Stage{{Name: "ECS_SYNC"}},
		CodeDeploy: &plan.CodeDeploy{Deploys: true, ConfigUsed: "CodeDeployDefault.ECSCanary10Percent5Minutes",
			Keeps: 10 * time.Minute}}
	f := New(p, Timings{Start: 30 * time.Second, Tasks: 4}, (*Estimate).CodeDeployTime)
	if f.Took < 16*time.Minute || f.Took > 17*time.Minute {
		t.Errorf("%s: five minutes of shift, ten of keeping, a start", f.Took)
	}
}
