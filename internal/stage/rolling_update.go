package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// updateRequest is a requested deployment, with what reads show of it.
type updateRequest memory.UpdateRequest

// loadUpdate returns the deployment that was requested last; ok is false if there is none.
func (r *Run) loadUpdate(ctx context.Context) (a updateRequest, ok bool, err error) {
	rolling, err := r.memory.Rolling.Load(ctx)
	if err != nil || rolling.Update == nil {
		return a, false, err
	}
	return updateRequest(*rolling.Update), true, nil
}

// saveUpdate saves the deployment that is requested now.
func (r *Run) saveUpdate(ctx context.Context, a updateRequest) error {
	update := memory.UpdateRequest(a)
	return r.memory.Rolling.Update(ctx, func(rolling *memory.Rolling) { rolling.Update = &update })
}

// withOurDeployment takes our deployment from the response of the call, or from a read after it.
func (a updateRequest) withOurDeployment(live *ecs.ServiceState) updateRequest {
	a.Deployment, _ = live.PrimaryDeployment()
	a.Created, a.Desired = live.PrimaryCreated(), &live.Desired
	if now := live.CurrentDeployment(); now != a.Current {
		a.ARN = now
	}
	return a
}

// createsDeployment reports whether the call created a deployment. A call that changes the desired
// count alone creates none.
func (a updateRequest) createsDeployment() bool {
	return a.Deployment != "" && a.Deployment != a.Before
}

// proofAt is what a read must show to be newer than the call.
func (a updateRequest) proofAt(now time.Time) writeProof {
	if now.Sub(a.At) >= alwaysShownAfter {
		return writeProof{}
	}
	if !a.createsDeployment() {
		return writeProof{writeName: "the update of the service", sentAt: a.At, shows: a.isShownIn}
	}
	return writeProof{writeName: "deployment " + a.Deployment, sentAt: a.At, written: a.writtenDeployment(),
		hasIdentity: a.ARN != "" || !a.Created.IsZero()}
}

func (a updateRequest) writtenDeployment() verdict.Written {
	return verdict.Written{Deployment: a.Deployment, ARN: a.ARN, Created: a.Created}
}

// isShownIn reports whether a read is newer than the call: it shows our deployment, or one that
// began after it.
func (a updateRequest) isShownIn(live *ecs.ServiceState) bool {
	switch {
	case a.Deployment == "":
		return a.tookEffect(live)
	case !a.createsDeployment():
		return live.ListsDeployment(a.Deployment) && (a.Desired == nil || live.Desired == *a.Desired)
	}
	return a.writtenDeployment().IsIn(live.ForVerdict())
}

// tookEffect reports whether a read shows that the call took effect.
func (a updateRequest) tookEffect(live *ecs.ServiceState) bool {
	now, _ := live.PrimaryDeployment()
	return now != a.Before || live.CurrentDeployment() != "" && live.CurrentDeployment() != a.Current
}

// deploymentName is the identifier to follow our deployment by. ECS no longer lists a deployment
// that it rolled back, but keeps its service deployment.
func (a updateRequest) deploymentName(live *ecs.ServiceState) string {
	if a.ARN != "" && !live.ListsDeployment(a.Deployment) {
		return a.ARN
	}
	return a.Deployment
}

// ErrHandedOver says that a stage has requested all that it writes. It hands the rest over to ECS
// or CodeDeploy, because its host asks for that. If the stage is executed again, it follows.
var ErrHandedOver = errors.New("handed over to AWS")

// rollService deploys the new revision to a service with controller ECS by an ECS rolling update:
// one UpdateService, then it follows the deployment to its end.
func (r *Run) rollService(ctx context.Context) error {
	live, rev, err := r.prepareStage(ctx)
	if err != nil {
		return err
	}
	return r.rollToRevision(ctx, live, rev)
}

// rollToRevision requests the deployment of the revision from ECS and follows it.
func (r *Run) rollToRevision(ctx context.Context, live *ecs.ServiceState, rev ecs.Revision) (err error) {
	if r.Stage.Stop != "" {
		if live, err = r.stopOtherDeployment(ctx); err != nil {
			return err
		}
	}
	was, _, err := r.loadUpdate(ctx)
	if err != nil {
		return err
	}
	ours, err := r.requestUpdate(ctx, live, rev)
	if err != nil {
		return err
	}
	if r.HandOver && r.Plan.Mode().HandsOver() &&
		(was.Deployment == "" || !r.handedOverSucceeded(ctx,
			verdict.Wanted{Revision: rev.Name, Deployment: ours.Deployment})) {
		if err := r.tagUpdated(ctx); err != nil {
			return err
		}
		return r.handOver(rev, ours.Deployment)
	}
	return r.followOurDeployment(ctx, rev, ours)
}

// tagUpdated sets the file's tags on the service after its update.
func (r *Run) tagUpdated(ctx context.Context) error {
	live, err := r.observeService(ctx)
	if err != nil {
		return err
	}
	return r.tagService(ctx, live)
}

// handOver returns the error that hands a deployment over to AWS. deployment is its name there.
func (r *Run) handOver(rev ecs.Revision, deployment string) error {
	return &sluice.Error{Op: "deploy " + rev.Name, Resource: r.client.Resource(), Kind: sluice.Halted,
		Err:  fmt.Errorf("deployment %s: %w", deployment, ErrHandedOver),
		Next: "run sluice wait to see how the deployment ends"}
}

// handedOverTimeout is how long a handed-over deployment is polled.
const handedOverTimeout = 5 * time.Second

// handedOverSucceeded reports whether a deployment that was handed over before has succeeded by
// now. One that is in progress or failed is left unchanged.
func (r *Run) handedOverSucceeded(ctx context.Context, want verdict.Wanted) bool {
	want.Timeout = handedOverTimeout
	target := watch.Target{Cluster: r.Plan.Cluster, Service: r.Plan.Service, Wanted: want}
	last, err := watch.New(r.Account, r.Clock).Wait(ctx, target, func(watch.Update) {})
	return err == nil && last.Verdict.Outcome == sluice.Succeeded
}

// requestUpdate updates the service unless that was done, and returns the deployment of the
// revision.
func (r *Run) requestUpdate(ctx context.Context, live *ecs.ServiceState, rev ecs.Revision) (updateRequest, error) {
	was, ok, err := r.loadUpdate(ctx)
	switch {
	case err != nil:
		return was, err
	case ok && was.Deployment != "":
		return was, nil
	case ok && was.tookEffect(live):
		ours, found, err := r.identifyDeployment(ctx, was, live, rev)
		if err != nil {
			return was, err
		}
		if found {
			return ours, r.saveUpdate(ctx, ours)
		}
	}
	u := ecs.DifferingUpdate(r.service, live)
	before, revision := live.PrimaryDeployment()
	was = updateRequest{Before: before, Current: live.CurrentDeployment(), At: r.Clock.Now()}
	if revision != rev.Name || len(u.Members) > 0 || r.Plan.Force {
		if err := r.saveUpdate(ctx, was); err != nil {
			return was, err
		}
		if live, err = r.updateServiceOnce(ctx, was, rev, u); err != nil {
			return was, err
		}
	}
	ours := was.withOurDeployment(live)
	return ours, r.saveUpdate(ctx, ours)
}

// identifyDeployment finds our deployment some time after the call. The PRIMARY deployment may by
// then be ECS's rollback or another actor's. In that case the newest matching deployment in the
// history is ours. If there is none, the call did not arrive.
func (r *Run) identifyDeployment(ctx context.Context, was updateRequest, live *ecs.ServiceState,
	rev ecs.Revision) (ours updateRequest, found bool, err error) {
	if _, revision := live.PrimaryDeployment(); revision == rev.Name {
		return was.withOurDeployment(live), true, nil
	}
	past, err := r.client.PastDeployments(ctx)
	for _, p := range past {
		if p.ARN == was.Current {
			break
		}
		if p.RevisionName() == rev.Name {
			was.Deployment, was.ARN, was.Created = p.ARN, p.ARN, p.CreatedAt
			return was, true, nil
		}
	}
	return was, false, err
}

// tagService adds the file's tags that the service lacks.
func (r *Run) tagService(ctx context.Context, live *ecs.ServiceState) error {
	tags := ecs.DifferingTags(r.service, live)
	if len(tags) == 0 {
		return nil
	}
	return r.client.Tag(ctx, r.makeWrite, "tag service", live.ARN, tags)
}

// updateServiceOnce sends the call and returns the service after it. A forced deployment has no
// identity at all: after a lost response the service is read before the call is sent again.
func (r *Run) updateServiceOnce(ctx context.Context, was updateRequest, rev ecs.Revision,
	u ecs.Update) (*ecs.ServiceState, error) {
	done := func(live *ecs.ServiceState) bool {
		_, revision := live.PrimaryDeployment()
		return was.tookEffect(live) || !r.Plan.Force && revision == rev.Name && len(u.MissingIn(live).Members) == 0
	}
	for attempt := 1; ; attempt++ {
		live, err := r.client.UpdateRolling(ctx, r.makeWrite, "roll to "+rev.Name, rev, u, r.Plan.Force)
		if err == nil && live != nil {
			return live, nil
		}
		if err != nil && !errors.Is(err, sluice.ErrUnanswered) {
			return nil, err
		}
		live, readErr := r.readAfter(ctx, writeProof{writeName: "the update of the service", sentAt: r.Clock.Now(),
			shows: done})
		switch {
		case readErr != nil:
			return nil, readErr
		case done(live):
			return live, nil
		case attempt == 3:
			return nil, cmp.Or(err, r.errNeverShown(was.proofAt(r.Clock.Now())))
		}
	}
}
