package stage

import (
	"cmp"
	"context"
	"errors"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// rollBack returns a rolling service to what was: a deployment of ours that
// still runs is stopped by its rollback; else the former revision is deployed,
// unless ECS has rolled back by itself. A read decides that only if it is newer than
// our own update.
func (r *Run) rollBack(ctx context.Context) error {
	former := r.former.Revision
	if !r.former.Service || former == "" {
		r.warn("there was no deployment before: the service is left as it is")
		return nil
	}
	was, begun, err := saved[asked](ctx, r.Host, keyAsked)
	if err != nil {
		return err
	}
	var after proof
	if begun {
		after = was.proof(r.Clock.Now())
	}
	live, err := r.readAfter(ctx, after)
	if err != nil {
		return err
	}
	if !begun {
		return r.remains(ctx, live, former)
	}
	if was, err = r.identified(ctx, was, live); err != nil {
		return err
	}
	after = was.proof(r.Clock.Now())
	if was.leads(live) {
		running, err := r.running(ctx, was)
		if err != nil {
			return err
		}
		if running != "" {
			if live, err = r.stop(ctx, live, after, plan.OurDeployment, running); err != nil {
				return err
			}
			if !was.leads(live) {
				after = after.leftBehind(was.Deployment)
			}
		}
	}
	return r.returnTo(ctx, live, former, after)
}

// leftBehind is the proof of a return: what was stopped or replaced is not PRIMARY any
// more. ECS may go back to an older deployment, which reads from before ours show too.
func (p proof) leftBehind(deployment string) proof {
	p.told.Replaced, p.known = deployment, true
	return p
}

// remains follows what served before, which this deployment has not touched.
func (r *Run) remains(ctx context.Context, live *ecs.Live, former string) error {
	id, now := live.PrimaryDeployment()
	if now != former {
		return r.replaced(id, now, former)
	}
	return r.follow(ctx, former, id, proof{})
}

// identified tells which deployment is ours where a process was killed between the
// call and its record, or the call was not answered. The history of deployments is
// another API with answers of its own.
func (r *Run) identified(ctx context.Context, was asked, live *ecs.Live) (asked, error) {
	if was.Deployment != "" {
		return was, nil
	}
	rev, _, err := saved[ecs.Revision](ctx, r.Host, KeyRevision)
	if err != nil {
		return was, err
	}
	rev.Name = cmp.Or(rev.Name, r.Plan.To)
	ours, found, err := r.recall(ctx, was, live, rev)
	if err != nil || !found {
		return was, err
	}
	return ours, nil
}

// leads reports whether the PRIMARY deployment is ours. It may be of the same
// revision as the one before, so that only its id tells.
func (a asked) leads(live *ecs.Live) bool {
	now, _ := live.PrimaryDeployment()
	return now != a.Before && now == a.Deployment
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

// stopRunning stops somebody else's deployment that the plan names, and returns what
// AWS shows after it.
func (r *Run) stopRunning(ctx context.Context) (*ecs.Live, error) {
	arn := r.Stage.Stop
	rec, err := r.hand.Record(ctx, arn)
	if err != nil {
		return nil, err
	}
	after := proof{write: "deployment " + arn, at: r.Clock.Now(), shows: func(live *ecs.Live) bool {
		return live.Current() == arn || !live.PrimaryCreated().Before(rec.CreatedAt)
	}}
	live, err := r.readAfter(ctx, after)
	if err != nil {
		return nil, err
	}
	return r.stop(ctx, live, after, arn, arn)
}

// stop asks ECS to roll a service deployment back that runs, and waits until the
// former deployment is the one that is to serve. A second run finds it on its way
// back already; one that is over is left as it is.
func (r *Run) stop(ctx context.Context, live *ecs.Live, after proof, label, arn string) (*ecs.Live, error) {
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
	return r.awaitReturn(ctx, was, after)
}

func isReturning(status string) bool {
	return status == "ROLLBACK_REQUESTED" || status == "ROLLBACK_IN_PROGRESS"
}

// awaitReturn reads until another deployment is the PRIMARY one, as long as a
// rollback may take to begin.
func (r *Run) awaitReturn(ctx context.Context, was stopped, after proof) (*ecs.Live, error) {
	for n := 1; ; n++ {
		live, err := r.readAfter(ctx, after)
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
// under way, and follows the deployment that brings it. live is newer than what after
// is about.
func (r *Run) returnTo(ctx context.Context, live *ecs.Live, former string, after proof) error {
	back := r.formerAttributes(live).Differing(live)
	_, now := live.PrimaryDeployment()
	failed := live.DeploymentFailed() // ECS gave the return up: it needs a new one
	switch {
	case now != former || failed:
		before, _ := live.PrimaryDeployment()
		brought, err := r.rollFormer(ctx, live, ecs.Revision{ARN: former, Name: former}, back, failed)
		if err != nil {
			return err
		}
		if brought.PrimaryCreated().After(live.PrimaryCreated()) {
			after = asked{Before: before, Current: live.Current(), At: r.Clock.Now()}.ours(brought).proof(r.Clock.Now())
		}
		live, after = brought, after.leftBehind(before)
	case len(back.Members) > 0:
		if err := r.hand.Update(ctx, r.act, "restore service", back); err != nil {
			return err
		}
		after = after.and(proof{write: "the restored attributes", at: r.Clock.Now(), shows: func(live *ecs.Live) bool { return len(back.Differing(live).Members) == 0 }})
	}
	id, now := live.PrimaryDeployment()
	if now != former {
		return r.replaced(id, now, former)
	}
	return r.follow(ctx, former, id, after)
}

// rollFormer asks for the former revision and returns AWS's answer, which tells the
// deployment that brings it. If the answer is lost, a read that shows it takes its place.
func (r *Run) rollFormer(ctx context.Context, live *ecs.Live, former ecs.Revision, back ecs.Update, force bool) (*ecs.Live, error) {
	before, _ := live.PrimaryDeployment()
	for attempt := 1; ; attempt++ {
		at := r.Clock.Now()
		now, err := r.hand.Roll(ctx, r.act, "return to "+former.Name, former, back, force)
		if err == nil && now != nil {
			return now, nil
		}
		if err != nil && !errors.Is(err, sluice.ErrUnanswered) {
			return nil, err
		}
		after := proof{write: "the return to " + former.Name, at: at, shows: func(live *ecs.Live) bool {
			id, revision := live.PrimaryDeployment()
			return revision == former.Name && id != before
		}}
		now, readErr := r.readAfter(ctx, after)
		switch {
		case readErr != nil:
			return nil, readErr
		case after.shows(now):
			return now, nil
		case attempt == 3:
			return nil, cmp.Or(err, r.neverShown(after))
		}
	}
}
