package rehearse

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// The waits and checks of a CodeDeploy deployment: a person, the functions of hooks, an alarm.

// generateDeployChecks generates these waits and checks. In most cases with a wait for a person, a
// person continues.
func (d *random) generateDeployChecks(c *Case) {
	w := &c.World
	if d.chance(40) {
		w.Ready = d.oneDuration(2*time.Minute, 20*time.Minute, 2*time.Hour)
		if d.chance(75) {
			c.Interventions = append(c.Interventions, Intervention{At: time.Duration(d.upTo(900)) * time.Second,
				Does: ContinueCodeDeploy})
		}
	}
	w.Test, w.Alarm = d.chance(40), d.chance(50)
	events := definition.HookEvents()
	w.Hooks = d.oneOf("", "", agreeHook, agreeHook, "fail:"+d.oneOf(events...), "hang:"+d.oneOf(events...),
		"missing:"+d.oneOf(events...))
}

// addCodeDeployStop adds a person or an alarm that stops a deployment of CodeDeploy.
func (d *random) addCodeDeployStop(c *Case) {
	h := d.randomIntervention(*c)
	h.Does = fmt.Sprintf("%s %d", StopCodeDeploy, d.upTo(1))
	if c.World.Alarm && d.chance(70) {
		h.Does = RaiseAlarm
	}
	c.Interventions = append(c.Interventions, h)
}

// agreeHook is the value of Hooks if all functions succeed. Otherwise one function fails, hangs or
// is missing: "fail:AfterInstall".
const agreeHook = "agree"

// testPort is the port of the test listener, alarmName the alarm of the deployment group.
const (
	testPort  = 8443
	alarmName = "errors"
)

// hookFunction returns the function of a lifecycle event.
func (w World) hookFunction(event string) string {
	if how, at, _ := strings.Cut(w.Hooks, ":"); at == event && (w.Test || event != "AfterAllowTestTraffic") {
		return how
	}
	return agreeHook
}

// hasFailingHook reports whether a function lets no version pass.
func (w World) hasFailingHook() bool {
	for _, e := range definition.HookEvents() {
		if w.Hooks != "" && w.hookFunction(e) != agreeHook {
			return true
		}
	}
	return false
}

// groupOptions returns these options of the deployment group in the world file.
func (w World) groupOptions() (more string) {
	if w.Ready > 0 {
		more += ", ready: " + w.Ready.String()
	}
	if w.Test {
		more += fmt.Sprintf(", testListener: \"%s:%d\"", balancerName(w.Balancer), testPort)
	}
	if w.Alarm {
		more += ", alarms: [" + alarmName + "]"
	}
	return more
}

// writeFunctions writes the functions that hooks may name, without "missing".
func (w World) writeFunctions(line func(string, ...any)) {
	if w.Hooks != "" {
		line("functions:\n  - {name: %s, after: 2s}\n  - {name: fail, result: fail, after: 2s}\n  - {name: hang, "+
			"result: hang}", agreeHook)
	}
}

// writeTestListener writes the test listener, which forwards to the primary group.
func (w World) writeTestListener(line func(string, ...any)) {
	if w.Test {
		line("      - port: %d\n        forward: {%s: 100}", testPort, w.Primary.Name())
	}
}

// writeHooks writes the hooks to the application file.
func (c Case) writeHooks(d *draft) {
	if c.World.Hooks == "" {
		return
	}
	writeLine(&d.app, "appspec:\n  Hooks:")
	for _, e := range definition.HookEvents() {
		writeLine(&d.app, "    - %s: %s", e, c.World.hookFunction(e))
	}
}

// addAlarm adds the alarm to the world, in state OK.
func (f *rehearsal) addAlarm(tx *world.Tx) {
	if f.World.Alarm {
		tx.AddAlarm(&world.Alarm{Name: alarmName, State: world.AlarmOK})
	}
}

func (f *rehearsal) raiseAlarm() {
	f.inWorld(func(tx *world.Tx) {
		if a, ok := tx.Alarms.Get(alarmName); ok {
			tx.SetAlarm(a, world.AlarmRaised, "too many errors", "")
		}
	})
}

// continueShifts continues CodeDeploy deployments whenever they wait, from now on.
func (f *rehearsal) continueShifts() {
	f.clock.Go(func() {
		for ; !f.isOver; f.sleep(7 * time.Second) {
			f.continueReady()
		}
	})
}

func (f *rehearsal) continueReady() {
	for _, id := range f.codeDeployIDs(codedeployer.Ready) {
		f.callAWS("codedeploy", "CodeDeploy_20141006.ContinueDeployment",
			map[string]any{"deploymentId": id, "deploymentWaitType": "READY_WAIT"})
	}
}

// onEventBegan calls do as soon as a CodeDeploy deployment has begun the lifecycle event.
func (f *rehearsal) onEventBegan(event string, do func()) {
	for ; !f.isOver; f.sleep(3 * time.Second) {
		if f.hasEventBegun(event) {
			do()
			return
		}
	}
}

func (f *rehearsal) hasEventBegun(event string) (began bool) {
	f.inWorld(func(tx *world.Tx) {
		for _, d := range codedeployer.StateOf(tx).Deployments.Values() {
			e := d.Event(event)
			began = began || e != nil && !e.Start.IsZero()
		}
	})
	return began
}

// stopCodeDeploy stops the running CodeDeploy deployments, as in the console.
func (f *rehearsal) stopCodeDeploy(back bool) {
	for _, id := range f.codeDeployIDs(codedeployer.InProgress, codedeployer.Ready, codedeployer.Created) {
		f.callAWS("codedeploy", "CodeDeploy_20141006.StopDeployment",
			map[string]any{"deploymentId": id, "autoRollbackEnabled": back})
	}
}

// codeDeployIDs returns the CodeDeploy deployments with one of the statuses.
func (f *rehearsal) codeDeployIDs(statuses ...string) (ids []string) {
	f.inWorld(func(tx *world.Tx) {
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
