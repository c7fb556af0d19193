package stage

import (
	"cmp"
	"context"
	"errors"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// rollBackService returns a rolling service to the former revision. If our deployment still runs,
// ECS stops it and rolls it back. Otherwise the former revision is deployed, unless ECS has rolled
// back by itself. Only a read that is newer than our own update decides that.
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

// withReplaced is the proof of a return: the stopped or replaced deployment is no longer PRIMARY.
// ECS may return to an older deployment, which reads from before our update show too.
func (p proof) leftBehind(deployment string) proof {
	p.told.Replaced, p.known = deployment, true
	return p
}

// followFormer follows the version that served before and that this deployment has not changed.
func (r *Run) remains(ctx context.Context, live *ecs.Live, former string) error {
	id, now := live.PrimaryDeployment()
	if now != former {
		return r.replaced(id, now, former)
	}
	return r.follow(ctx, former, id, proof{})
}

// ensureIdentified finds our deployment if a process was killed between the call and its record, or
// if the call got no response. The history of deployments is another API, with its own lag.
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

// isPrimary reports whether the PRIMARY deployment is ours. It may have the same revision as the
// one before, so only the ID distinguishes them.
func (a asked) leads(live *ecs.Live) bool {
	now, _ := live.PrimaryDeployment()
	return now != a.Before && now == a.Deployment
}

// runningDeployment is the ARN of our service deployment if it is known. [Run.stopDeployment] does
// not change one that has ended. Otherwise it is the one that runs.
func (r *Run) running(ctx context.Context, ours asked) (string, error) {
	if ours.ARN != "" {
		return ours.ARN, nil
	}
	return r.hand.Running(ctx)
}

// stopRequest is the service deployment that was stopped, and the PRIMARY deployment at that time.
// A different PRIMARY afterwards shows that ECS rolled back.
type stopped struct {
	ARN     string `json:"arn"`
	Primary string `json:"primary"` // id
}

// stopOtherDeployment stops another actor's deployment that the plan names. It returns the service
// after that.
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

// stopDeployment stops a running service deployment with a rollback and waits until the former
// deployment is PRIMARY. A second run finds the rollback already in progress. A deployment that has
// ended is left unchanged.
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

// awaitRollbackStart reads until another deployment is PRIMARY, for as long as a rollback may take
// to begin.
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

// maxRollbackPolls is how often the service is read for the requested rollback before the former
// revision is deployed instead.
const rollbackLooks = 15

// deployFormer deploys the former revision with its attributes, unless ECS already does, and
// follows that deployment. live must be newer than the write in after.
func (r *Run) returnTo(ctx context.Context, live *ecs.Live, former string, after proof) error {
	back := r.formerAttributes(live).Differing(live)
	_, now := live.PrimaryDeployment()
	failed := live.DeploymentFailed() // ECS's rollback failed: a new deployment is needed
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

// requestFormer requests the former revision and returns AWS's response, which contains the new
// deployment. If the response is lost, it returns a read that shows the deployment.
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
