package stage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// retireMembers removes members without losing a request. It stops their traffic, scales them to 0,
// waits until they are empty, deletes them, and waits until AWS no longer lists them. At 0, ECS
// deregisters the targets and stops the tasks once connections have ended. Several members drain at
// the same time.
func (r *Run) retireMembers(ctx context.Context, members ...member) error {
	stands := slices.DeleteFunc(slices.Clone(members), func(m member) bool { return m.Status == "DRAINING" })
	if err := r.drainMembers(ctx, stands...); err != nil {
		return err
	}
	for _, m := range stands {
		if err := r.checkStillUnpromoted(ctx); err != nil {
			return err
		}
		if err := r.hosting.deleteMember(ctx, m); err != nil {
			return err
		}
	}
	return r.awaitDeleted(ctx, members)
}

// drainMembers scales members to 0 and waits until their connections have ended.
func (r *Run) drainMembers(ctx context.Context, members ...member) error {
	if len(members) == 0 {
		return nil
	}
	if err := r.traffic.stopTrafficTo(ctx, members); err != nil {
		return err
	}
	for _, m := range members {
		if err := r.checkStillUnpromoted(ctx); err != nil {
			return err
		}
		if err := r.hosting.scaleToZero(ctx, m); err != nil {
			return err
		}
	}
	return r.awaitDrained(ctx, members)
}

// checkStillUnpromoted checks, in a rollback, that no other actor has made a member PRIMARY that is
// about to be removed. The rollback may have waited since its last read.
func (r *Run) checkStillUnpromoted(ctx context.Context) error {
	if !r.isRollback() || r.snapshot == nil {
		return nil
	}
	return r.hosting.repromotePrimary(ctx)
}

// awaitDrained returns when no member has a running task and none of them is still registered as a
// target or instance.
func (r *Run) awaitDrained(ctx context.Context, members []member) error {
	all := make([]*memberWatch, 0, len(members))
	for _, m := range members {
		all = append(all, newMemberWatch(m))
	}
	return r.pollUntilDone(ctx, joinLabels(members)+" to drain", func(ctx context.Context) (string, error) {
		return describeRemaining(all, func(w *memberWatch) (string, error) {
			now, left, isGone, err := r.readRemaining(ctx, w)
			if err == nil && !isGone {
				r.emitRemoving(w.member, now, left)
			}
			if err != nil || isGone || now.Running+now.Pending+left == 0 {
				return "", err
			}
			return fmt.Sprintf("%s running, %s draining", sluice.Plural(now.Running+now.Pending, "task"),
				sluice.Plural(left, "target")), nil
		})
	})
}

// awaitDeleted returns when AWS no longer lists any of the members.
func (r *Run) awaitDeleted(ctx context.Context, members []member) error {
	if len(members) == 0 {
		return nil
	}
	all := make([]*memberWatch, 0, len(members))
	for _, m := range members {
		all = append(all, newMemberWatch(m))
	}
	return r.pollUntilDone(ctx, joinLabels(members)+" to be deleted", func(ctx context.Context) (string, error) {
		return describeRemaining(all, func(w *memberWatch) (string, error) {
			now, err := r.hosting.refreshMember(ctx, w.member)
			if err != nil || now == nil {
				return "", err
			}
			r.emitRemoving(w.member, *now, 0)
			return fmt.Sprintf("%s, %s running", now.Status, sluice.Plural(now.Running, "task")), nil
		})
	})
}

// joinLabels names members for users: "the task set of canary".
func joinLabels(members []member) string {
	var all []string
	for _, m := range members {
		all = append(all, "the "+m.label)
	}
	return strings.Join(all, " and ")
}

// describeRemaining joins the texts that rest returns for the members that are not yet done. It
// adds the label if there are several members.
func describeRemaining(all []*memberWatch, rest func(*memberWatch) (string, error)) (string, error) {
	var left []string
	for _, w := range all {
		text, err := rest(w)
		if err != nil {
			return "", err
		}
		if text != "" && len(all) > 1 {
			text = w.label + ": " + text
		}
		if text != "" {
			left = append(left, text)
		}
	}
	return strings.Join(left, "; "), nil
}

// emitRemoving emits the counts of a member that is being removed, when they change.
func (r *Run) emitRemoving(m, now member, draining int) {
	r.emitCapacityOnce(sluice.CapacityChanged{Variant: sluice.Leaving, TaskSet: now.ID, Revision: m.Revision,
		Desired: now.Desired, Pending: now.Pending, Running: now.Running, Draining: draining})
}

// emitCapacityOnce emits the counts of a task set or deployment if they changed.
func (r *Run) emitCapacityOnce(c sluice.CapacityChanged) {
	if r.emitted.removing[c.TaskSet] == c {
		return
	}
	if r.emitted.removing == nil {
		r.emitted.removing = map[string]sluice.CapacityChanged{}
	}
	r.emitted.removing[c.TaskSet] = c
	r.Host.Emit(c)
}
