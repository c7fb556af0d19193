package rehearse

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// ContinueShifts continues CodeDeploy deployments whenever they wait, from now on.
func (a *Acts) ContinueShifts() {
	a.env.Clock.Go(func() {
		for ; !a.env.IsOver; a.env.Sleep(7 * time.Second) {
			a.ContinueReady()
		}
	})
}

// ContinueReady continues the CodeDeploy deployments that wait now.
func (a *Acts) ContinueReady() {
	for _, id := range a.env.CodeDeployIDs(codedeployer.Ready) {
		a.env.CallAWS("codedeploy", "CodeDeploy_20141006.ContinueDeployment",
			map[string]any{"deploymentId": id, "deploymentWaitType": "READY_WAIT"})
	}
}

// onEventBegan calls do as soon as a CodeDeploy deployment has begun the lifecycle event.
func (a *Acts) onEventBegan(event string, do func()) {
	for ; !a.env.IsOver; a.env.Sleep(3 * time.Second) {
		if a.env.HasEventBegun(event) {
			do()
			return
		}
	}
}

// HasEventBegun reports whether a deployment has begun the lifecycle event of CodeDeploy, or the stage of ECS's own
// strategy.
func (e *Environment) HasEventBegun(event string) (began bool) {
	for _, r := range e.rollouts() {
		began = began || r.Stage() == event
	}
	e.InWorld(func(tx *world.Tx) {
		for _, d := range codedeployer.StateOf(tx).Deployments.Values() {
			e := d.Event(event)
			began = began || e != nil && !e.Start.IsZero()
		}
	})
	return began
}

// CodeDeployIDs returns the CodeDeploy deployments with one of the statuses.
func (e *Environment) CodeDeployIDs(statuses ...string) (ids []string) {
	e.InWorld(func(tx *world.Tx) {
		for _, d := range codedeployer.StateOf(tx).Deployments.Values() {
			for _, s := range statuses {
				if d.Status == s {
					ids = append(ids, d.ID)
				}
			}
		}
	})
	return ids
}
