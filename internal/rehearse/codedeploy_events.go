package rehearse

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// addAlarm adds the alarm to the world, in state OK.
func (f *Rehearsal) addAlarm(tx *world.Tx) {
	if f.World.Alarm {
		tx.AddAlarm(&world.Alarm{Name: shape.AlarmName, State: world.AlarmOK})
	}
}

// ContinueShifts continues CodeDeploy deployments whenever they wait, from now on.
func (f *Rehearsal) ContinueShifts() {
	f.Clock.Go(func() {
		for ; !f.isOver; f.Sleep(7 * time.Second) {
			f.ContinueReady()
		}
	})
}

// ContinueReady continues the CodeDeploy deployments that wait now.
func (f *Rehearsal) ContinueReady() {
	for _, id := range f.CodeDeployIDs(codedeployer.Ready) {
		f.CallAWS("codedeploy", "CodeDeploy_20141006.ContinueDeployment",
			map[string]any{"deploymentId": id, "deploymentWaitType": "READY_WAIT"})
	}
}

// onEventBegan calls do as soon as a CodeDeploy deployment has begun the lifecycle event.
func (f *Rehearsal) onEventBegan(event string, do func()) {
	for ; !f.isOver; f.Sleep(3 * time.Second) {
		if f.HasEventBegun(event) {
			do()
			return
		}
	}
}

// HasEventBegun reports whether a CodeDeploy deployment has begun the lifecycle event.
func (f *Rehearsal) HasEventBegun(event string) (began bool) {
	f.InWorld(func(tx *world.Tx) {
		for _, d := range codedeployer.StateOf(tx).Deployments.Values() {
			e := d.Event(event)
			began = began || e != nil && !e.Start.IsZero()
		}
	})
	return began
}

// CodeDeployIDs returns the CodeDeploy deployments with one of the statuses.
func (f *Rehearsal) CodeDeployIDs(statuses ...string) (ids []string) {
	f.InWorld(func(tx *world.Tx) {
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
