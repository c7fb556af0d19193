package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// createdDeployment is a CodeDeploy deployment, and whether it was created just now.
type made struct {
	ID    string
	Fresh bool
}

// followCodeDeploy waits until the CodeDeploy deployment has ended. Every end but success is an
// error. A rollback that CodeDeploy did by itself is a failure with its cause.
func (r *Run) followShift(ctx context.Context, revision string, d made) error {
	last, err := r.watchShift(ctx, verdict.Wanted{Revision: revision, Deployment: d.ID, Fresh: d.Fresh}, nil)
	if err != nil {
		return err
	}
	return r.shiftEnded(revision, last)
}

// followStopped waits until a stopped deployment and its rollback have ended.
func (r *Run) followBack(ctx context.Context, id string) (watch.Seen, error) {
	if err := r.recallRevision(ctx); err != nil {
		return watch.Seen{}, err
	}
	return r.watchShift(ctx, verdict.Wanted{Deployment: id, Returning: true}, nil)
}

// loadDeployedRevision loads the revision of the deployment, for the events about it.
func (r *Run) recallRevision(ctx context.Context) error {
	rev, _, err := saved[ecs.Revision](ctx, r.Host, KeyRevision)
	r.told.canary = cmp.Or(rev.Name, r.Plan.To)
	return err
}

// followReturn waits until the former revision is deployed once more. If the group waits for a
// person before traffic moves, the deployment is continued: its revision has served before.
func (r *Run) followReturn(ctx context.Context, revision string, d made) error {
	if err := r.recallRevision(ctx); err != nil {
		return err
	}
	continued := false
	last, err := r.watchShift(ctx, verdict.Wanted{Revision: revision, Deployment: d.ID, Fresh: d.Fresh}, func(ctx context.Context, s watch.Seen) (err error) {
		if isReady(s) && !continued {
			continued, err = r.deployer().Continue(ctx, r.act, plan.ReturnShift, d.ID, false)
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.shiftEnded(revision, last)
}

// Continue continues a CodeDeploy deployment that waits for a person before traffic moves.
// continued is false if it does not wait, or if there is none.
func (r *Run) Continue(ctx context.Context) (continued bool, err error) {
	was, _, err := saved[shifted](ctx, r.Host, keyShift)
	if err != nil || was.Deployment == "" {
		return false, err
	}
	return r.deployer().Continue(ctx, r.act, plan.OurShift, was.Deployment, false)
}

func isReady(s watch.Seen) bool {
	return s.Code != nil && s.Code.Status == "Ready" || s.Course != nil && s.Course.Status == "Ready"
}

// watchCodeDeploy follows a deployment and emits its changes. also, if not nil, acts on each poll;
// its error ends the wait.
func (r *Run) watchShift(ctx context.Context, want verdict.Wanted, also func(context.Context, watch.Seen) error) (last watch.Seen, err error) {
	want.Deadline, want.FailAfter, want.Empty = r.Plan.ProgressDeadline, r.patience(), r.idle()
	target := watch.Target{Cluster: r.Plan.Cluster, Service: r.Plan.Service, Wanted: want}
	err = r.beside(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var acted, err error
		last, err = watch.New(r.Account, r.Clock).Wait(ctx, target, func(s watch.Seen) {
			r.seenShift(want, s)
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
func (r *Run) shiftEnded(revision string, last watch.Seen) error {
	v := last.Verdict
	if v.Outcome != sluice.Succeeded {
		next := v.Next
		if r.Plan.AutoRollback {
			next, _, _ = strings.Cut(next, "; and end the deployment: ") // the rollback ends it
		}
		return &sluice.Error{Op: "deploy " + revision + " by CodeDeploy", Resource: r.hand.Resource(), Kind: kindOf(v.Outcome), Err: errors.New(v.Detail), Next: next}
	}
	if c := last.Course; c != nil && c.Green != nil {
		r.tellSet(sluice.Primary, revision, *c.Green)
	} else {
		r.Host.Emit(sluice.CapacityChanged{Variant: sluice.Primary, Revision: revision})
	}
	return nil
}

// emitCodeDeploy emits the state of a CodeDeploy deployment as one poll shows it. It emits each
// change once.
func (r *Run) seenShift(want verdict.Wanted, s watch.Seen) {
	if c := s.Course; c != nil {
		r.tellLifecycle(*c)
		if c.Blue != nil {
			before := r.former.Revision
			if want.Revision == before { // in a rollback the new revision is the one that is removed
				before = cmp.Or(r.told.canary, before)
			}
			r.tellSet(sluice.Primary, before, *c.Blue)
		}
		if c.Green != nil {
			r.tellSet(sluice.Canary, cmp.Or(want.Revision, r.told.canary, r.Plan.To), *c.Green)
			r.tellTraffic(int(c.Green.Weight))
		}
	}
	r.tellReasons(sluice.Canary, s.Verdict)
	if waits := isReady(s) || s.Code != nil && s.Code.Terminating; waits && s.Verdict.State == verdict.Progressing && s.Verdict.Detail != r.told.course {
		r.told.course = s.Verdict.Detail
		r.Host.Emit(sluice.Waiting{For: "CodeDeploy", Detail: s.Verdict.Detail})
	}
}

// emitLifecycle emits which lifecycle events began and ended. It does not emit skipped events.
func (r *Run) tellLifecycle(c verdict.CodeTarget) {
	for _, e := range c.Events {
		switch e.Status {
		case "Pending", "Skipped", "Unknown":
			continue
		}
		if r.once(fmt.Sprint("lifecycle ", c.Deployment, e.Name, e.Status)) {
			r.Host.Emit(sluice.LifecycleChanged{Deployment: c.Deployment, Name: e.Name, Status: e.Status, Message: e.Message})
		}
	}
}

func (r *Run) tellSet(v sluice.Variant, revision string, s verdict.CodeSet) {
	if s.Revision != "" {
		revision = s.Revision
	}
	c := sluice.CapacityChanged{Variant: v, Revision: revision, Desired: s.Desired, Pending: s.Pending, Running: s.Running}
	if r.told.sets[v] == c {
		return
	}
	if r.told.sets == nil {
		r.told.sets = map[sluice.Variant]sluice.CapacityChanged{}
	}
	r.told.sets[v] = c
	r.Host.Emit(c)
}

func (r *Run) tellTraffic(canary int) {
	if was := r.told.share; was != canary {
		r.told.share = canary
		r.Host.Emit(sluice.TrafficShifted{FromPrimary: 100 - was, FromCanary: was, ToPrimary: 100 - canary, ToCanary: canary})
	}
}
