package stage

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// rollBack returns a rolling service to what was: a deployment of ours that
// still runs is stopped by its rollback; else the former revision is deployed,
// unless ECS has rolled back by itself.
func (r *Run) rollBack(ctx context.Context, live *ecs.Live) error {
	former := r.former.Revision
	if !r.former.Service || former == "" {
		r.warn("there was no deployment before: the service is left as it is")
		return nil
	}
	was, begun, err := saved[asked](ctx, r.Host, keyAsked)
	if err != nil {
		return err
	}
	if begun && was.leads(live) {
		running, err := r.running(ctx, was)
		if err != nil {
			return err
		}
		if running != "" {
			if live, err = r.stop(ctx, live, plan.OurDeployment, running); err != nil {
				return err
			}
		}
	}
	return r.returnTo(ctx, live, former)
}

// leads reports whether the PRIMARY deployment is ours. It may be of the same
// revision as the one before, so that only its id tells.
func (a asked) leads(live *ecs.Live) bool {
	now, _ := live.PrimaryDeployment()
	return now != a.Before && (a.Deployment == "" || now == a.Deployment)
}

// running is the ARN of our service deployment if it is known; one that is over
// is left alone by [Run.stop]. Else it is what runs.
func (r *Run) running(ctx context.Context, ours asked) (string, error) {
	if ours.ARN != "" {
		return ours.ARN, nil
	}
	return r.hand.Running(ctx)
}

// stopped is which service deployment was stopped, and which deployment was the
// PRIMARY one then: that another one is tells that ECS went back.
type stopped struct {
	ARN     string `json:"arn"`
	Primary string `json:"primary"` // id
}

// stop asks ECS to roll a service deployment back that runs, and waits until the
// former deployment is the one that is to serve. A second run finds it on its way
// back already; one that is over is left as it is.
func (r *Run) stop(ctx context.Context, live *ecs.Live, label, arn string) (*ecs.Live, error) {
	rec, err := r.hand.Record(ctx, arn)
	if err != nil {
		return nil, err
	}
	switch rec.Status {
	case "PENDING", "IN_PROGRESS", "ROLLBACK_REQUESTED", "ROLLBACK_IN_PROGRESS":
	default:
		return live, nil
	}
	was, ok, err := saved[stopped](ctx, r.Host, keyStopped)
	if err != nil {
		return nil, err
	}
	if !ok || was.ARN != arn {
		was.ARN = arn
		if !isReturning(rec.Status) {
			was.Primary, _ = live.PrimaryDeployment()
		}
		if err := save(ctx, r.Host, keyStopped, was); err != nil {
			return nil, err
		}
	}
	if !isReturning(rec.Status) {
		if _, err := r.hand.StopDeployment(ctx, r.act, label, arn); err != nil {
			return nil, err
		}
	}
	return r.awaitReturn(ctx, was)
}

func isReturning(status string) bool {
	return status == "ROLLBACK_REQUESTED" || status == "ROLLBACK_IN_PROGRESS"
}

// awaitReturn looks until another deployment is the PRIMARY one, as long as a
// rollback may take to begin.
func (r *Run) awaitReturn(ctx context.Context, was stopped) (*ecs.Live, error) {
	for n := 1; ; n++ {
		live, err := r.observe(ctx)
		if err != nil {
			return nil, err
		}
		now, _ := live.PrimaryDeployment()
		if now != was.Primary || n == rollbackLooks {
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
	failed := live.DeploymentFailed() // ECS gave the return up: it needs a new one
	switch {
	case now != former || failed:
		_, err := r.hand.Roll(ctx, r.act, "return to "+former, ecs.Revision{ARN: former, Name: former}, back, failed)
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
