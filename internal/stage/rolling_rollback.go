package stage

import (
	"cmp"
	"context"
	"errors"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// rollBackService returns a rolling service to the former revision. If our deployment still runs,
// ECS stops it and rolls it back. Otherwise the former revision is deployed, unless ECS has rolled
// back by itself. Only a read that is newer than our own update decides that.
func (r *Run) rollBackService(ctx context.Context) error {
	former := r.snapshot.Revision
	if !r.snapshot.Service || former == "" {
		r.emitWarning("the service had no deployment before this one; sluice keeps it unchanged")
		return nil
	}
	was, begun, err := r.loadUpdate(ctx)
	if err != nil {
		return err
	}
	var after writeProof
	if begun {
		after = was.proofAt(r.Clock.Now())
	}
	live, err := r.readAfter(ctx, after)
	if err != nil {
		return err
	}
	if !begun {
		return r.followFormer(ctx, live, former)
	}
	if was, err = r.ensureIdentified(ctx, was, live); err != nil {
		return err
	}
	after = was.proofAt(r.Clock.Now())
	if was.isPrimary(live) {
		running, err := r.runningDeployment(ctx, was)
		if err != nil {
			return err
		}
		if running != "" {
			if live, err = r.stopDeployment(ctx, live, after, plan.OwnDeployment, running); err != nil {
				return err
			}
			if !was.isPrimary(live) {
				after = after.withReplaced(was.Deployment)
			}
		}
	}
	return r.deployFormer(ctx, live, former, after)
}

// withReplaced is the proof of a return: the stopped or replaced deployment is no longer PRIMARY.
// ECS may return to an older deployment, which reads from before our update show too.
func (p writeProof) withReplaced(deployment string) writeProof {
	p.written.Replaced, p.hasIdentity = deployment, true
	return p
}

// followFormer follows the version that served before and that this deployment has not changed.
func (r *Run) followFormer(ctx context.Context, live *ecs.ServiceState, former string) error {
	id, now := live.PrimaryDeployment()
	if now != former {
		return r.errReplaced(id, now, former)
	}
	return r.followDeployment(ctx, former, id, writeProof{})
}

// ensureIdentified finds our deployment if a process was killed between the call and its record, or
// if the call got no response. The history of deployments is another API, with its own lag.
func (r *Run) ensureIdentified(ctx context.Context, was updateRequest, live *ecs.ServiceState) (updateRequest, error) {
	if was.Deployment != "" {
		return was, nil
	}
	name, err := r.registeredName(ctx)
	if err != nil {
		return was, err
	}
	ours, found, err := r.identifyDeployment(ctx, was, live, ecs.Revision{Name: name})
	if err != nil || !found {
		return was, err
	}
	return ours, nil
}

// isPrimary reports whether the PRIMARY deployment is ours. It may have the same revision as the
// one before, so only the ID distinguishes them.
func (a updateRequest) isPrimary(live *ecs.ServiceState) bool {
	now, _ := live.PrimaryDeployment()
	return now != a.Before && now == a.Deployment
}

// runningDeployment is the ARN of our service deployment if it is known. [Run.stopDeployment] does
// not change one that has ended. Otherwise it is the one that runs.
func (r *Run) runningDeployment(ctx context.Context, ours updateRequest) (string, error) {
	if ours.ARN != "" {
		return ours.ARN, nil
	}
	return r.client.RunningDeployment(ctx)
}

// stopOtherDeployment stops another actor's deployment that the plan names. It returns the service
// after that.
func (r *Run) stopOtherDeployment(ctx context.Context) (*ecs.ServiceState, error) {
	arn := r.Stage.Stop
	rec, err := r.client.Record(ctx, arn)
	if err != nil {
		return nil, err
	}
	after := writeProof{writeName: "deployment " + arn, sentAt: r.Clock.Now(),
		shows: func(live *ecs.ServiceState) bool {
			return live.CurrentDeployment() == arn || !live.PrimaryCreated().Before(rec.CreatedAt)
		}}
	live, err := r.readAfter(ctx, after)
	if err != nil {
		return nil, err
	}
	return r.stopDeployment(ctx, live, after, arn, arn)
}

// stopDeployment stops a running service deployment with a rollback and waits until the former
// deployment is PRIMARY. A second run finds the rollback already in progress. A deployment that has
// ended is left unchanged.
func (r *Run) stopDeployment(ctx context.Context, live *ecs.ServiceState, after writeProof, label,
	arn string) (*ecs.ServiceState, error) {
	rec, err := r.client.Record(ctx, arn)
	if err != nil {
		return nil, err
	}
	switch rec.Status {
	case "PENDING", "IN_PROGRESS", "ROLLBACK_REQUESTED", "ROLLBACK_IN_PROGRESS":
	default:
		return live, nil
	}
	saved, err := r.memory.Rolling.Load(ctx)
	if err != nil {
		return nil, err
	}
	if saved.Stop == nil {
		saved.Stop = &memory.StopRequest{}
	}
	if saved.Stop.ARN != arn {
		saved.Stop.ARN = arn
		if !isRollingBack(rec.Status) {
			saved.Stop.Primary, _ = live.PrimaryDeployment()
		}
		if err := r.memory.Rolling.Save(ctx, saved); err != nil {
			return nil, err
		}
	}
	if !isRollingBack(rec.Status) {
		if _, err := r.client.StopDeployment(ctx, r.makeWrite, label, arn); err != nil {
			return nil, err
		}
	}
	return r.awaitRollbackStart(ctx, *saved.Stop, after)
}

func isRollingBack(status string) bool {
	return status == "ROLLBACK_REQUESTED" || status == "ROLLBACK_IN_PROGRESS"
}

// awaitRollbackStart reads until another deployment is PRIMARY, for as long as a rollback may take
// to begin.
func (r *Run) awaitRollbackStart(ctx context.Context, was memory.StopRequest, after writeProof) (*ecs.ServiceState,
	error) {
	for n := 1; ; n++ {
		live, err := r.readAfter(ctx, after)
		if err != nil {
			return nil, err
		}
		now, _ := live.PrimaryDeployment()
		if now != was.Primary || n == maxRollbackPolls {
			return live, nil
		}
		if err := r.pauseFor(ctx, readBackDelay); err != nil {
			return nil, err
		}
	}
}

// maxRollbackPolls is how often the service is read for the requested rollback before the former
// revision is deployed instead.
const maxRollbackPolls = 15

// deployFormer deploys the former revision with its attributes, unless ECS already does, and
// follows that deployment. live must be newer than the write in after.
func (r *Run) deployFormer(ctx context.Context, live *ecs.ServiceState, former string, after writeProof) error {
	back := r.attributesToRestore(live).MissingIn(live)
	_, now := live.PrimaryDeployment()
	failed := live.DeploymentFailed() // ECS's rollback failed: a new deployment is needed
	switch {
	case now != former || failed:
		before, _ := live.PrimaryDeployment()
		brought, err := r.requestFormer(ctx, live, ecs.Revision{ARN: former, Name: former}, back, failed)
		if err != nil {
			return err
		}
		if brought.PrimaryCreated().After(live.PrimaryCreated()) {
			after = updateRequest{Before: before, Current: live.CurrentDeployment(),
				At: r.Clock.Now()}.withOurDeployment(brought).proofAt(r.Clock.Now())
		}
		live, after = brought, after.withReplaced(before)
	case len(back.Members) > 0:
		if err := r.client.Update(ctx, r.makeWrite, "restore service", back); err != nil {
			return err
		}
		after = after.withLater(writeProof{writeName: "the restored attributes", sentAt: r.Clock.Now(),
			shows: func(live *ecs.ServiceState) bool { return len(back.MissingIn(live).Members) == 0 }})
	}
	id, now := live.PrimaryDeployment()
	if now != former {
		return r.errReplaced(id, now, former)
	}
	return r.followDeployment(ctx, former, id, after)
}

// requestFormer requests the former revision and returns AWS's response, which contains the new
// deployment. If the response is lost, it returns a read that shows the deployment.
func (r *Run) requestFormer(ctx context.Context, live *ecs.ServiceState, former ecs.Revision, back ecs.Update,
	force bool) (*ecs.ServiceState, error) {
	before, _ := live.PrimaryDeployment()
	for attempt := 1; ; attempt++ {
		at := r.Clock.Now()
		now, err := r.client.UpdateRolling(ctx, r.makeWrite, "restore "+former.Name, former, back, force)
		if err == nil && now != nil {
			return now, nil
		}
		if err != nil && !errors.Is(err, sluice.ErrUnanswered) {
			return nil, err
		}
		after := writeProof{writeName: "the deployment of " + former.Name, sentAt: at,
			shows: func(live *ecs.ServiceState) bool {
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
			return nil, cmp.Or(err, r.errNeverShown(after))
		}
	}
}
