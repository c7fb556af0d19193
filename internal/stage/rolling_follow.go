package stage

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
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// followDeployment waits until the deployment of the revision has ended. Every end but success is
// an error. A rollback that ECS did by itself is a failure with its cause. Success counts only
// after a read that is newer than our write shows that the revision serves.
func (r *Run) followDeployment(ctx context.Context, revision, deployment string, after writeProof) error {
	w := watch.New(r.Account, r.Clock)
	now := r.Clock.Now()
	target := watch.Target{Cluster: r.Plan.Cluster, Service: r.Plan.Service,
		First: r.reads.findService(now), IsResolved: !r.isRollback(),
		Wanted: verdict.Wanted{Revision: revision, Deployment: deployment, AfterWrite: after.newestWritten(),
			FromStart: after.isFresh(now), Deadline: r.Plan.ProgressDeadline, FailAfter: r.failureLimit(),
			AllowsNoTasks: r.wantsNoTasks()}}
	of := r.reads.beginRead(now)
	var last watch.Update
	err := r.runWithChecks(ctx, func(ctx context.Context) (err error) {
		last, err = w.Wait(ctx, target, func(u watch.Update) {
			r.watchRequests(ctx)
			r.emitProgress(u)
		})
		return err
	})
	if err != nil {
		return err
	}
	if err := r.endError(revision, last.Verdict); err != nil {
		return err
	}
	if err := r.shareLastRead(ctx, of, last.Read); err != nil {
		return err
	}
	return r.awaitServed(ctx, revision, after)
}

// shareLastRead holds the last read of a wait for other readers of its poll. It is not held if a
// write or a pause followed the beginning of the wait.
func (r *Run) shareLastRead(ctx context.Context, of heldRead, last ecs.ServiceRead) error {
	live, err := r.checkRead(ctx, last.State)
	if err == nil {
		of.sentAt = last.SentAt
		r.reads.hold(serviceKey, of, live)
	}
	return err
}

// awaitServed waits until the revision is PRIMARY and the desired number of tasks runs. ECS makes
// no deployment for a changed desired count: the serving deployment is complete during the change.
func (r *Run) awaitServed(ctx context.Context, revision string, after writeProof) error {
	return r.pollUntilDone(ctx, "the desired count", func(ctx context.Context) (string, error) {
		live, err := r.readSharedAfter(ctx, after)
		if err != nil {
			return "", err
		}
		id, serves := live.PrimaryDeployment()
		switch {
		case serves != revision:
			return "", r.errReplaced(id, serves, revision)
		case live.DeploymentInProgress():
			return fmt.Sprintf("deployment %s is in progress, %d of %d tasks running", id, live.Running, live.Desired),
				nil
		}
		return missingTasks(live), nil
	})
}

// errReplaced is the error for a followed revision that is no longer PRIMARY.
func (r *Run) errReplaced(id, serves, revision string) error {
	return &sluice.Error{Op: "deploy " + revision, Resource: r.client.Resource(), Kind: sluice.Overtaken,
		Err:  fmt.Errorf("another deployment (%s of %s) replaced it", id, serves),
		Next: "run sluice status to see what is running"}
}

// wantsNoTasks reports whether the desired count is 0: in the file, or, if the file gives none and
// in every rollback, in the snapshot.
func (r *Run) wantsNoTasks() bool {
	if !r.isRollback() && r.service != nil && r.service.Input.DesiredCount != nil {
		return *r.service.Input.DesiredCount == 0
	}
	return r.snapshot != nil && r.snapshot.Service && r.snapshot.Desired == 0
}

// failureLimit is the number of failures of one cause that ends the wait; 0 is the default number.
// A rollback has no limit: there is no other version to return to, and AWS starts tasks again.
func (r *Run) failureLimit() int {
	if r.isRollback() {
		return diagnosis.NoLimit
	}
	return 0
}

// awaitCount waits until the desired number of tasks runs.
func (r *Run) awaitCount(ctx context.Context) error {
	return r.pollUntilDone(ctx, "the desired count", func(ctx context.Context) (string, error) {
		live, err := r.observeService(ctx)
		if err != nil {
			return "", err
		}
		return missingTasks(live), nil
	})
}

// missingTasks describes the running tasks if fewer or more than desired run.
func missingTasks(live *ecs.ServiceState) string {
	if live.Running == live.Desired && live.Pending == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d tasks running", live.Running, live.Desired)
}

// checkInterval is the time between two checks during a long wait: of commands by users, the claim
// and drift.
const checkInterval = 2 * time.Second

// runWithChecks runs work and polls concurrently for commands, the claim and drift. A failed check
// cancels work with its reason. Drift is handled before work starts again.
func (r *Run) runWithChecks(ctx context.Context, work func(context.Context) error) error {
	for {
		err := r.runUntilStopped(ctx, work)
		if !errors.Is(err, errDriftSeen) {
			return err
		}
		if err := r.resolveRuleAndScalingDrift(ctx); err != nil {
			return err
		}
	}
}

// runUntilStopped runs work until it ends or a concurrent check fails.
func (r *Run) runUntilStopped(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var err error
	clock.All(r.Clock,
		func() {
			err = work(ctx)
			cancel(errWaitOver)
		},
		func() {
			for r.Clock.Sleep(ctx, checkInterval) == nil {
				if err := r.checkContinue(ctx); err != nil {
					cancel(err)
				}
			}
		})
	if err != nil && ctx.Err() != nil {
		if cause := context.Cause(ctx); cause != errWaitOver {
			return errHalted(r, cause)
		}
	}
	return err
}

var errWaitOver = errors.New("the wait has ended")

// checkContinue returns an error if the wait must end. It also maintains the share and renews the
// claim.
func (r *Run) checkContinue(ctx context.Context) error {
	if err := r.checkInterrupt(ctx); err != nil {
		return err
	}
	if err := r.traffic.maintainShare(ctx); err != nil {
		return err
	}
	if differs, err := r.hasDrift(ctx); err != nil || differs {
		return cmp.Or(err, errDriftSeen)
	}
	if r.claim.until.IsZero() || r.claim.until.Sub(r.Clock.Now()) >= renewClaimWithin {
		return nil // there is no claim, or it is valid for long enough
	}
	_, err := r.observeService(ctx)
	return err
}

// emitProgress emits the state of an ECS deployment as one poll shows it. It emits each change
// once.
func (r *Run) emitProgress(s watch.Update) {
	v := s.Verdict
	c := sluice.CapacityChanged{Variant: sluice.Primary, Revision: v.Revision, Desired: v.Counts.Desired,
		Pending: v.Counts.Pending,
		Running: v.Counts.Running, Healthy: v.Counts.Healthy, Draining: v.Counts.Draining, Targets: v.Counts.Targets}
	r.emitReplaced(s)
	if c != r.emitted.capacity {
		r.emitted.capacity = c
		r.Host.Emit(c)
	}
	r.emitReasons(sluice.Primary, v)
	if what := progressText(s); what != "" && v.State == verdict.Progressing && what != r.emitted.progress {
		r.emitted.progress = what
		r.Host.Emit(sluice.Waiting{For: "ECS", Detail: what})
	}
}

// emitReplaced emits the counts of the deployments that the followed one replaces.
func (r *Run) emitReplaced(s watch.Update) {
	if s.Service == nil {
		return
	}
	for _, d := range s.Service.Deployments {
		if d.Revision != s.Verdict.Revision {
			r.emitCapacityOnce(sluice.CapacityChanged{Variant: sluice.Leaving, TaskSet: d.ID, Revision: d.Revision,
				Desired: d.Desired, Pending: d.Pending, Running: d.Running})
		}
	}
}

// emitReasons emits why tasks fail, their last log lines, and which reads were denied.
func (r *Run) emitReasons(of sluice.Variant, v verdict.Verdict) {
	for _, k := range v.Causes {
		r.emitFailure(sluice.FailureSeen{Variant: of, Cause: k.Text, Count: k.Count, Task: k.Task})
	}
	for _, l := range v.Logs {
		for i, line := range l.Lines {
			if r.isFirstTime(fmt.Sprint("log ", l.Task, " ", i, line)) {
				r.emitNote("log of %s: %s", l.Container, line)
			}
		}
	}
	for _, u := range v.Unread {
		if r.isFirstTime("unread " + u) {
			r.emitWarning("not read: %s", u)
		}
	}
}

// isFirstTime reports whether it is called with this text for the first time.
func (r *Run) isFirstTime(what string) bool {
	if r.emitted.reported[what] {
		return false
	}
	if r.emitted.reported == nil {
		r.emitted.reported = map[string]bool{}
	}
	r.emitted.reported[what] = true
	return true
}

// progressText describes progress that task counts do not show: the stages and hooks of an ECS
// deployment strategy, or a rollback.
func progressText(s watch.Update) string {
	parts := strings.Split(s.Verdict.Detail, "; ")
	if s.Service != nil && s.Service.Strategy != "" && s.Service.Strategy != "ROLLING" {
		return strings.Join(parts[min(1, len(parts)):], "; ")
	}
	for _, p := range parts {
		if strings.HasPrefix(p, "rolling back") {
			return p
		}
	}
	return ""
}

// endError returns an error for every end but success.
func (r *Run) endError(revision string, v verdict.Verdict) error {
	if v.Outcome == sluice.Succeeded && v.Revision == revision {
		return nil
	}
	if v.Outcome == sluice.Succeeded {
		return r.errReplaced(v.Deployment, v.Revision, revision)
	}
	return &sluice.Error{Op: "roll to " + revision, Resource: r.client.Resource(), Kind: endErrorKind(v.Outcome),
		Err: errors.New(v.Detail), Next: r.removeRollback(v.Next)}
}

// endErrorKind is the kind of a stage's error for the outcome of the followed deployment.
func endErrorKind(o sluice.Outcome) sluice.Kind {
	switch o {
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
