package stage

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// modeCode is what stages do differently in each way of deploying. TestEveryModeHasCode fails for a
// field that a mode leaves empty.
type modeCode struct {
	hosting  func(*Run) variantHosting
	sync     func(*Run, context.Context) error
	rollBack func(*Run, context.Context, *ecs.ServiceState) error
	judge    func(*Bake, context.Context, *ecs.ServiceState) (time.Duration, string, error)
	// adoptNote says why an adoption has nothing to remove; empty: it removes the leftovers.
	adoptNote string
}

// codeOf returns the code of a mode. The code of a mode that does not exist is empty.
func codeOf(m plan.Mode) modeCode {
	switch m {
	case plan.ModeTaskSets, plan.ModeTask: // a task has no stage of a service
		return modeCode{hosting: (*Run).newTaskSets, sync: (*Run).syncService, rollBack: (*Run).rollBackVariants,
			judge: (*Bake).judgeTaskSets}
	case plan.ModeCanaryService:
		return modeCode{hosting: (*Run).openServices, sync: (*Run).syncService, rollBack: (*Run).rollBackVariants,
			judge: (*Bake).judgeServices}
	case plan.ModeRolling:
		return modeCode{hosting: (*Run).openServices, sync: (*Run).rollService, rollBack: (*Run).rollBackRolling,
			judge: (*Bake).judgeRolling, adoptNote: "ECS continues the requested deployment; a rolling service has " +
				"no other leftovers of a deployment"}
	case plan.ModeCodeDeploy:
		return modeCode{hosting: (*Run).newTaskSets, sync: (*Run).deployByCodeDeploy,
			rollBack: (*Run).rollBackCodeDeploy, judge: (*Bake).judgeNothing,
			adoptNote: "CodeDeploy continues the requested deployment; a service that CodeDeploy deploys has no other " +
				"leftovers of a deployment"}
	}
	return modeCode{}
}

// trafficCodeOf returns how stages open the traffic of an access type; nil if it does not exist.
func trafficCodeOf(a sluice.Access) func(*Run) trafficProvider {
	switch a {
	case sluice.ELB:
		return (*Run).openTargetGroups
	case sluice.ServiceDiscovery:
		return (*Run).openName
	case sluice.NoAccess:
		return (*Run).openNoTraffic
	}
	return nil
}

func (r *Run) newTaskSets() variantHosting {
	return taskSets{Run: r, sets: ecs.TaskSets{Service: r.client, Template: *r.service.Input}}
}

func (r *Run) openServices() variantHosting { return r.newServices() }

// openTraffic returns the traffic provider for the plan's access type.
func (r *Run) openTraffic() trafficProvider {
	if open := trafficCodeOf(r.Plan.Access); open != nil {
		return open(r)
	}
	return noTraffic{}
}

func (r *Run) openTargetGroups() trafficProvider {
	if r.Plan.Primary == nil {
		return noTraffic{}
	}
	return r.openALBTraffic()
}

func (r *Run) openName() trafficProvider {
	if !r.Plan.CountsShares() || r.Plan.Mode().LeavesNamesToECS() {
		return noTraffic{}
	}
	return r.openCloudMapTraffic()
}

func (r *Run) openNoTraffic() trafficProvider { return noTraffic{} }

// rollBackRolling rolls a service back that ECS rolls without a canary of sluice.
func (r *Run) rollBackRolling(ctx context.Context, live *ecs.ServiceState) error {
	if err := r.claimAndSuspend(ctx, live); err != nil {
		return err
	}
	return r.rollBackService(ctx)
}

// judgeNothing leaves the verdict to CodeDeploy.
func (b *Bake) judgeNothing(context.Context, *ecs.ServiceState) (time.Duration, string, error) {
	return quietInterval, "", nil
}
