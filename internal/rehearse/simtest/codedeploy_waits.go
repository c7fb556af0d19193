package simtest

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/definition/appspec"
	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// The waits and checks of a CodeDeploy deployment: a person, the functions of hooks, an alarm.

// generateDeployChecks generates these waits and checks. In most cases with a wait for a person, a
// person continues.
func (d *random) generateDeployChecks(c *rehearse.Case) {
	w := &c.World
	if d.chance(40) {
		w.Ready = d.oneDuration(2*time.Minute, 20*time.Minute, 2*time.Hour)
		if d.chance(75) {
			c.Interventions = append(
				c.Interventions,
				rehearse.Intervention{At: time.Duration(d.upTo(900)) * time.Second,
					Does: rehearse.ContinueCodeDeploy},
			)
		}
	}
	w.Test, w.Alarm = d.chance(40), d.chance(50)
	events := appspec.HookEvents()
	w.Hooks = d.oneOf("", "", shape.AgreeHook, shape.AgreeHook, "fail:"+d.oneOf(events...), "hang:"+d.oneOf(events...),
		"missing:"+d.oneOf(events...))
}

// addCodeDeployStop adds a person or an alarm that stops a deployment of CodeDeploy.
func (d *random) addCodeDeployStop(c *rehearse.Case) {
	h := d.randomIntervention(*c)
	h.Does = fmt.Sprintf("%s %d", rehearse.StopCodeDeploy, d.upTo(1))
	if c.World.Alarm && d.chance(70) {
		h.Does = rehearse.RaiseAlarm
	}
	c.Interventions = append(c.Interventions, h)
}

// writeHooks writes the hooks to the application file.
func (d *draft) writeHooks(c rehearse.Case) {
	if c.World.Hooks == "" {
		return
	}
	writeLine(&d.app, "appspec:\n  Hooks:")
	for _, e := range appspec.HookEvents() {
		writeLine(&d.app, "    - %s: %s", e, c.World.HookFunction(e))
	}
}

func (f *simulation) raiseAlarm() {
	f.env.InWorld(func(tx *world.Tx) {
		if a, ok := tx.Alarms.Get(shape.AlarmName); ok {
			tx.SetAlarm(a, world.AlarmRaised, "too many errors", "")
		}
	})
}

// stopCodeDeploy stops the running CodeDeploy deployments, as in the console.
func (f *simulation) stopCodeDeploy(back bool) {
	for _, id := range f.env.CodeDeployIDs(codedeployer.InProgress, codedeployer.Ready, codedeployer.Created) {
		f.env.CallAWS("codedeploy", "CodeDeploy_20141006.StopDeployment",
			map[string]any{"deploymentId": id, "autoRollbackEnabled": back})
	}
}
