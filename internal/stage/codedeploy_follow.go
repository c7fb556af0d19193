package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
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
func (r *Run) followCodeDeploy(ctx context.Context, revision string, d createdDeployment) error {
	last, err := r.watchCodeDeploy(ctx, verdict.Wanted{Revision: revision, Deployment: d.ID,
		JustCreated: d.JustCreated}, nil)
	if err != nil {
		return err
	}
	return r.codeDeployEndError(revision, last)
}

// followStopped waits until a stopped deployment and its rollback have ended.
func (r *Run) followStopped(ctx context.Context, id string) (watch.Update, error) {
	if err := r.loadDeployedRevision(ctx); err != nil {
		return watch.Update{}, err
	}
	return r.watchCodeDeploy(ctx, verdict.Wanted{Deployment: id, ExpectsRollback: true}, nil)
}

// loadDeployedRevision loads the revision of the deployment, for the events about it.
func (r *Run) loadDeployedRevision(ctx context.Context) error {
	name, err := r.registeredName(ctx)
	r.emitted.canaryRevision = name
	return err
}

// followReturn waits until the former revision is deployed once more. If the group waits for a
// person before traffic moves, the deployment is continued: its revision has served before.
func (r *Run) followReturn(ctx context.Context, revision string, d createdDeployment) error {
	if err := r.loadDeployedRevision(ctx); err != nil {
		return err
	}
	continued := false
	last, err := r.watchCodeDeploy(ctx, verdict.Wanted{Revision: revision, Deployment: d.ID,
		JustCreated: d.JustCreated}, func(ctx context.Context, s watch.Update) (err error) {
		if isReady(s) && !continued {
			continued, err = r.codeDeployClient().Continue(ctx, r.makeWrite, plan.ReturnShift, d.ID, false)
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.codeDeployEndError(revision, last)
}

// Continue continues a CodeDeploy deployment that waits for a person before traffic moves.
// continued is false if it does not wait, or if there is none.
func (r *Run) Continue(ctx context.Context) (continued bool, err error) {
	saved, err := r.memory.CodeDeploy.Load(ctx)
	if err != nil || saved.Forward == nil || saved.Forward.Deployment == "" {
		return false, err
	}
	return r.codeDeployClient().Continue(ctx, r.makeWrite, plan.OwnShift, saved.Forward.Deployment, false)
}

func isReady(s watch.Update) bool {
	return s.Code != nil && s.Code.Status == "Ready" || s.CodeTarget != nil && s.CodeTarget.Status == "Ready"
}

// watchCodeDeploy follows a deployment and emits its changes. also, if not nil, acts on each poll;
// its error ends the wait.
func (r *Run) watchCodeDeploy(ctx context.Context, want verdict.Wanted,
	also func(context.Context, watch.Update) error) (last watch.Update, err error) {
	want.Deadline, want.FailAfter, want.AllowsNoTasks = r.Plan.ProgressDeadline, r.failureLimit(), r.wantsNoTasks()
	target := watch.Target{Cluster: r.Plan.Cluster, Service: r.Plan.Service, Wanted: want}
	err = r.runWithChecks(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var acted, err error
		last, err = watch.New(r.Account, r.Clock).Wait(ctx, target, func(s watch.Update) {
			r.emitCodeDeploy(want, s)
			if also == nil || acted != nil {
				return
			}
			if acted = also(ctx, s); acted != nil {
				cancel(acted)
			}
		})
		if acted != nil {
			return acted
		}
		return err
	})
	return last, err
}

// codeDeployEndError returns an error for every end but success.
func (r *Run) codeDeployEndError(revision string, last watch.Update) error {
	v := last.Verdict
	if v.Outcome != sluice.Succeeded {
		return &sluice.Error{Op: "deploy " + revision + " by CodeDeploy", Resource: r.client.Resource(),
			Kind: endErrorKind(v.Outcome), Err: errors.New(v.Detail), Next: r.removeRollback(v.Next)}
	}
	if c := last.CodeTarget; c != nil && c.Green != nil {
		r.emitTaskSet(sluice.Primary, revision, *c.Green)
	} else {
		r.Host.Emit(sluice.CapacityChanged{Variant: sluice.Primary, Revision: revision})
	}
	return nil
}

// emitCodeDeploy emits the state of a CodeDeploy deployment as one poll shows it. It emits each
// change once.
func (r *Run) emitCodeDeploy(want verdict.Wanted, s watch.Update) {
	if c := s.CodeTarget; c != nil {
		r.emitLifecycle(*c)
		if c.Blue != nil {
			before := r.snapshot.Revision
			if want.Revision == before { // in a rollback the new revision is the one that is removed
				before = cmp.Or(r.emitted.canaryRevision, before)
			}
			r.emitTaskSet(sluice.Primary, before, *c.Blue)
		}
		if c.Green != nil {
			r.emitTaskSet(sluice.Canary, cmp.Or(want.Revision, r.emitted.canaryRevision, r.Plan.To), *c.Green)
			r.emitTraffic(int(c.Green.Weight))
		}
	}
	r.emitReasons(sluice.Canary, s.Verdict)
	if waits := isReady(s) || s.Code != nil && s.Code.Terminating; waits && s.Verdict.State == verdict.Progressing &&
		s.Verdict.Detail != r.emitted.progress {
		r.emitted.progress = s.Verdict.Detail
		r.Host.Emit(sluice.Waiting{For: "CodeDeploy", Detail: s.Verdict.Detail})
	}
}

// emitLifecycle emits which lifecycle events began and ended. It does not emit skipped events.
func (r *Run) emitLifecycle(c verdict.CodeTarget) {
	for _, e := range c.Events {
		switch e.Status {
		case "Pending", "Skipped", "Unknown":
			continue
		}
		if r.isFirstTime(fmt.Sprint("lifecycle ", c.Deployment, e.Name, e.Status)) {
			r.Host.Emit(sluice.LifecycleChanged{Deployment: c.Deployment, Name: e.Name, Status: e.Status,
				Message: e.Message})
		}
	}
}

func (r *Run) emitTaskSet(v sluice.Variant, revision string, s verdict.CodeSet) {
	if s.Revision != "" {
		revision = s.Revision
	}
	c := sluice.CapacityChanged{Variant: v, Revision: revision, Desired: s.Desired, Pending: s.Pending,
		Running: s.Running}
	if r.emitted.setCapacity[v] == c {
		return
	}
	if r.emitted.setCapacity == nil {
		r.emitted.setCapacity = map[sluice.Variant]sluice.CapacityChanged{}
	}
	r.emitted.setCapacity[v] = c
	r.Host.Emit(c)
}

func (r *Run) emitTraffic(canary int) {
	if was := r.emitted.canaryShare; was != canary {
		r.emitted.canaryShare = canary
		r.Host.Emit(sluice.TrafficShifted{FromPrimary: 100 - was, FromCanary: was, ToPrimary: 100 - canary,
			ToCanary: canary})
	}
}
