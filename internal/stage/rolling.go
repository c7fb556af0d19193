package stage

import (
	"context"
	"errors"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// asked is what was so before a rolling deployment was asked for. UpdateService
// carries no identity: that the PRIMARY deployment is another one now tells that
// the call took effect, though its answer was lost.
type asked struct {
	Before string `json:"before"` // id of the PRIMARY deployment
}

// roll brings a service with controller ECS to the new revision by ECS's own
// rolling update: one UpdateService, then its deployment is followed to its end.
func (r *Run) roll(ctx context.Context) error {
	live, rev, err := r.prepareRolling(ctx)
	if err != nil {
		return err
	}
	deployment, err := r.ask(ctx, live, rev)
	if err != nil {
		return err
	}
	return r.follow(ctx, rev.Name, deployment)
}

// prepareRolling remembers what was, registers the revision, creates the service
// if there is none, and claims it. The claim comes after the registration only
// for a service that does not exist yet.
func (r *Run) prepareRolling(ctx context.Context) (*ecs.Live, ecs.Revision, error) {
	live, err := r.standing(ctx)
	if err != nil {
		return nil, ecs.Revision{}, err
	}
	if err := r.remember(ctx, live); err != nil {
		return nil, ecs.Revision{}, err
	}
	if live != nil {
		if err := r.hold(ctx, live); err != nil {
			return nil, ecs.Revision{}, err
		}
	} else if r.former.Service {
		return nil, ecs.Revision{}, r.deleted()
	}
	rev, err := r.revision(ctx)
	if err != nil || live != nil {
		return live, rev, err
	}
	id := sluice.NewActionID(r.Deployment, "service", "create")
	if err := r.hand.CreateRolling(ctx, r.act, id, *r.service.Input, rev, r.newClaim()); err != nil {
		return nil, rev, err
	}
	if live, err = r.observe(ctx); err != nil {
		return nil, rev, err
	}
	return live, rev, r.hold(ctx, live)
}

// ask updates the service unless that was done, and returns the id of the
// deployment that brings the revision.
func (r *Run) ask(ctx context.Context, live *ecs.Live, rev ecs.Revision) (string, error) {
	before, revision := live.PrimaryDeployment()
	was, ok, err := saved[asked](ctx, r.Host, keyAsked)
	if err != nil {
		return "", err
	}
	if ok && was.Before != before {
		return before, nil
	}
	u := ecs.Differing(r.service, live)
	if revision == rev.Name && len(u.Members) == 0 && !r.Plan.Force {
		return before, nil
	}
	if err := save(ctx, r.Host, keyAsked, asked{before}); err != nil {
		return "", err
	}
	if err := r.rollOnce(ctx, before, rev, u); err != nil {
		return "", err
	}
	if live, err = r.observe(ctx); err != nil {
		return "", err
	}
	if tags := ecs.DifferingTags(r.service, live); len(tags) > 0 {
		err = r.hand.Tag(ctx, r.act, "tag service", live.ARN, tags)
	}
	now, _ := live.PrimaryDeployment()
	return now, err
}

// rollOnce makes the call. Forcing has no identity at all, so that an answer
// that was lost is looked for before anything is asked again.
func (r *Run) rollOnce(ctx context.Context, before string, rev ecs.Revision, u ecs.Update) error {
	for attempt := 1; ; attempt++ {
		err := r.hand.Roll(ctx, r.act, "roll to "+rev.Name, rev, u, r.Plan.Force)
		if err == nil || !errors.Is(err, sluice.ErrUnanswered) || attempt == 3 {
			return err
		}
		if err := r.pause(ctx, claimSettle); err != nil {
			return err
		}
		live, lookErr := r.observe(ctx)
		if lookErr != nil {
			return lookErr
		}
		if now, _ := live.PrimaryDeployment(); now != before {
			return nil
		}
	}
}

// rollBack returns a rolling service to what was: a deployment of ours that
// still runs is stopped by its rollback; else the former revision is deployed,
// unless ECS has rolled back by itself.
func (r *Run) rollBack(ctx context.Context, live *ecs.Live) error {
	former := r.former.Revision
	if !r.former.Service || former == "" {
		r.warn("there was no deployment before: the service is left as it is")
		return nil
	}
	ours, _, err := saved[ecs.Revision](ctx, r.Host, KeyRevision)
	if err != nil {
		return err
	}
	if _, now := live.PrimaryDeployment(); now == ours.Name && now != former {
		running, err := r.hand.Running(ctx)
		if err != nil {
			return err
		}
		if running != "" {
			if live, err = r.stopRunning(ctx, running, former); err != nil {
				return err
			}
		}
	}
	return r.returnTo(ctx, live, former)
}

// stopRunning asks ECS to roll the running deployment back and waits until the
// former revision is the one that is to serve.
func (r *Run) stopRunning(ctx context.Context, running, former string) (*ecs.Live, error) {
	stopped, err := r.hand.StopDeployment(ctx, r.act, plan.OurDeployment, running)
	if err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		live, err := r.observe(ctx)
		if err != nil {
			return nil, err
		}
		if _, now := live.PrimaryDeployment(); now == former || !stopped || n == rollbackLooks {
			return live, nil
		}
		if err := r.pause(ctx, claimSettle); err != nil {
			return nil, err
		}
	}
}

// rollbackLooks is how often it is looked for the rollback that was asked for,
// before the former revision is deployed instead.
const rollbackLooks = 15

// returnTo deploys the former revision with its attributes, as far as that is not
// under way, and follows it.
func (r *Run) returnTo(ctx context.Context, live *ecs.Live, former string) error {
	back := r.former.Attributes.Differing(live)
	_, now := live.PrimaryDeployment()
	switch {
	case now != former:
		err := r.hand.Roll(ctx, r.act, "return to "+former, ecs.Revision{ARN: former, Name: former}, back, false)
		if err != nil {
			return err
		}
	case len(back.Members) > 0:
		if err := r.hand.Update(ctx, r.act, "restore service", back); err != nil {
			return err
		}
	}
	live, err := r.observe(ctx)
	if err != nil {
		return err
	}
	id, _ := live.PrimaryDeployment()
	return r.follow(ctx, former, id)
}
