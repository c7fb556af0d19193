package verdict

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// codeTasks is what is known of the tasks of the replacement after they were healthy. CodeDeploy does not watch them.
type codeTasks struct {
	stability   Stability
	hold        hold      // what withholds a success
	bakingSince time.Time // since when nothing but the bake withholds it
	installedAt time.Time // when a poll first showed that all tasks were healthy
	serviceAt   time.Time // when the service was read last
	isByService bool      // the last read of the tasks is that of the service, not that of the target
	starts      int       // tasks that ECS had started when the stopped tasks were last read
	surplus     bool      // there were more tasks than are desired, and the end of one has not been read
}

// serviceInterval is the shortest time between two reads of the service while time passes by configuration: its events
// show a task that ECS has replaced.
const serviceInterval = 30 * time.Second

// noteTasks stores how the tasks of the replacement are. died: the poll returned one that stopped by itself.
func (b *CodeDeployFollower) noteTasks(o Observation, died bool) {
	if o.Service != nil || o.Code.Requested.Service { // a read that is denied is not repeated at once
		b.serviceAt = o.At
	}
	b.isByService = o.Service != nil || b.isByService && o.Code.Target == nil
	if b.installedAt.IsZero() && b.main.target.eventSucceeded("Install") {
		b.installedAt = o.At
	}
	running, pending, desired := b.greenCounts()
	b.surplus = desired > 0 && running+pending > desired || b.surplus && !o.Code.Requested.StoppedTasks
	b.stability = b.stability.withChecks(o.Checks).See(o.At, died, running >= desired && pending == 0, b.failures)
	if b.stability.isOver(o.At) {
		b.failures = b.failures.Reset()
	}
}

// greenCounts returns the task counts of the replacement, by the newer of the reads of the service and of the target.
func (b *CodeDeployFollower) greenCounts() (running, pending, desired int) {
	if b.service != nil && (b.isByService || b.main.isOver()) {
		for _, ts := range b.service.TaskSets {
			if ts.ExternalID == b.main.id && ts.Status != "DRAINING" {
				return ts.Running, ts.Pending, ts.Desired
			}
		}
	}
	if g := b.greenSet(); g != nil {
		return g.Running, g.Pending, g.Desired
	}
	return 0, 0, 0
}

// isServiceDue reports whether the service was not read for a while, although the tasks of the replacement have
// been healthy for longer. A wait that began after the deployment does not know for how long.
func (b *CodeDeployFollower) isServiceDue(now time.Time) bool {
	if b.installedAt.IsZero() || b.rollback.id != "" || b.main.isOver() && !b.main.hasSucceeded() {
		return false
	}
	if b.serviceAt.IsZero() && !b.want.JustCreated {
		return true
	}
	age, limit := now.Sub(b.installedAt), serviceInterval
	if !b.main.isOver() {
		limit = min(max(limit, age/5), 4*limit) // most versions that fail do so in their first minutes
	}
	return age >= serviceInterval && now.Sub(b.serviceAt) >= limit
}

// unreadStarts returns how many tasks ECS has started, if that is more than are desired and than when the stopped tasks
// were last read: ECS has replaced a task. Otherwise it is 0.
func (b *CodeDeployFollower) unreadStarts() int {
	if b.service == nil || b.installedAt.IsZero() {
		return 0
	}
	_, _, desired := b.greenCounts()
	if n := diagnosis.CountStarts(b.service.Events, b.main.beganAt()); n > max(desired, b.starts) {
		return n
	}
	return 0
}

// concludeSuccess is that of [ServiceFollower].
func (b *CodeDeployFollower) concludeSuccess(o Observation, end *conclusion) *conclusion {
	was := b.hold.why
	if b.hold = (hold{}); end == nil || end.outcome != sluice.Succeeded {
		return end
	}
	if b.hold = b.holdOf(o); b.hold.why == "" {
		return end
	}
	if was == "" {
		b.progressAt = o.At
	}
	return nil
}

// holdOf returns the first condition of a success that is not met.
func (b *CodeDeployFollower) holdOf(o Observation) hold {
	if claimed := b.want.claimHold(b.service, o.At); claimed.why != "" {
		b.progressAt = o.At
		return claimed
	}
	running, pending, desired := b.greenCounts()
	switch {
	case running < desired || pending > 0:
		return hold{why: fmt.Sprintf("success needs %s", sluice.Plural(desired, "task"))}
	case b.isServiceDue(o.At):
		return hold{why: "the service is read again"}
	case b.unreadStarts() > 0, b.surplus: // ECS starts the replacement of an unhealthy task before it stops that one
		return hold{why: "a task was replaced: its end has not been read"}
	case b.stability.Remaining(o.At) > 0:
		return hold{why: b.stability.Text(o.At), time: b.stability.Remaining(o.At)}
	}
	if left := b.want.Bake - trackSince(&b.bakingSince, true, o.At); left > 0 {
		return hold{why: fmt.Sprintf("success needs %s of baking", b.want.Bake), time: left}
	}
	return hold{}
}
