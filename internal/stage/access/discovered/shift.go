package discovered

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/revision"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// SetWeights brings the counts to the weights. It first saves the share, which is maintained from
// then on while tasks come and go.
func (d *traffic) SetWeights(ctx context.Context, to sluice.Weights) error {
	if err := loadSaved(ctx, d); err != nil {
		return err
	}
	if err := startExtraCanaries(ctx, d, to); err != nil {
		return err
	}
	if err := d.step.Memory.Names.Update(ctx, func(n *memory.Names) { n.MaintainedShare = to.Canary() }); err != nil {
		return err
	}
	if err := clearAdopted(ctx, d); err != nil {
		return err
	}
	d.names.ExpectsCanary = to.Canary() > 0
	done, err := shiftCounts(ctx, d, to)
	if err == nil {
		err = cmp.Or(checkStaysDeregistered(ctx, d, to), checkShareReached(d, to))
	}
	if err == nil {
		err = d.names.ForgetDeregistered(ctx)
	}
	if err != nil {
		return err
	}
	d.step.Host.Emit(sluice.TrafficShifted{FromPrimary: done.From.Primary(), FromCanary: done.From.Canary(),
		ToPrimary: to.Primary(), ToCanary: to.Canary(), Rules: []string{d.names.Instances.Registry.ARN}})
	now := d.names.LastRead().Split()
	d.step.EmitNote("%s has %s, %d of canary: %.3g%%", d.names.Instances.Registry.FullName(),
		sluice.Plural(now.Total(), "registered task"), now.Canary, now.Percent())
	return nil
}

// checkStaysDeregistered waits, before the first shift is reported, to see whether ECS registers
// deregistered instances again. AWS does not document it; the ECS scheduler acts within seconds.
func checkStaysDeregistered(ctx context.Context, d *traffic, to sluice.Weights) error {
	saved, err := d.step.Memory.Names.Load(ctx)
	if err != nil || saved.StaysDeregistered || d.names.LastRead().CountDeregistered() == 0 {
		return err
	}
	again := d.returnedCount
	until := d.step.Clock.Now().Add(reregisterWatch)
	for d.step.Clock.Now().Before(until) {
		if err := d.step.PauseFor(ctx, step.CheckInterval); err != nil {
			return err
		}
		if err := reconcileShare(ctx, d, to); err != nil {
			return err
		}
		if d.returnedCount > again {
			again, until = d.returnedCount, d.step.Clock.Now().Add(reregisterWatch)
		}
	}
	return d.step.Memory.Names.Update(ctx, func(n *memory.Names) { n.StaysDeregistered = true })
}

// reregisterWatch is how long checkStaysDeregistered waits for ECS to register instances again.
const reregisterWatch = 30 * time.Second

func shiftCounts(ctx context.Context, d *traffic, to sluice.Weights) (route.Shift, error) {
	for n := 1; ; n++ {
		if err := step.SaveShiftTime(ctx, d.step); err != nil {
			return route.Shift{}, err
		}
		done, err := route.Router{Driver: d.names}.Shift(ctx, d.writeRecord, to)
		if err == nil {
			err = checkShareReached(d, to)
		}
		if saving := step.SaveShiftTime(ctx, d.step); err == nil && saving != nil && len(done.Written) > 0 {
			return done, saving
		}
		if !errors.Is(err, route.ErrMismatch) || n == step.MaxShiftTries {
			return done, err
		}
		if err := d.step.PauseFor(ctx, step.ReadLag); err != nil { // the read may have been stale
			return done, err
		}
	}
}

// RouteAllToPrimary registers every healthy primary task, whichever actor deregistered it, and
// deregisters every instance that any sluice registered.
func (d *traffic) RouteAllToPrimary(ctx context.Context) error {
	if err := loadSaved(ctx, d); err != nil {
		return err
	}
	if err := step.SaveShiftTime(ctx, d.step); err != nil {
		return err
	}
	n, err := d.names.RegisterAllPrimary(ctx, d.writeRecord)
	if err == nil && n > 0 {
		d.step.EmitNote("changed %s under %s: all primary tasks are registered, and no others",
			sluice.Plural(n, "instance"),
			d.names.Instances.Registry.FullName())
		err = step.SaveShiftTime(ctx, d.step)
	}
	return err
}

// checkShareReached returns an error if a variant with a share has no registered task, or a variant
// without a share still has one. This happens when there is no other task to register: the name
// must not be empty.
func checkShareReached(d *traffic, to sluice.Weights) error {
	now := d.names.LastRead().Split()
	noPrimary := d.names.KeepsPrimary && to.Canary() > 0 // its tasks may be unhealthy: the canary takes none away
	if (now.Canary > 0) == (to.Canary() > 0) && (noPrimary || (now.Primary > 0) == (to.Primary() > 0)) {
		return nil
	}
	return &sluice.Error{Op: "shift the share under " + d.names.Instances.Registry.FullName(),
		Resource: d.names.Instances.Registry.ID,
		Kind:     sluice.Conflict,
		Err: fmt.Errorf("requested %s, %w %s of the primary and %s of the canary", to, route.ErrMismatch,
			sluice.Plural(now.Primary, "task"), sluice.Plural(now.Canary, "task")),
		Next: "run sluice status to see the unhealthy tasks; then run sluice resume or sluice rollback"}
}

// startExtraCanaries starts the canary tasks that an exact share needs, if the stage asks for an
// exact share.
func startExtraCanaries(ctx context.Context, d *traffic, to sluice.Weights) error {
	asked := d.step.Stage.Weights != nil && *d.step.Stage.Weights == to
	if !asked || !d.step.Stage.Exact && to.Primary() > 0 {
		return nil
	}
	if _, err := d.names.Routes(ctx); err != nil {
		return err
	}
	pool := d.names.LastRead().Pool()
	want, ok := pool.ExactSplit(to)
	switch {
	case want.Canary <= pool.Canary:
		return nil
	case !d.step.Stage.Exact:
		return &sluice.Error{Op: "register only the canary under " + d.names.Instances.Registry.FullName(),
			Resource: d.names.Instances.Registry.ID, Kind: sluice.Conflict,
			Err: fmt.Errorf("%s of the canary can be registered, and the service now has %d",
				sluice.Plural(pool.Canary, "task"), pool.Desired),
			Next: "roll the canary out again with scale: 100, or set exact: true"}
	case !ok:
		d.step.EmitWarning("exactly %d%% needs %d primary tasks, and the primary now has %d", to.Canary(), want.Primary,
			pool.Primary)
		return nil
	}
	rev, err := revision.Ensure(ctx, d.step)
	if err != nil {
		return err
	}
	standing, err := step.FindVariant(ctx, d.step, sluice.Canary)
	if err != nil || standing == nil {
		return err
	}
	scale := step.PercentForCount(pool.Desired, want.Canary)
	if err := saveCanaryScale(ctx, d, *standing, scale); err != nil {
		return err
	}
	canary, err := d.step.Hosting.EnsureCanary(ctx, rev, scale)
	if err != nil {
		return err
	}
	return capacity.AwaitNewTasks(ctx, d.step, canary, want.Canary)
}
