package stage

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/access/balanced"
	"github.com/sluice-ecs/sluice/internal/stage/access/discovered"
	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/bluegreen"
	"github.com/sluice-ecs/sluice/internal/stage/hosting/canaryservice"
	"github.com/sluice-ecs/sluice/internal/stage/hosting/taskset"
	"github.com/sluice-ecs/sluice/internal/stage/rolling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// modeCode is what stages do differently in each way of deploying. TestEveryModeHasCode fails for a
// field that a mode leaves empty.
type modeCode struct {
	hosting  func(*step.Step) step.Hosting
	sync     func(context.Context, *step.Step) error
	rollBack func(context.Context, *step.Step, *ecs.ServiceState) error
	judge    func(*Bake, context.Context, *ecs.ServiceState) (time.Duration, string, error)
	// adoptNote says why an adoption has nothing to remove; empty: it removes the leftovers.
	adoptNote string
}

// codeOf returns the code of a mode. The code of a mode that does not exist is empty.
func codeOf(m plan.Mode) modeCode {
	switch m {
	case plan.ModeTaskSets, plan.ModeTask: // a task has no stage of a service
		return modeCode{hosting: taskset.New, sync: syncService, rollBack: rollBackVariants,
			judge: (*Bake).judgeTaskSets}
	case plan.ModeCanaryService:
		return modeCode{hosting: canaryservice.New, sync: syncService, rollBack: rollBackVariants,
			judge: (*Bake).judgeServices}
	case plan.ModeRolling:
		return modeCode{hosting: canaryservice.New, sync: rolling.Update, rollBack: rollBackRolling,
			judge: (*Bake).judgeRolling,
			adoptNote: "ECS continues the requested deployment; a rolling service has no other leftovers of a " +
				"deployment"}
	case plan.ModeCodeDeploy:
		return modeCode{hosting: taskset.New, sync: bluegreen.Deploy, rollBack: bluegreen.RollBack,
			judge: (*Bake).judgeNothing, adoptNote: "CodeDeploy continues the requested deployment; a service that " +
				"CodeDeploy deploys has no other leftovers of a deployment"}
	}
	return modeCode{}
}

// trafficCodeOf returns how stages open the traffic of an access type; nil if it does not exist.
func trafficCodeOf(a sluice.Access) func(*step.Step) step.Access {
	switch a {
	case sluice.ELB:
		return openTargetGroups
	case sluice.ServiceDiscovery:
		return openName
	case sluice.NoAccess:
		return openNoTraffic
	}
	return nil
}

func openTargetGroups(s *step.Step) step.Access {
	if s.Plan.Primary == nil {
		return step.NoTraffic{}
	}
	return balanced.Open(s)
}

func openName(s *step.Step) step.Access {
	if !s.Plan.CountsShares() || s.Plan.Mode().LeavesNamesToECS() {
		return step.NoTraffic{}
	}
	return discovered.Open(s)
}

func openNoTraffic(*step.Step) step.Access { return step.NoTraffic{} }

// rollBackRolling rolls a service back that ECS rolls without a canary of sluice.
func rollBackRolling(ctx context.Context, s *step.Step, live *ecs.ServiceState) error {
	if err := begin.ClaimAndSuspend(ctx, s, live); err != nil {
		return err
	}
	live, err := step.CheckRead(ctx, s, live)
	if err != nil {
		return err
	}
	s.Reads.MoveHeld(step.UncheckedKey, step.ServiceKey, live)
	return rolling.RollBack(ctx, s)
}

// judgeNothing leaves the verdict to CodeDeploy.
func (b *Bake) judgeNothing(context.Context, *ecs.ServiceState) (time.Duration, string, error) {
	return quietInterval, "", nil
}
