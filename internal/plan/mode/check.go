package mode

import (
	"fmt"
	"slices"

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
		return &sluice.Error{Op: s.PlanOp(), Resource: p.ServiceResource(),
			Err: fmt.Errorf(format, args...), Next: next}
	}
	if s.ShiftsTraffic() && s.Weights.Canary() > 0 && !begins.Canary.Exists() {
		next := "add ECS_CANARY_ROLLOUT before this stage"
		if slices.ContainsFunc(p.Stages[s.Index:], func(later plan.Stage) bool { return later.StartsCanary() }) {
			next = "move ECS_CANARY_ROLLOUT before this stage"
		}
		return problem(next,
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
		return fmt.Errorf("%s: %w", s.PlanOp(), live.RulesErr)
	}
	return nil
}
