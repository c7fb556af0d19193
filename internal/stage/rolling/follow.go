package rolling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/outside"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/view"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// followDeployment waits until the deployment of the revision has ended. Every end but success is
// an error. A rollback that ECS did by itself is a failure with its cause. Success counts only
// after a read that is newer than our write shows that the revision serves.
func followDeployment(ctx context.Context, s *step.Step, revision, deployment string, after step.WriteProof) error {
	w := watch.New(s.Account, s.Clock)
	now := s.Clock.Now()
	target := watch.Target{Cluster: s.Plan.Cluster, Service: s.Plan.Service, SkipsTraffic: true, Before: callersBefore(s),
		Checks: s.Plan.Callers, Scope: s.Plan.Scope, First: s.Reads.FindService(now), IsResolved: true,
		Planned: step.PlannedTask(s, revision),
		Wanted: verdict.Wanted{Revision: revision, Deployment: deployment, AfterWrite: after.NewestWritten(),
			FromStart: after.IsFresh(now), Deadline: s.Plan.ProgressDeadline, AllowsNoTasks: WantsNoTasks(s)}}
	if !s.Plan.Mode().HasVariants() { // otherwise the last stage bakes
		target.Bake = bakeOf(s)
	}
	if s.Plan.Force && !s.IsRollback() { // a new deployment of the revision: its tasks may have failed in the former one
		var err error
		if target.Deaths, err = s.Client.StoppedOfRevision(ctx, revision); err != nil {
			return err
		}
	}
	of := s.Reads.BeginRead(now)
	var last watch.Update
	err := RunWithChecks(ctx, s, func(ctx context.Context) (err error) {
		ctx, end := context.WithCancelCause(ctx)
		defer end(nil)
		last, err = w.Wait(ctx, target, func(u watch.Update) {
			step.WatchRequests(ctx, s)
			emitProgress(s, u)
			if u.HasReached(s.HandOverAt) {
				s.EmitNote("%s", u.ReachedText(s.HandOverAt))
				end(handOver(s, revision, deployment))
			}
		})
		target = target.BegunAgain()
		return err
	})
	if err != nil {
		return err
	}
	if err := EndError(s, revision, last.Verdict); err != nil {
		HoldLastRead(s, of, last.Read)
		return err
	}
	if err := ShareLastRead(ctx, s, of, last.Read); err != nil {
		return err
	}
	waited, err := awaitServed(ctx, s, revision, after)
	if err != nil || !waited || s.IsRollback() {
		return err
	}
	deaths, err := s.Client.StoppedOfRevision(ctx, revision) // nobody has read them during that wait
	if err != nil {
		return err
	}
	return AwaitStable(ctx, s, revision, 0, deaths)
}

// bakeOf returns the bake time of the application. A rollback has none: it gives callers the former version back.
func bakeOf(s *step.Step) time.Duration {
	if s.IsRollback() {
		return 0
	}
	return s.Plan.Bake
}

// AwaitStable waits until the tasks of the revision that serves have been stable, if one of them stopped by itself since
// it was started, and for the bake time of the application. It waits for nothing if another revision serves, or if no
// task is wanted. deaths are those of tasks of the revision that another variant ran.
func AwaitStable(ctx context.Context, s *step.Step, revision string, bake time.Duration,
	deaths []diagnosis.Stopped) error {
	sent := s.Clock.Now()
	live, err := s.ObserveService(ctx)
	if err != nil || live.Serving() != revision || live.Desired == 0 {
		return err
	}
	target := stableTarget(s, revision, ecs.ServiceRead{State: live, SentAt: sent})
	target.Bake, target.Deaths = bake, deaths
	var last watch.Update
	err = RunWithChecks(ctx, s, func(ctx context.Context) (err error) {
		last, err = watch.New(s.Account, s.Clock).AwaitStable(ctx, target, stableProgress(s))
		target = target.BegunAgain()
		return err
	})
	if err != nil {
		return err
	}
	return EndError(s, revision, last.Verdict)
}

// JudgeStable is AwaitStable after the last stage, when no rule and no share is kept any more: it returns the error that
// says why the revision does not serve with stable tasks. last is the last read.
func JudgeStable(ctx context.Context, s *step.Step, revision string, last ecs.ServiceRead) (judged, err error) {
	var end watch.Update
	doubtful := false
	target := stableTarget(s, revision, last)
	err = runUntilStopped(ctx, s, s.CheckInterrupt, func(ctx context.Context) (err error) {
		end, doubtful, err = watch.New(s.Account, s.Clock).JudgeStable(ctx, target, stableProgress(s))
		return err
	})
	if err != nil || !doubtful {
		return nil, err
	}
	return EndError(s, revision, end.Verdict), nil
}

// stableTarget is the revision whose tasks are to be stable, with the limits of the deployment.
func stableTarget(s *step.Step, revision string, first ecs.ServiceRead) watch.Target {
	return watch.Target{Cluster: s.Plan.Cluster, Service: s.Plan.Service, First: first, Before: callersBefore(s),
		Checks: s.Plan.Callers, Scope: s.Plan.Scope,
		Wanted: verdict.Wanted{Revision: revision, Deadline: s.Plan.ProgressDeadline, AllowsNoTasks: WantsNoTasks(s)}}
}

// callersBefore returns where callers were sent before the deployment, to be compared while ECS rolls it. It is the zero
// value if the stages compare the rules themselves, and in a rollback, which keeps what it finds.
func callersBefore(s *step.Step) (before view.Traffic) {
	if s.IsRollback() || s.Plan.Mode().HasVariants() {
		return before
	}
	return s.Plan.Callers
}

// stableProgress emits what a wait for stable tasks sees.
func stableProgress(s *step.Step) func(watch.Update) {
	return func(u watch.Update) {
		step.EmitReasons(s, sluice.Primary, u.Verdict)
		emitWaiting(s, u)
	}
}

// HoldLastRead holds the last read of a wait that failed for the rollback, unchecked.
func HoldLastRead(s *step.Step, of step.HeldRead, last ecs.ServiceRead) {
	if last.State != nil {
		of.SentAt = last.SentAt
		s.Reads.Hold(step.UncheckedKey, of, last.State)
	}
}

// ShareLastRead holds the last read of a wait for other readers of its poll. It is not held if a
// write or a pause followed the beginning of the wait.
func ShareLastRead(ctx context.Context, s *step.Step, of step.HeldRead, last ecs.ServiceRead) error {
	live, err := step.CheckRead(ctx, s, last.State)
	if err == nil {
		of.SentAt = last.SentAt
		s.Reads.Hold(step.ServiceKey, of, live)
	}
	return err
}

// awaitServed waits until the revision is PRIMARY and the desired number of tasks runs. ECS makes
// no deployment for a changed desired count: the serving deployment is complete during the change. waited reports
// whether the first read did not show that.
func awaitServed(ctx context.Context, s *step.Step, revision string, after step.WriteProof) (waited bool, err error) {
	err = capacity.PollUntilDone(ctx, s, "the desired count", func(ctx context.Context) (capacity.Remaining, error) {
		live, err := s.ReadSharedAfter(ctx, after)
		if err != nil {
			return capacity.Remaining{}, err
		}
		id, serves := live.PrimaryDeployment()
		left := missingTasks(live)
		switch {
		case serves != revision:
			return left, errReplaced(s, id, serves, revision)
		case live.DeploymentInProgress():
			left.Count++
			left.Text = fmt.Sprintf("deployment %s is in progress, %d of %d tasks running", id, live.Running, live.Desired)
		}
		waited = waited || left.Text != ""
		return left, nil
	})
	return waited, err
}

// errReplaced is the error for a followed revision that is no longer PRIMARY.
func errReplaced(s *step.Step, id, serves, revision string) error {
	return &sluice.Error{Op: "deploy " + revision, Resource: s.Client.Resource(), Kind: sluice.Overtaken,
		Err:  fmt.Errorf("another deployment (%s of %s) replaced it", id, serves),
		Next: "run sluice status to see what is running"}
}

// WantsNoTasks reports whether the desired count may be 0: in the file, or, if the file gives none, in the
// snapshot. In a rollback it always may: others may have set it to 0, and the end of the deployment says so.
func WantsNoTasks(s *step.Step) bool {
	if s.IsRollback() {
		return true
	}
	if s.Service != nil && s.Service.Input.DesiredCount != nil {
		return *s.Service.Input.DesiredCount == 0
	}
	return s.Snapshot != nil && s.Snapshot.Service && s.Snapshot.Desired == 0
}

// AwaitCount waits until the desired number of tasks runs.
func AwaitCount(ctx context.Context, s *step.Step) error {
	return capacity.PollUntilDone(ctx, s, "the desired count", func(ctx context.Context) (capacity.Remaining, error) {
		live, err := s.ObserveService(ctx)
		if err != nil {
			return capacity.Remaining{}, err
		}
		return missingTasks(live), nil
	})
}

// missingTasks describes the running tasks if fewer or more than desired run.
func missingTasks(live *ecs.ServiceState) capacity.Remaining {
	off := max(live.Desired-live.Running, live.Running-live.Desired) + live.Pending
	if off == 0 {
		return capacity.Remaining{}
	}
	return capacity.Remaining{Count: off, Of: live.Desired,
		Text: fmt.Sprintf("%d of %d tasks running", live.Running, live.Desired)}
}

// RunWithChecks runs work and polls concurrently for commands, the claim and drift. A failed check
// cancels work with its reason. Drift is handled before work starts again: it begins with a read, and knows nothing of
// the time before.
func RunWithChecks(ctx context.Context, s *step.Step, work func(context.Context) error) error {
	for {
		err := runUntilStopped(ctx, s, func(ctx context.Context) error { return checkContinue(ctx, s) }, work)
		if !errors.Is(err, outside.ErrDriftSeen) {
			return err
		}
		if err := outside.ResolveRuleAndScalingDrift(ctx, s); err != nil {
			return err
		}
	}
}

// runUntilStopped runs work until it ends or a concurrent check fails.
func runUntilStopped(ctx context.Context, s *step.Step, check, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var err error
	clock.All(s.Clock,
		func() {
			err = work(ctx)
			cancel(errWaitOver)
		},
		func() {
			for s.Clock.Sleep(ctx, step.CheckInterval) == nil {
				if err := check(ctx); err != nil {
					cancel(err)
				}
			}
		})
	if err != nil && ctx.Err() != nil {
		if cause := context.Cause(ctx); cause != errWaitOver {
			return step.ErrHalted(s, cause)
		}
	}
	return err
}

var errWaitOver = errors.New("the wait has ended")

// checkContinue returns an error if the wait must end. It also maintains the share and renews the
// claim.
func checkContinue(ctx context.Context, s *step.Step) error {
	if err := s.CheckInterrupt(ctx); err != nil {
		return err
	}
	if err := step.MaintainShare(ctx, s.Access); err != nil {
		return err
	}
	if err := s.Serving.Poll(ctx, s); err != nil {
		return err
	}
	if differs, err := outside.HasDrift(ctx, s); err != nil || differs {
		return cmp.Or(err, outside.ErrDriftSeen)
	}
	if s.Claim.Until.IsZero() || s.Claim.Until.Sub(s.Clock.Now()) >= step.RenewClaimWithin {
		return nil // there is no claim, or it is valid for long enough
	}
	_, err := s.ObserveService(ctx)
	return err
}

// emitProgress emits the state of an ECS deployment as one poll shows it. It emits each change
// once.
func emitProgress(s *step.Step, update watch.Update) {
	v := update.Verdict
	emitReplaced(s, update)
	s.EmitCapacity(sluice.CapacityChanged{Variant: sluice.Primary, Revision: v.Revision, Desired: v.Counts.Desired,
		Pending: v.Counts.Pending,
		Running: v.Counts.Running, Healthy: v.Counts.Healthy, Draining: v.Counts.Draining, Targets: v.Counts.Targets})
	step.EmitReasons(s, sluice.Primary, v)
	emitWaiting(s, update)
}

// emitWaiting emits what an update waits for, each once.
func emitWaiting(s *step.Step, update watch.Update) {
	what := progressText(update)
	if what != "" && update.Verdict.State == verdict.Progressing && what != s.Emitted.Progress {
		s.Emitted.Progress = what
		s.Host.Emit(sluice.Waiting{For: "ECS", Detail: what})
	}
	if update.LostRules != "" && s.IsFirstTime(update.LostRules) {
		s.Host.Emit(update.WaitsForCallers())
	}
}

// emitReplaced emits the counts of the deployments that the followed one replaces.
func emitReplaced(s *step.Step, update watch.Update) {
	if update.Service == nil {
		return
	}
	for _, d := range update.Service.Deployments {
		if d.Revision != update.Verdict.Revision {
			s.EmitCapacity(sluice.CapacityChanged{Variant: sluice.Leaving, TaskSet: d.ID,
				Revision: d.Revision,
				Desired:  d.Desired, Pending: d.Pending, Running: d.Running})
		}
	}
}

// progressText describes progress that task counts do not show: the stages and hooks of an ECS
// deployment strategy, or a rollback.
func progressText(s watch.Update) string {
	if s.Verdict.Withheld != "" {
		return s.Verdict.Withheld
	}
	if s.Service != nil && s.Service.Strategy != "" && s.Service.Strategy != "ROLLING" {
		return strings.Join(s.Verdict.Parts[min(1, len(s.Verdict.Parts)):], "; ")
	}
	return s.Verdict.RollingBack
}

// EndError returns an error for every end but success.
func EndError(s *step.Step, revision string, v verdict.Verdict) error {
	if v.Outcome == sluice.Succeeded && v.Revision == revision {
		return nil
	}
	if v.Outcome == sluice.Succeeded {
		return errReplaced(s, v.Deployment, v.Revision, revision)
	}
	next := step.RemoveRollback(s, v.Next)
	switch {
	case v.NoTasks:
		next = step.RaiseCount(s.Snapshot.Desired)
	case v.Outcome == sluice.Gone:
		next = sluice.NextStep(step.ErrServiceDeleted(s)) // the verdict is for sluice wait
	}
	ended := &sluice.Error{Kind: EndErrorKind(s, v.Outcome), Err: errors.New(v.Detail), Next: next}
	if v.Revision != revision { // else the detail begins with it
		ended.Op, ended.Resource = "roll to "+revision, s.Client.Resource()
	}
	return ended
}

// EndErrorKind is the kind of a stage's error for the outcome of the followed deployment. If AWS has restored the former
// version, a deployment without a canary is rolled back with it.
func EndErrorKind(s *step.Step, o sluice.Outcome) sluice.Kind {
	switch o {
	case sluice.RolledBack:
		if !s.IsRollback() && !s.Plan.Mode().HasVariants() {
			return sluice.Reverted
		}
	case sluice.Superseded:
		return sluice.Overtaken
	case sluice.Stalled, sluice.TimedOut:
		return sluice.Stall
	case sluice.Stopped:
		return sluice.OutsideChange
	case sluice.Gone:
		return sluice.NotFound
	}
	return sluice.Unhealthy
}
