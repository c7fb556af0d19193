package rehearse

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/shifter"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// What CodeDeploy asks before it goes on: a person, the functions of hooks, an alarm.

// asks draws it. Who waits for a person has one in most cases.
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

// shiftHand is somebody, or something, that stops a deployment of CodeDeploy.
func (d *draws) shiftHand(c *Case) {
	h := d.hand(*c)
	h.Does = fmt.Sprintf("%s %d", StopShift, d.upTo(1))
	if c.World.Alarm && d.chance(70) {
		h.Does = Alarm
	}
	c.Hands = append(c.Hands, h)
}

// agree is what all functions say; else one of them says something else, or nothing,
// or is not there: "fail:AfterInstall".
const agree = "agree"

// testPort is that of the test listener, alarmName the alarm that the group watches.
const (
	testPort  = 8443
	alarmName = "errors"
)

// hooked is the function of a lifecycle event.
func (w World) hooked(event string) string {
	if how, at, _ := strings.Cut(w.Hooks, ":"); at == event && (w.Test || event != "AfterAllowTestTraffic") {
		return how
	}
	return agree
}

// refused reports whether a function lets no version pass.
func (w World) refused() bool {
	for _, e := range definition.HookEvents() {
		if w.Hooks != "" && w.hooked(e) != agree {
			return true
		}
	}
	return false
}

// asking is what of it stands with the deployment group in the file of the world.
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

// functions are those that hooks may name; "missing" is not among them.
func (w World) functions(line func(string, ...any)) {
	if w.Hooks != "" {
		line("functions:\n  - {name: %s, after: 2s}\n  - {name: fail, result: fail, after: 2s}\n  - {name: hang, result: hang}", agree)
	}
}

// testListener sends test traffic to the group that serves.
func (w World) testListener(line func(string, ...any)) {
	if w.Test {
		line("      - port: %d\n        forward: {%s: 100}", testPort, w.Primary.Name())
	}
}

// hookParts is what the files say of hooks.
func (c Case) hookParts(d *draft) {
	if c.World.Hooks == "" {
		return
	}
	line(&d.app, "appspec:\n  Hooks:")
	for _, e := range definition.HookEvents() {
		line(&d.app, "    - %s: %s", e, c.World.hooked(e))
	}
}

// quiet puts the alarm into the world, which nothing raises yet.
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

// continues lets CodeDeploy go on with whatever waits, from now on.
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

// onceBegun does something as soon as a deployment of ours has begun the lifecycle
// event.
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

// stopShift stops what CodeDeploy is at, as in its console.
func (f *field) stopShift(back bool) {
	for _, id := range f.shifts(shifter.InProgress, shifter.Ready, shifter.Created) {
		f.askOf("codedeploy", "CodeDeploy_20141006.StopDeployment", map[string]any{"deploymentId": id, "autoRollbackEnabled": back})
	}
}

// shifts are the deployments of CodeDeploy with one of the statuses.
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
