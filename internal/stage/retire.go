package stage

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// retire takes a member away without losing a request: nobody is sent to it any
// more, capacity to zero (ECS deregisters targets and stops the tasks once
// connections have ended), wait until nothing is left, delete, wait until AWS
// lists it no more.
func (r *Run) retire(ctx context.Context, m member) error {
	if m.Status != "DRAINING" {
		if err := r.empty(ctx, m); err != nil {
			return err
		}
		if err := r.stays(ctx); err != nil {
			return err
		}
		if err := r.hosting.remove(ctx, m); err != nil {
			return err
		}
	}
	return r.awaitDeleted(ctx, m)
}

// empty takes a member's capacity to zero and waits until its connections have
// ended.
func (r *Run) empty(ctx context.Context, m member) error {
	if err := r.access.part(ctx, m); err != nil {
		return err
	}
	if err := r.stays(ctx); err != nil {
		return err
	}
	if err := r.hosting.zero(ctx, m); err != nil {
		return err
	}
	return r.awaitEmpty(ctx, m)
}

// stays looks, in a rollback, whether somebody made what is about to go PRIMARY
// meanwhile: waits lie between the last look and the write.
func (r *Run) stays(ctx context.Context) error {
	if !r.returns() || r.former == nil {
		return nil
	}
	return r.hosting.stays(ctx)
}

// awaitEmpty returns when the member has no running task and nothing of it is
// left in the way that requests take.
func (r *Run) awaitEmpty(ctx context.Context, m member) error {
	w := watching(m)
	return r.awaitGone(ctx, "the "+m.label+" to drain", func(ctx context.Context) (string, error) {
		now, err := r.hosting.again(ctx, m)
		if err != nil || now == nil {
			return "", err
		}
		left, err := r.access.left(ctx, w)
		if err != nil || now.Running+now.Pending+left == 0 {
			return "", err
		}
		return fmt.Sprintf("%s running, %s draining", sluice.Plural(now.Running+now.Pending, "task"), sluice.Plural(left, "target")), nil
	})
}

// awaitDeleted returns when AWS lists the member no more.
func (r *Run) awaitDeleted(ctx context.Context, m member) error {
	return r.awaitGone(ctx, "the "+m.label+" to be deleted", func(ctx context.Context) (string, error) {
		now, err := r.hosting.again(ctx, m)
		if err != nil || now == nil {
			return "", err
		}
		return fmt.Sprintf("%s, %s running", now.Status, sluice.Plural(now.Running, "task")), nil
	})
}
