package rehearse

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// pauseTime is how long people need until they answer a hook of type PAUSE.
const pauseTime = time.Minute

// answerPauses continues ECS's deployments that wait at a hook of type PAUSE, from now on, as people do who find the new
// version good.
func (a *Acts) answerPauses(isOver func() bool) {
	if !a.env.Case.World.Strategy.Pauses {
		return
	}
	a.env.Clock.Go(func() {
		for ; !isOver(); a.env.Sleep(pauseTime) {
			for _, r := range a.env.rollouts() {
				for _, h := range r.Hooks() {
					if h.Status == scheduler.HookAwaits {
						a.env.CallECS("ContinueServiceDeployment", map[string]any{"serviceDeploymentArn": a.env.rolloutARN(r),
							"hookId": h.ID, "action": "CONTINUE"})
					}
				}
			}
		}
	})
}

// rollouts returns the deployments of the service by ECS.
func (e *Environment) rollouts() (all []*scheduler.Rollout) {
	e.InWorld(func(tx *world.Tx) {
		if s := e.FindService(tx); s != nil {
			all = scheduler.RolloutsOf(s)
		}
	})
	return all
}

func (e *Environment) rolloutARN(r *scheduler.Rollout) string {
	return e.worldKey().ARN("ecs", "service-deployment/"+e.Case.World.Cluster+"/"+e.Case.World.Service+"/"+r.ID)
}
