package capacity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// MaxServiceReadAge is how old the last read of the service may be while the health of targets
// decides a wait. The next poll is two to three seconds later: ten seconds remain between two reads.
const MaxServiceReadAge = 8 * time.Second

// TargetsDecide reports whether the health of the member's targets decides when it is ready. In a
// rollback, target groups and listeners may be deleted, so every poll reads everything.
func TargetsDecide(s *step.Step, w *step.MemberWatch) bool {
	return hasTargets(s, w) && !s.IsRollback()
}

// hasTargets reports whether the member's tasks are targets of a group with weights.
func hasTargets(s *step.Step, w *step.MemberWatch) bool {
	return s.Plan.Access == sluice.ELB && s.Plan.Primary != nil && w.TargetGroup != ""
}

// observeSameTargets observes a member without a read of the service, if all of its tasks run and
// its targets are as at the last poll. same is false if the service must be read: the last read is
// old, a target changed, a task may have failed, or the next verdict ends the wait.
func observeSameTargets(ctx context.Context, s *step.Step, w *step.MemberWatch) (o verdict.Observation, same bool,
	err error) {
	n, now := w.Latest, s.Clock.Now()
	if n.Desired == 0 || n.Running != n.Desired || n.Pending > 0 || w.IsComplete || w.Signs.Seen() ||
		now.Sub(w.LatestAt) > MaxServiceReadAge || !TargetsDecide(s, w) {
		return o, false, nil
	}
	if err := s.CheckInterrupt(ctx); err != nil {
		return o, false, err
	}
	o = verdict.Observation{At: now, Set: &n.TaskSet}
	err = s.Access.ObserveTargets(ctx, w, &o)
	return o, err == nil && TargetsText(o) == w.Targets, err
}

// TargetsText is the state of each target of a member, in order.
func TargetsText(o verdict.Observation) string {
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
func readRemaining(ctx context.Context, s *step.Step, w *step.MemberWatch) (now step.Member, left int, isGone bool,
	err error) {
	isCounted := false
	if n := w.Latest; n.ID != "" && n.Running+n.Pending == 0 && w.Left > 0 && hasTargets(s, w) &&
		s.Clock.Now().Sub(w.LatestAt) <= MaxServiceReadAge {
		if err := s.CheckInterrupt(ctx); err != nil {
			return n, 0, false, err
		}
		before := w.Left
		if err := countLeft(ctx, s, w); err != nil || w.Left == before {
			return n, w.Left, false, err
		}
		isCounted = true
	}
	at := s.Clock.Now()
	read, err := s.Hosting.RefreshMember(ctx, w.Member)
	if err != nil || read == nil {
		return now, 0, true, err
	}
	same := w.Latest.ID == "" || read.Running == w.Latest.Running
	w.Latest, w.LatestAt = *read, at
	if w.LeftAt.IsZero() {
		w.LeftAt = at // tasks are about to be stopped
	}
	if read.Running+read.Pending > 0 && same && at.Sub(w.LeftAt) < maxDrainingReadAge {
		return *read, w.Left, false, nil
	}
	if !isCounted {
		err = countLeft(ctx, s, w)
	}
	return *read, w.Left, false, err
}

// maxTargetLag is how old the state of a target in a response of AWS may be.
const maxTargetLag = 5 * time.Second

// countLeft counts the draining targets of a member. It reads nothing while the last one that began to drain cannot have
// ended: AWS keeps it for the whole deregistration delay of its group.
func countLeft(ctx context.Context, s *step.Step, w *step.MemberWatch) error {
	at, before := s.Clock.Now(), w.Left
	if before > 0 && at.Before(w.DrainsUntil) {
		return nil
	}
	left, err := s.Access.CountDraining(ctx, w)
	if err != nil {
		return err
	}
	switch noTask := w.Latest.Running+w.Latest.Pending == 0; {
	case left > before && w.LeftRead: // at the first read, they may have begun long before
		w.DrainStart = w.LeftAt
	case left == before && noTask && !w.DrainStart.IsZero():
		w.DrainsUntil = w.DrainStart.Add(delayOf(s.Plan, w.TargetGroup) - maxTargetLag)
	}
	w.Left, w.LeftAt, w.LeftRead = left, at, true
	return nil
}

// delayOf returns the deregistration delay of a target group as the plan read it; 0: it is not known.
func delayOf(p *plan.Plan, group string) time.Duration {
	for _, g := range []*plan.Group{p.Primary, p.Canary} {
		if g != nil && g.ARN == group {
			return g.Drain
		}
	}
	return 0
}
