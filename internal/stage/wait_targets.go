package stage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// maxServiceReadAge is how old the last read of the service may be while the health of targets
// decides a wait. The next poll is two to three seconds later: ten seconds remain between two reads.
const maxServiceReadAge = 8 * time.Second

// targetsDecide reports whether the health of the member's targets decides when it is ready. In a
// rollback, target groups and listeners may be deleted, so every poll reads everything.
func (r *Run) targetsDecide(w *memberWatch) bool {
	byWeights := r.Plan.Access == sluice.ELB && r.Plan.Primary != nil
	return byWeights && w.TargetGroup != "" && !r.isRollback()
}

// observeSameTargets observes a member without a read of the service, if all of its tasks run and
// its targets are as at the last poll. same is false if the service must be read: the last read is
// old, a target changed, a task may have failed, or the next verdict ends the wait.
func (r *Run) observeSameTargets(ctx context.Context, w *memberWatch) (o verdict.Observation, same bool, err error) {
	n, now := w.latest, r.Clock.Now()
	if n.Desired == 0 || n.Running != n.Desired || n.Pending > 0 || w.isComplete || w.signs.Seen() ||
		now.Sub(w.latestAt) > maxServiceReadAge || !r.targetsDecide(w) {
		return o, false, nil
	}
	if err := r.checkInterrupt(ctx); err != nil {
		return o, false, err
	}
	o = verdict.Observation{At: now, Set: &n.TaskSet}
	err = r.traffic.observeTargets(ctx, w, &o)
	return o, err == nil && targetsText(o) == w.targets, err
}

// targetsText is the state of each target of a member, in order.
func targetsText(o verdict.Observation) string {
	var all []string
	for _, t := range o.Targets {
		if o.IsOwnTarget == nil || o.IsOwnTarget(t.ID) {
			all = append(all, fmt.Sprint(t.ID, " ", t.Port, " ", t.State))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// maxDrainingReadAge is the longest time between two reads of draining targets while as many tasks
// run as before: the drain cannot end before they stop.
const maxDrainingReadAge = 10 * time.Second

// readRemaining reads how many tasks and draining targets a member that is being removed still has.
// isGone means that AWS no longer lists the member. It reads what can still end the wait: the tasks
// first, then the targets. The last poll reads both.
func (r *Run) readRemaining(ctx context.Context, w *memberWatch) (now member, left int, isGone bool, err error) {
	if n := w.latest; n.ID != "" && n.Running+n.Pending == 0 && w.left > 0 && r.targetsDecide(w) &&
		r.Clock.Now().Sub(w.latestAt) <= maxServiceReadAge {
		if err := r.checkInterrupt(ctx); err != nil {
			return n, 0, false, err
		}
		if left, err := r.traffic.countDraining(ctx, w); err != nil || left == w.left {
			return n, left, false, err
		}
	}
	at := r.Clock.Now()
	read, err := r.hosting.refreshMember(ctx, w.member)
	if err != nil || read == nil {
		return now, 0, true, err
	}
	same := w.latest.ID == "" || read.Running == w.latest.Running
	w.latest, w.latestAt = *read, at
	if w.leftAt.IsZero() {
		w.leftAt = at // tasks are about to be stopped
	}
	if read.Running+read.Pending > 0 && same && r.targetsDecide(w) && at.Sub(w.leftAt) < maxDrainingReadAge {
		return *read, w.left, false, nil
	}
	w.left, err = r.traffic.countDraining(ctx, w)
	w.leftAt = at
	return *read, w.left, false, err
}
