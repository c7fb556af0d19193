package capacity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// Retire removes members without losing a request. It stops their traffic, scales them to 0,
// waits until they are empty, deletes them, and waits until AWS no longer lists them. At 0, ECS
// deregisters the targets and stops the tasks once connections have ended. Several members drain at
// the same time.
func Retire(ctx context.Context, s *step.Step, members ...step.Member) error {
	stands := slices.DeleteFunc(slices.Clone(members), func(m step.Member) bool { return m.Status == "DRAINING" })
	if err := Drain(ctx, s, stands...); err != nil {
		return err
	}
	for _, m := range stands {
		if err := checkStillUnpromoted(ctx, s); err != nil {
			return err
		}
		if err := s.Hosting.DeleteMember(ctx, m); err != nil {
			return err
		}
	}
	return awaitDeleted(ctx, s, members)
}

// Drain scales members to 0 and waits until their connections have ended.
func Drain(ctx context.Context, s *step.Step, members ...step.Member) error {
	if len(members) == 0 {
		return nil
	}
	if r, ok := s.Access.(step.TaskRecords); ok {
		if err := r.StopTrafficTo(ctx, members); err != nil {
			return err
		}
	}
	for _, m := range members {
		if err := checkStillUnpromoted(ctx, s); err != nil {
			return err
		}
		if err := s.Hosting.ScaleToZero(ctx, m); err != nil {
			return err
		}
	}
	return awaitDrained(ctx, s, members)
}

// checkStillUnpromoted checks, in a rollback, that no other actor has made a member PRIMARY that is
// about to be removed. The rollback may have waited since its last read.
func checkStillUnpromoted(ctx context.Context, s *step.Step) error {
	if !s.IsRollback() || s.Snapshot == nil {
		return nil
	}
	return step.RepromotePrimary(ctx, s.Hosting)
}

// awaitDrained returns when no member has a running task and none of them is still registered as a
// target or instance.
func awaitDrained(ctx context.Context, s *step.Step, members []step.Member) error {
	if err := pauseAfterWrite(ctx, s); err != nil {
		return err
	}
	all := newWatches(members)
	return PollUntilDone(ctx, s, joinLabels(members)+" to drain", func(ctx context.Context) (Remaining, error) {
		return sumRemaining(s, all, func(w *step.MemberWatch) (Remaining, error) {
			now, left, isGone, err := readRemaining(ctx, s, w)
			if err == nil && !isGone {
				emitRemoving(s, w.Member, now, left)
				err = scaleToZeroAgain(ctx, s, w, now)
			}
			tasks := now.Running + now.Pending
			if err != nil || isGone || tasks+left == 0 {
				return Remaining{}, err
			}
			return Remaining{Count: tasks + left, Of: now.Desired,
				Text: fmt.Sprintf("%s running, %s draining", sluice.Plural(tasks, "task"),
					sluice.Plural(left, "target"))}, nil
		})
	})
}

// scaleToZeroAgain scales a member to 0 again that another actor scaled up while it drains. Its tasks
// would never end.
func scaleToZeroAgain(ctx context.Context, s *step.Step, w *step.MemberWatch, now step.Member) error {
	if now.Desired == 0 || s.Clock.Now().Sub(s.WroteAt) < step.UnseenLimit {
		return nil // the read may be older than our write
	}
	if w.Rescaled++; w.Rescaled > step.MaxReassertions {
		return &sluice.Error{Op: "remove the " + now.Label, Resource: now.ResourceName(), Kind: sluice.OutsideChange,
			Err: fmt.Errorf("it has %s again, although sluice scaled it to 0 %d times",
				sluice.Plural(now.Desired, "desired task"), step.MaxReassertions+1),
			Next: "find the process or person that scales it, then run sluice rollback"}
	}
	s.EmitWarning("external change: the %s was scaled to %s while sluice removes it. sluice scales it to 0 again",
		now.Label, sluice.Plural(now.Desired, "task"))
	return s.Hosting.ScaleToZero(ctx, now)
}

// awaitDeleted returns when AWS no longer lists any of the members.
func awaitDeleted(ctx context.Context, s *step.Step, members []step.Member) error {
	if len(members) == 0 {
		return nil
	}
	if err := pauseAfterWrite(ctx, s); err != nil {
		return err
	}
	all := newWatches(members)
	return PollUntilDone(ctx, s, joinLabels(members)+" to be deleted", func(ctx context.Context) (Remaining, error) {
		return sumRemaining(s, all, func(w *step.MemberWatch) (Remaining, error) {
			now, err := s.Hosting.RefreshMember(ctx, w.Member)
			if err != nil || now == nil {
				return Remaining{}, err
			}
			emitRemoving(s, w.Member, *now, 0)
			return Remaining{Count: 1 + now.Running,
				Text: fmt.Sprintf("%s, %s running", now.Status, sluice.Plural(now.Running, "task"))}, nil
		})
	})
}

func newWatches(members []step.Member) []*step.MemberWatch {
	all := make([]*step.MemberWatch, 0, len(members))
	for _, m := range members {
		all = append(all, step.NewMemberWatch(m))
	}
	return all
}

// joinLabels names members for users: "the task set of canary".
func joinLabels(members []step.Member) string {
	var all []string
	for _, m := range members {
		all = append(all, "the "+m.Label)
	}
	return strings.Join(all, " and ")
}

// rolledBackPoll is the least time between polls while a rollback removes members: callers have the former version
// already, and a task that stops is removed after seconds.
const rolledBackPoll = 4 * time.Second

// pauseAfterWrite waits, in a rollback, until a poll may show what was just written.
func pauseAfterWrite(ctx context.Context, s *step.Step) error {
	if !s.IsRollback() || s.Clock.Now().Sub(s.WroteAt) >= time.Second {
		return nil
	}
	return s.PauseFor(ctx, rolledBackPoll)
}

// sumRemaining adds up what rest returns for the members that are not yet done. Each text has a label
// if there are several members.
func sumRemaining(s *step.Step, all []*step.MemberWatch,
	rest func(*step.MemberWatch) (Remaining, error)) (Remaining, error) {
	var sum Remaining
	var texts []string
	for _, w := range all {
		left, err := rest(w)
		if err != nil {
			return Remaining{}, err
		}
		sum.Count, sum.Of = sum.Count+left.Count, sum.Of+left.Of
		if left.Text != "" && len(all) > 1 {
			left.Text = w.Label + ": " + left.Text
		}
		if left.Text != "" {
			texts = append(texts, left.Text)
		}
	}
	if sum.Text = strings.Join(texts, "; "); s.IsRollback() {
		sum.Least = rolledBackPoll
	}
	return sum, nil
}

// emitRemoving emits the counts of a member that is being removed, when they change.
func emitRemoving(s *step.Step, m, now step.Member, draining int) {
	s.EmitCapacity(sluice.CapacityChanged{Variant: sluice.Leaving, TaskSet: now.ID, Revision: m.Revision,
		Desired: now.Desired, Pending: now.Pending, Running: now.Running, Draining: draining})
}
