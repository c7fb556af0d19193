package rehearse

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/shifter"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// The waits and checks of a CodeDeploy deployment: a person, the functions of hooks, an alarm.

// generateDeployChecks generates these waits and checks. In most cases with a wait for a person, a
// person continues.
func (d *draws) asks(c *Case) {
	w := &c.World
	if d.chance(40) {
		w.Ready = d.span(2*time.Minute, 20*time.Minute, 2*time.Hour)
		if d.chance(75) {
			c.Hands = append(c.Hands, Hand{At: time.Duration(d.upTo(900)) * time.Second, Does: Continue})
		}
	}
	w.Test, w.Alarm = d.chance(40), d.chance(50)
	events := definition.HookEvents()
	w.Hooks = d.one("", "", agree, agree, "fail:"+d.one(events...), "hang:"+d.one(events...), "missing:"+d.one(events...))
}

// addCodeDeployStop adds a person or an alarm that stops a deployment of CodeDeploy.
func (d *draws) shiftHand(c *Case) {
	h := d.hand(*c)
	h.Does = fmt.Sprintf("%s %d", StopShift, d.upTo(1))
	if c.World.Alarm && d.chance(70) {
		h.Does = Alarm
	}
	c.Hands = append(c.Hands, h)
}

// agreeHook is the value of Hooks if all functions succeed. Otherwise one function fails, hangs or
// is missing: "fail:AfterInstall".
const agree = "agree"

// testPort is the port of the test listener, alarmName the alarm of the deployment group.
const (
	testPort  = 8443
	alarmName = "errors"
)

// hookFunction returns the function of a lifecycle event.
func (w World) hooked(event string) string {
	if how, at, _ := strings.Cut(w.Hooks, ":"); at == event && (w.Test || event != "AfterAllowTestTraffic") {
		return how
	}
	return agree
}

// hasFailingHook reports whether a function lets no version pass.
func (w World) refused() bool {
	for _, e := range definition.HookEvents() {
		if w.Hooks != "" && w.hooked(e) != agree {
			return true
		}
	}
	return false
}

// groupOptions returns these options of the deployment group in the world file.
func (w World) asking() (more string) {
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
func (w World) functions(line func(string, ...any)) {
	if w.Hooks != "" {
		line("functions:\n  - {name: %s, after: 2s}\n  - {name: fail, result: fail, after: 2s}\n  - {name: hang, result: hang}", agree)
	}
}

// writeTestListener writes the test listener, which forwards to the primary group.
func (w World) testListener(line func(string, ...any)) {
	if w.Test {
		line("      - port: %d\n        forward: {%s: 100}", testPort, w.Primary.Name())
	}
}

// writeHooks writes the hooks to the application file.
func (c Case) hookParts(d *draft) {
	if c.World.Hooks == "" {
		return
	}
	line(&d.app, "appspec:\n  Hooks:")
	for _, e := range definition.HookEvents() {
		line(&d.app, "    - %s: %s", e, c.World.hooked(e))
	}
}

// addAlarm adds the alarm to the world, in state OK.
func (f *field) quiet(tx *world.Tx) {
	if f.World.Alarm {
		tx.AddAlarm(&world.Alarm{Name: alarmName, State: world.AlarmOK})
	}
}

func (f *field) alarm() {
	f.inWorld(func(tx *world.Tx) {
		if a, ok := tx.Alarms.Get(alarmName); ok {
			tx.SetAlarm(a, world.AlarmRaised, "too many errors", "")
		}
	})
}

// continueShifts continues CodeDeploy deployments whenever they wait, from now on.
func (f *field) continues() {
	f.clock.Go(func() {
		for ; !f.over; f.sleep(7 * time.Second) {
			f.letGoOn()
		}
	})
}

func (f *field) letGoOn() {
	for _, id := range f.shifts(shifter.Ready) {
		f.askOf("codedeploy", "CodeDeploy_20141006.ContinueDeployment", map[string]any{"deploymentId": id, "deploymentWaitType": "READY_WAIT"})
	}
}

// onEventBegan calls do as soon as a CodeDeploy deployment has begun the lifecycle event.
func (f *field) onceBegun(event string, do func()) {
	for ; !f.over; f.sleep(3 * time.Second) {
		if f.eventBegan(event) {
			do()
			return
		}
	}
}

func (f *field) eventBegan(event string) (began bool) {
	f.inWorld(func(tx *world.Tx) {
		for _, d := range shifter.StateOf(tx).Deployments.Values() {
			e := d.Event(event)
			began = began || e != nil && !e.Start.IsZero()
		}
	})
	return began
}

// stopCodeDeploy stops the running CodeDeploy deployments, as in the console.
func (f *field) stopShift(back bool) {
	for _, id := range f.shifts(shifter.InProgress, shifter.Ready, shifter.Created) {
		f.askOf("codedeploy", "CodeDeploy_20141006.StopDeployment", map[string]any{"deploymentId": id, "autoRollbackEnabled": back})
	}
}

// codeDeployIDs returns the CodeDeploy deployments with one of the statuses.
func (f *field) shifts(statuses ...string) (ids []string) {
	f.inWorld(func(tx *world.Tx) {
		for _, d := range shifter.StateOf(tx).Deployments.Values() {
			for _, s := range statuses {
				if d.Status == s {
					ids = append(ids, d.ID)
				}
			}
		}
	})
	return ids
}
