package stage

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// bridgeFor is how long nothing may move while the former revision is started in the
// canary service: without it, the service is rolled back all the same.
const bridgeFor = 3 * time.Minute

// bridge lets the canary service alone be found before ECS rolls the service itself
// back: ECS stops tasks without waiting for callers who have their addresses. Where the
// new revision is found by now, it is the former one that the canary service runs. What
// cannot be had of it is told, and the rollback goes on.
func (s services) bridge(ctx context.Context) error {
	if !s.Plan.Bridges() || s.former.Revision == "" {
		return nil
	}
	err := s.cross(ctx)
	switch sluice.KindOf(err) {
	case sluice.Unhealthy, sluice.Stall, sluice.OutsideChange, sluice.Conflict:
		s.warn("callers are not led away from the tasks that ECS is about to stop: %v", err)
		return nil
	}
	return err
}

func (s services) cross(ctx context.Context) error {
	held, _, err := saved[int](ctx, s.Host, keyShareHeld)
	if err != nil {
		return err
	}
	exposed, err := s.access.exposed(ctx)
	if err != nil || !exposed && held < 100 {
		return err
	}
	if held < 100 {
		if err := s.startFormer(ctx); err != nil {
			return err
		}
	}
	if exposed {
		if err := s.access.shift(ctx, sluice.CanaryShare(100)); err != nil {
			return err
		}
	}
	return s.access.settle(ctx)
}

// startFormer brings the canary service, which nobody is sent to, to the former
// revision.
func (s services) startFormer(ctx context.Context) error {
	if err := s.withdraw(ctx); err != nil {
		return err
	}
	m, err := s.ensureCanary(ctx, ecs.Revision{ARN: s.former.Revision, Name: s.former.Revision}, 100)
	if err != nil {
		return err
	}
	if err := s.await(ctx, m, verdict.Await(s.Clock.Now(), min(bridgeFor, s.Plan.ProgressDeadline), 0).Twice()); err != nil {
		return err
	}
	s.note("%s is found in the %s while ECS rolls the service back", s.former.Revision, m.label)
	return nil
}

// withdraw takes the canary of the new revision out, if it is found, and returns when
// nobody goes to it any more.
func (s services) withdraw(ctx context.Context) error {
	sends, err := s.access.sends(ctx)
	if err == nil && sends {
		err = s.access.shift(ctx, sluice.CanaryShare(0))
	}
	if err != nil {
		return err
	}
	return s.access.settle(ctx)
}

// exposed: a new task of the primary is found. How tasks of the former revision show
// that they are well is read with it.
func (d *discovered) exposed(ctx context.Context) (bool, error) {
	if err := d.load(ctx); err != nil {
		return false, err
	}
	if err := d.lookAt(ctx); err != nil || len(d.newFound()) == 0 {
		return false, err
	}
	was, err := ecs.Definition(ctx, d.Account.ECS(), d.former.Revision)
	if err == nil {
		d.before = definition.Checked(was.ContainerDefinitions)
	}
	return true, err
}

// newFound are the instances of the primary that are found and not of the revision
// that served before, as of the last look.
func (d *discovered) newFound() (ids []string) {
	found := d.names.Found(sluice.Primary)
	for _, t := range d.tasks {
		if d.isNew(t) && slices.Contains(found, t.ID) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// keepNewOut takes out what ECS goes on registering of the new revision while the
// canary alone is to be found and the service is on its way back.
func (d *discovered) keepNewOut(ctx context.Context) error {
	if err := d.lookAt(ctx); err != nil {
		return err
	}
	found := d.newFound()
	if len(found) == 0 || !d.names.Beside(found) {
		return nil
	}
	d.names.Part(found)
	if err := d.names.Leave(ctx, d.write, sluice.Primary, found); err != nil {
		return err
	}
	return d.moving(ctx)
}
