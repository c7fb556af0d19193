package plan

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// checkStages rejects pipelines that cannot succeed, before the first write.
func (p *Plan) checkStages(stages []appfile.Stage, live AWSState) error {
	canary := false // a canary has been rolled out
	for i, s := range stages {
		if err := p.checkStage(i, s, live, canary); err != nil {
			return err
		}
		switch s.With.(type) {
		case appfile.CanaryRollout:
			canary = true
		case appfile.CanaryClean, appfile.Sync:
			canary = false
		}
	}
	return nil
}

func (p *Plan) checkStage(i int, s appfile.Stage, live AWSState, canary bool) error {
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: fmt.Sprintf("plan stage %d %s", i+1, s.Name), Resource: p.serviceResource(),
			Err: fmt.Errorf(format, args...), Next: next}
	}
	steers := false
	switch with := s.With.(type) {
	case appfile.CanaryRollout:
		steers = true
	case appfile.TrafficRouting:
		steers = true
		if with.Weights.Canary() > 0 && !canary {
			return problem("add ECS_CANARY_ROLLOUT before this stage",
				"the stage sends %d%% to the canary, but no earlier stage starts a canary: these requests would be "+
					"lost",
				with.Weights.Canary())
		}
	}
	if steers && p.Access == sluice.ELB && (p.Canary == nil || p.Canary.ARN == "") {
		return problem("name the target group under input.targetGroups.canary.targetGroupArn",
			"the stage needs a canary target group, but the file names none")
	}
	if (steers || s.Name == appfile.StageCanaryClean) && live.RulesErr != nil {
		return fmt.Errorf("plan stage %d %s: %w", i+1, s.Name, live.RulesErr)
	}
	return nil
}
