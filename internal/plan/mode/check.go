package mode

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// checkStages rejects pipelines that cannot succeed, before the first write.
func checkStages(p *plan.Plan, live plan.AWSState) error {
	for i, s := range p.Stages {
		if err := checkStage(p, s, p.StateBefore(i), live); err != nil {
			return err
		}
	}
	return nil
}

func checkStage(p *plan.Plan, s plan.Stage, begins plan.State, live plan.AWSState) error {
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: fmt.Sprintf("plan stage %d %s", s.Index+1, s.Name), Resource: p.ServiceResource(),
			Err: fmt.Errorf(format, args...), Next: next}
	}
	if s.ShiftsTraffic() && s.Weights.Canary() > 0 && !begins.Canary.Exists() {
		return problem("add ECS_CANARY_ROLLOUT before this stage",
			"the stage sends %d%% to the canary, but no earlier stage starts a canary: these requests would be lost",
			s.Weights.Canary())
	}
	steers := s.StartsCanary() || s.ShiftsTraffic()
	if steers {
		if err := accessRulesOf(p.Access).refuseStage(p, problem); err != nil {
			return err
		}
	}
	if (steers || s.EndsCanary() && !s.ReplacesAll()) && live.RulesErr != nil {
		return fmt.Errorf("plan stage %d %s: %w", s.Index+1, s.Name, live.RulesErr)
	}
	return nil
}
