package bluegreen

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/rolling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// createdDeployment is a CodeDeploy deployment, and whether it was created just now.
type createdDeployment struct {
	ID          string
	JustCreated bool
}

// followCodeDeploy waits until the CodeDeploy deployment has ended. Every end but success is an
// error. A rollback that CodeDeploy did by itself is a failure with its cause.
func followCodeDeploy(ctx context.Context, s *step.Step, revision string, d createdDeployment) error {
	of := s.Reads.BeginRead(s.Clock.Now())
	last, err := watchCodeDeploy(ctx, s, verdict.Wanted{Revision: revision, Deployment: d.ID,
		JustCreated: d.JustCreated}, nil)
	if err != nil {
		return err
	}
	if err = codeDeployEndError(s, revision, last); err != nil {
		rolling.HoldLastRead(s, of, last.Read)
	}
	return err
}

// errEventReached ends a wait at the lifecycle event of HandOverAt.
var errEventReached = errors.New("the lifecycle event has succeeded")

// followUntil waits until a lifecycle event of the deployment has succeeded, and hands the deployment over. It is
// [followCodeDeploy] if the deployment ends before.
func followUntil(ctx context.Context, s *step.Step, rev ecs.Revision, d createdDeployment) error {
	last, err := watchCodeDeploy(ctx, s, verdict.Wanted{Revision: rev.Name, Deployment: d.ID,
		JustCreated: d.JustCreated}, func(_ context.Context, update watch.Update) error {
		if update.HasReached(s.HandOverAt) {
			return errEventReached
		}
		return nil
	})
	switch {
	case errors.Is(err, errEventReached):
		s.EmitNote("lifecycle event %s has succeeded", s.HandOverAt)
		return rolling.HandOver(s, rev, d.ID)
	case err != nil:
		return err
	}
	return codeDeployEndError(s, rev.Name, last)
}

// followStopped waits until a stopped deployment and its rollback have ended.
func followStopped(ctx context.Context, s *step.Step, id string, justStopped bool) (watch.Update, error) {
	if err := loadDeployedRevision(ctx, s); err != nil {
		return watch.Update{}, err
	}
	of := s.Reads.BeginRead(s.Clock.Now())
	last, err := watchCodeDeploy(ctx, s, verdict.Wanted{Deployment: id, ExpectsRollback: true, JustStopped: justStopped,
		Deploys: s.Emitted.CanaryRevision}, nil)
	if err != nil || last.Read.State == nil {
		return last, err
	}
	return last, rolling.ShareLastRead(ctx, s, of, last.Read)
}

// loadDeployedRevision loads the revision of the deployment, for the events about it.
func loadDeployedRevision(ctx context.Context, s *step.Step) error {
	name, err := begin.RegisteredName(ctx, s)
	s.Emitted.CanaryRevision = name
	return err
}

// followReturn waits until the former revision is deployed once more. If the group waits for a
// person before traffic moves, the deployment is continued: its revision has served before. So is the wait before the
// tasks that it replaces are stopped: it keeps them for a rollback, and this is one.
func followReturn(ctx context.Context, s *step.Step, revision string, d createdDeployment) error {
	if err := loadDeployedRevision(ctx, s); err != nil {
		return err
	}
	var waited struct{ shift, termination bool } // the waits that were continued
	last, err := watchCodeDeploy(ctx, s, verdict.Wanted{Revision: revision, Deployment: d.ID,
		JustCreated: d.JustCreated, EndsTermination: true}, func(ctx context.Context, update watch.Update) (err error) {
		switch {
		case isReady(update) && !waited.shift:
			waited.shift, err = codeDeployClient(s).Continue(ctx, s.MakeWrite, plan.ReturnShift, d.ID, false)
		case isTerminating(update) && !waited.termination:
			waited.termination, err = endTerminationWait(ctx, s, d.ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err = codeDeployEndError(s, revision, last); sluice.KindOf(err) == sluice.Unhealthy && !waited.termination {
		err = stopBrokenReturn(ctx, s, d.ID, last, err)
	}
	return err
}

// stopBrokenReturn stops a return whose tasks fail, and for which CodeDeploy would wait for up to an hour: meanwhile it
// accepts no other deployment. It stops it only if callers then get the version that serves, or served until now: while
// no request is sent to the tasks that fail, or while all those that they replace run. It returns the error of the
// return.
func stopBrokenReturn(ctx context.Context, s *step.Step, id string, last watch.Update, why error) error {
	t := last.CodeTarget
	if t == nil || t.Green == nil || t.Blue == nil || t.Green.Weight > 0 && t.Blue.Running < max(t.Blue.Desired, 1) {
		return why
	}
	switch end, err := stopAndFollow(ctx, s, plan.OwnShift, id); {
	case sluice.KindOf(err) == sluice.Halted:
		return err
	case err != nil:
		return fmt.Errorf("%w; it was not stopped: %w", why, err)
	case end.isRolledBack:
		return fmt.Errorf("%w; so sluice stopped it, and callers get the version that it was to replace", why)
	}
	return why
}

// endTerminationWait ends the wait before CodeDeploy deletes the replaced task set of a return. Without the
// permission, in a plan of an earlier version, or if the call gets no response, the wait ends by its time.
func endTerminationWait(ctx context.Context, s *step.Step, id string) (ended bool, err error) {
	if !s.Stage.MayWrite(sluice.Write{Operation: "codedeploy:ContinueDeployment", Resource: plan.ReturnShift}) {
		return false, nil
	}
	ended, err = codeDeployClient(s).Continue(ctx, s.MakeWrite, plan.ReturnShift, id, true)
	if errors.Is(err, sluice.ErrNoPermission) || errors.Is(err, sluice.ErrUnanswered) {
		s.EmitWarning("CodeDeploy keeps the replaced tasks for the time of its deployment group: %v", err)
		return true, nil
	}
	return ended, err
}

// Continue continues a CodeDeploy deployment that waits for a person before traffic moves.
// continued is false if it does not wait, or if there is none.
func Continue(ctx context.Context, s *step.Step) (continued bool, err error) {
	saved, err := s.Memory.CodeDeploy.Load(ctx)
	if err != nil || saved.Forward == nil || saved.Forward.Deployment == "" {
		return false, err
	}
	return codeDeployClient(s).Continue(ctx, s.MakeWrite, plan.OwnShift, saved.Forward.Deployment, false)
}

func isReady(s watch.Update) bool {
	return s.Code != nil && s.Code.Status == "Ready" || s.CodeTarget != nil && s.CodeTarget.Status == "Ready"
}

// isTerminating reports whether all traffic is moved, and CodeDeploy keeps the replaced tasks for a while.
func isTerminating(s watch.Update) bool {
	return s.Code != nil && s.Code.Terminating && s.Verdict.State == verdict.Progressing
}

// watchCodeDeploy follows a deployment and emits its changes. also, if not nil, acts on each poll;
// its error ends the wait.
func watchCodeDeploy(ctx context.Context, s *step.Step, want verdict.Wanted,
	also func(context.Context, watch.Update) error) (last watch.Update, err error) {
	if !s.IsRollback() {
		want.Bake = s.Plan.Bake
	}
	want.Deadline, want.AllowsNoTasks = s.Plan.ProgressDeadline, rolling.WantsNoTasks(s)
	target := watch.Target{Cluster: s.Plan.Cluster, Service: s.Plan.Service, Wanted: want, SkipsTraffic: true,
		Planned: step.PlannedTask(s, cmp.Or(want.Revision, want.Deploys))}
	err = rolling.RunWithChecks(ctx, s, func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var acted, err error
		last, err = watch.New(s.Account, s.Clock).Wait(ctx, target, func(update watch.Update) {
			emitCodeDeploy(s, want, update)
			if also == nil || acted != nil {
				return
			}
			if acted = also(ctx, update); acted != nil {
				cancel(acted)
			}
		})
		if target = target.BegunAgain(); acted != nil {
			return acted
		}
		return err
	})
	return last, err
}

// codeDeployEndError returns an error for every end but success.
func codeDeployEndError(s *step.Step, revision string, last watch.Update) error {
	v := last.Verdict
	if v.Outcome != sluice.Succeeded {
		return &sluice.Error{Op: "deploy " + revision + " by CodeDeploy", Resource: s.Client.Resource(),
			Kind: rolling.EndErrorKind(s, v.Outcome), Err: errors.New(v.Detail), Next: step.RemoveRollback(s, v.Next)}
	}
	if c := last.CodeTarget; c != nil && c.Green != nil {
		emitTaskSet(s, sluice.Primary, revision, *c.Green)
	} else {
		s.Host.Emit(sluice.CapacityChanged{Variant: sluice.Primary, Revision: revision})
	}
	return nil
}

// emitCodeDeploy emits the state of a CodeDeploy deployment as one poll shows it. It emits each
// change once.
func emitCodeDeploy(s *step.Step, want verdict.Wanted, update watch.Update) {
	if c := update.CodeTarget; c != nil {
		emitLifecycle(s, *c)
		if c.Blue != nil {
			before := s.Snapshot.Revision
			if want.Revision == before { // in a rollback the new revision is the one that is removed
				before = cmp.Or(s.Emitted.CanaryRevision, before)
			}
			emitTaskSet(s, sluice.Primary, before, *c.Blue)
		}
		if c.Green != nil {
			emitTaskSet(s, sluice.Canary, cmp.Or(want.Revision, s.Emitted.CanaryRevision, s.Plan.To), *c.Green)
			emitTraffic(s, int(c.Green.Weight))
		}
	}
	step.EmitReasons(s, sluice.Canary, update.Verdict)
	if waits := isReady(update) || isTerminating(update); waits && update.Verdict.State == verdict.Progressing &&
		update.Verdict.Detail != s.Emitted.Progress {
		s.Emitted.Progress = update.Verdict.Detail
		s.Host.Emit(sluice.Waiting{For: "CodeDeploy", Detail: update.Verdict.Detail})
	}
}

// emitLifecycle emits which lifecycle events began and ended. It does not emit skipped events.
func emitLifecycle(s *step.Step, c verdict.CodeTarget) {
	for _, e := range c.Events {
		switch e.Status {
		case "Pending", "Skipped", "Unknown":
			continue
		}
		if s.IsFirstTime(fmt.Sprint("lifecycle ", c.Deployment, e.Name, e.Status)) {
			s.Host.Emit(sluice.LifecycleChanged{Deployment: c.Deployment, Name: e.Name, Status: e.Status,
				Message: e.Message})
		}
	}
}

func emitTaskSet(s *step.Step, v sluice.Variant, revision string, set verdict.CodeSet) {
	if set.Revision != "" {
		revision = set.Revision
	}
	s.EmitCapacity(sluice.CapacityChanged{Variant: v, Revision: revision, Desired: set.Desired, Pending: set.Pending,
		Running: set.Running})
}

func emitTraffic(s *step.Step, canary int) {
	if was := s.Emitted.CanaryShare; was != canary {
		s.Emitted.CanaryShare = canary
		s.Host.Emit(sluice.TrafficShifted{FromPrimary: 100 - was, FromCanary: was, ToPrimary: 100 - canary,
			ToCanary: canary})
	}
}
