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
func (r *Run) retire(ctx context.Context, members ...member) error {
	stands := slices.DeleteFunc(slices.Clone(members), func(m member) bool { return m.Status == "DRAINING" })
	if err := r.empty(ctx, stands...); err != nil {
		return err
	}
	for _, m := range stands {
		if err := r.stays(ctx); err != nil {
			return err
		}
		if err := r.hosting.remove(ctx, m); err != nil {
			return err
		}
	}
	return r.awaitDeleted(ctx, members)
}

// drainMembers scales members to 0 and waits until their connections have ended.
func (r *Run) empty(ctx context.Context, members ...member) error {
	if len(members) == 0 {
		return nil
	}
	if err := r.access.part(ctx, members); err != nil {
		return err
	}
	for _, m := range members {
		if err := r.stays(ctx); err != nil {
			return err
		}
		if err := r.hosting.zero(ctx, m); err != nil {
			return err
		}
	}
	return r.awaitEmpty(ctx, members)
}

// checkStillUnpromoted checks, in a rollback, that no other actor has made a member PRIMARY that is
// about to be removed. The rollback may have waited since its last read.
func (r *Run) stays(ctx context.Context) error {
	if !r.returns() || r.former == nil {
		return nil
	}
	return r.hosting.stays(ctx)
}

// awaitDrained returns when no member has a running task and none of them is still registered as a
// target or instance.
func (r *Run) awaitEmpty(ctx context.Context, members []member) error {
	all := make([]*watched, 0, len(members))
	for _, m := range members {
		all = append(all, watching(m))
	}
	return r.awaitGone(ctx, labelsOf(members)+" to drain", func(ctx context.Context) (string, error) {
		return eachLeft(all, func(w *watched) (string, error) {
			now, err := r.hosting.again(ctx, w.member)
			if err != nil || now == nil {
				return "", err
			}
			left, err := r.access.left(ctx, w)
			if err == nil {
				r.emitLeaving(w.member, *now, left)
			}
			if err != nil || now.Running+now.Pending+left == 0 {
				return "", err
			}
			return fmt.Sprintf("%s running, %s draining", sluice.Plural(now.Running+now.Pending, "task"), sluice.Plural(left, "target")), nil
		})
	})
}

// awaitDeleted returns when AWS no longer lists any of the members.
func (r *Run) awaitDeleted(ctx context.Context, members []member) error {
	if len(members) == 0 {
		return nil
	}
	all := make([]*watched, 0, len(members))
	for _, m := range members {
		all = append(all, watching(m))
	}
	return r.awaitGone(ctx, labelsOf(members)+" to be deleted", func(ctx context.Context) (string, error) {
		return eachLeft(all, func(w *watched) (string, error) {
			now, err := r.hosting.again(ctx, w.member)
			if err != nil || now == nil {
				return "", err
			}
			r.emitLeaving(w.member, *now, 0)
			return fmt.Sprintf("%s, %s running", now.Status, sluice.Plural(now.Running, "task")), nil
		})
	})
}

// joinLabels names members for users: "the task set of canary".
func labelsOf(members []member) string {
	var all []string
	for _, m := range members {
		all = append(all, "the "+m.label)
	}
	return strings.Join(all, " and ")
}

// describeRemaining joins the texts that rest returns for the members that are not yet done. It
// adds the label if there are several members.
func eachLeft(all []*watched, rest func(*watched) (string, error)) (string, error) {
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
func (r *Run) emitLeaving(m, now member, draining int) {
	r.emitOnce(sluice.CapacityChanged{Variant: sluice.Leaving, TaskSet: now.ID, Revision: m.Revision,
		Desired: now.Desired, Pending: now.Pending, Running: now.Running, Draining: draining})
}

// emitCapacityOnce emits the counts of a task set or deployment if they changed.
func (r *Run) emitOnce(c sluice.CapacityChanged) {
	if r.told.leaving[c.TaskSet] == c {
		return
	}
	if r.told.leaving == nil {
		r.told.leaving = map[string]sluice.CapacityChanged{}
	}
	r.told.leaving[c.TaskSet] = c
	r.Host.Emit(c)
}
