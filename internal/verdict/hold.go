package verdict

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
)

// hold is what withholds a success that AWS reports.
type hold struct {
	why  string        // empty: nothing
	time time.Duration // how long time alone will still withhold it; 0: something else does
	next string        // what to do if the wait ends before; empty: wait again
}

// nextAfterTimeout returns what to do about a wait that timed out.
func (h hold) nextAfterTimeout() string {
	return cmp.Or(h.next, "wait again: the deployment continues, and a wait may begin at any time")
}

// concludeSuccess returns end. It returns nil if end is a success and something withholds it. Every success of a service
// that ECS deploys passes here.
func (r *ServiceFollower) concludeSuccess(o Observation, end *conclusion) *conclusion {
	if r.hold = (hold{}); end == nil || end.outcome != sluice.Succeeded {
		r.since.baking = time.Time{}
		return end
	}
	if r.hold = r.holdOf(o, end); r.hold.why != "" {
		return nil
	}
	return end
}

// holdOf returns the first condition of a success that is not met.
func (r *ServiceFollower) holdOf(o Observation, end *conclusion) hold {
	s, stable := o.Service, r.stability.Remaining(o.At)
	missing := !end.isReplaced && !r.followed.allTasksRun(s)
	r.reads.checksTargets = r.reads.checksTargets || missing || stable > 0
	if claimed := r.want.claimHold(s, o.At); claimed.why != "" {
		r.pace.progressAt = o.At
		return claimed
	}
	switch {
	case r.lacksTasks(s):
		return hold{why: "no task is desired"}
	case missing:
		return hold{why: fmt.Sprintf("success needs %s", sluice.Plural(r.followed.wantedTasks(s), "task"))}
	case stable > 0:
		return hold{why: r.stability.Text(o.At), time: stable}
	case r.reads.checksTargets && !end.isReplaced && r.followed.hasSurplus(s):
		return hold{why: "a task was replaced: its end has not been read"}
	case r.reads.isSuspect:
		return hold{why: "a task was replaced: its end has not been read"}
	case r.reads.checksTargets && o.Targets != nil && countHealthy(o.Targets) < r.followed.wantedTasks(s) && !end.isReplaced:
		return hold{why: fmt.Sprintf("%d of %d targets are healthy", countHealthy(o.Targets), r.followed.wantedTasks(s))}
	}
	left := r.want.Bake - trackSince(&r.since.baking, true, o.At)
	if left > 0 && !end.isReplaced {
		return hold{why: fmt.Sprintf("success needs %s of baking", r.want.Bake), time: left}
	}
	return hold{}
}
