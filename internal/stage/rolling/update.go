package rolling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// updateRequest is a requested deployment, with what reads show of it.
type updateRequest memory.UpdateRequest

// LoadUpdate returns the deployment that was requested last; ok is false if there is none.
func LoadUpdate(ctx context.Context, s *step.Step) (a updateRequest, ok bool, err error) {
	rolling, err := s.Memory.Rolling.Load(ctx)
	if err != nil || rolling.Update == nil {
		return a, false, err
	}
	return updateRequest(*rolling.Update), true, nil
}

// saveUpdate saves the deployment that is requested now.
func saveUpdate(ctx context.Context, s *step.Step, a updateRequest) error {
	update := memory.UpdateRequest(a)
	return s.Memory.Rolling.Update(ctx, func(rolling *memory.Rolling) { rolling.Update = &update })
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
func (a updateRequest) proofAt(now time.Time) step.WriteProof {
	if now.Sub(a.At) >= step.AlwaysShownAfter {
		return step.WriteProof{}
	}
	if !a.createsDeployment() {
		return step.WriteProof{WriteName: "the update of the service", SentAt: a.At, Shows: a.IsShownIn}
	}
	return step.WriteProof{WriteName: "deployment " + a.Deployment, SentAt: a.At, Written: a.writtenDeployment(),
		HasIdentity: a.ARN != "" || !a.Created.IsZero()}
}

func (a updateRequest) writtenDeployment() verdict.Written {
	return verdict.Written{Deployment: a.Deployment, ARN: a.ARN, Created: a.Created}
}

// IsShownIn reports whether a read is newer than the call: it shows our deployment, or one that
// began after it.
func (a updateRequest) IsShownIn(live *ecs.ServiceState) bool {
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

// Update deploys the new revision to a service with controller ECS by an ECS rolling update:
// one UpdateService, then it follows the deployment to its end.
func Update(ctx context.Context, s *step.Step) error {
	live, rev, err := begin.StageWithRevision(ctx, s)
	if err != nil {
		return err
	}
	return UpdateTo(ctx, s, live, rev)
}

// UpdateTo requests the deployment of the revision from ECS and follows it.
func UpdateTo(ctx context.Context, s *step.Step, live *ecs.ServiceState, rev ecs.Revision) (err error) {
	if s.Stage.Stop != "" {
		if live, err = stopOtherDeployment(ctx, s); err != nil {
			return err
		}
	}
	was, _, err := LoadUpdate(ctx, s)
	if err != nil {
		return err
	}
	ours, err := requestUpdate(ctx, s, live, rev)
	if err != nil {
		return err
	}
	if s.HandOver && s.Plan.Mode().HandsOver() &&
		(was.Deployment == "" || !HandedOverSucceeded(ctx, s,
			verdict.Wanted{Revision: rev.Name, Deployment: ours.Deployment})) {
		if err := tagUpdated(ctx, s); err != nil {
			return err
		}
		return HandOver(s, rev, ours.Deployment)
	}
	return followOurDeployment(ctx, s, rev, ours)
}

// tagUpdated sets the file's tags on the service after its update.
func tagUpdated(ctx context.Context, s *step.Step) error {
	live, err := s.ObserveService(ctx)
	if err != nil {
		return err
	}
	return step.TagService(ctx, s, live)
}

// HandOver returns the error that hands a deployment over to AWS. deployment is its name there.
func HandOver(s *step.Step, rev ecs.Revision, deployment string) error {
	return handOver(s, rev.Name, deployment)
}

func handOver(s *step.Step, revision, deployment string) error {
	return &sluice.Error{Op: "deploy " + revision, Resource: s.Client.Resource(), Kind: sluice.Halted,
		Err:  fmt.Errorf("deployment %s: %w", deployment, ErrHandedOver),
		Next: "run sluice wait to see how the deployment ends"}
}

// handedOverTimeout is how long a handed-over deployment is polled.
const handedOverTimeout = 5 * time.Second

// HandedOverSucceeded reports whether a deployment that was handed over before has succeeded by
// now. One that is in progress or failed is left unchanged.
func HandedOverSucceeded(ctx context.Context, s *step.Step, want verdict.Wanted) bool {
	want.Timeout = handedOverTimeout
	target := watch.Target{Cluster: s.Plan.Cluster, Service: s.Plan.Service, Wanted: want, SkipsTraffic: true}
	last, err := watch.New(s.Account, s.Clock).Wait(ctx, target, func(watch.Update) {})
	return err == nil && last.Verdict.Outcome == sluice.Succeeded
}

// requestUpdate updates the service unless that was done, and returns the deployment of the
// revision.
func requestUpdate(ctx context.Context, s *step.Step, live *ecs.ServiceState, rev ecs.Revision) (updateRequest, error) {
	was, ok, err := LoadUpdate(ctx, s)
	switch {
	case err != nil:
		return was, err
	case ok && was.Deployment != "":
		return was, nil
	case ok && was.tookEffect(live):
		ours, found, err := identifyDeployment(ctx, s, was, live, rev)
		if err != nil {
			return was, err
		}
		if found {
			return ours, saveUpdate(ctx, s, ours)
		}
	}
	u := step.FileUpdate(s, live)
	before, revision := live.PrimaryDeployment()
	was = updateRequest{Before: before, Current: live.CurrentDeployment(), At: s.Clock.Now()}
	if revision != rev.Name || len(u.Members) > 0 || s.Plan.Force {
		if err := saveUpdate(ctx, s, was); err != nil {
			return was, err
		}
		live, err = updateServiceOnce(ctx, s, was, live, rev, u)
		if refused := (refusal{}); errors.As(err, &refused) && !ok {
			return was, errors.Join(err, s.Memory.Rolling.Update(ctx, func(m *memory.Rolling) { m.Update = nil }))
		}
		if err != nil {
			return was, err
		}
	}
	ours := was.withOurDeployment(live)
	return ours, saveUpdate(ctx, s, ours)
}

// holdResponse shares the service of the response to an update with the readers of this poll: no read is newer. The
// response has no tags; those of the read before the call are as old.
func holdResponse(s *step.Step, before, live *ecs.ServiceState) {
	shown := *live
	shown.Tags, shown.Raw.Tags = before.Tags, before.Raw.Tags
	s.Reads.Hold(step.ServiceKey, s.Reads.BeginRead(s.Clock.Now()), &shown)
}

// refusal is the error of an update that AWS refused: no read needs to show it.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// identifyDeployment finds our deployment some time after the call. The PRIMARY deployment may by
// then be ECS's rollback or another actor's. In that case the newest matching deployment in the
// history is ours. If there is none, the call did not arrive.
func identifyDeployment(ctx context.Context, s *step.Step, was updateRequest, live *ecs.ServiceState,
	rev ecs.Revision) (ours updateRequest, found bool, err error) {
	if _, revision := live.PrimaryDeployment(); revision == rev.Name {
		return was.withOurDeployment(live), true, nil
	}
	past, err := s.Client.PastDeployments(ctx)
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

// updateServiceOnce updates the service and returns the service after it. The error is a refusal if AWS refused the first
// call.
func updateServiceOnce(ctx context.Context, s *step.Step, was updateRequest, before *ecs.ServiceState, rev ecs.Revision,
	u ecs.Update) (*ecs.ServiceState, error) {
	done := func(live *ecs.ServiceState) bool {
		_, revision := live.PrimaryDeployment()
		return was.tookEffect(live) || !s.Plan.Force && revision == rev.Name && len(u.MissingIn(live).Members) == 0
	}
	return sendUntilShown(ctx, s, func() (*ecs.ServiceState, error) {
		live, err := s.Client.UpdateRolling(ctx, s.MakeWrite, "roll to "+rev.Name, rev, u, s.Plan.Force)
		if err == nil && live != nil {
			holdResponse(s, before, live)
		}
		return live, err
	}, func(time.Time) step.WriteProof {
		return step.WriteProof{WriteName: "the update of the service", SentAt: s.Clock.Now(), Shows: done}
	})
}

// sendUntilShown sends a call and returns its response. A forced deployment has no identity at all: after a lost response
// the service is read before the call is sent again. proof returns what such a read must show of the call that was sent
// at a time. The error is a refusal if AWS refused the first call.
func sendUntilShown(ctx context.Context, s *step.Step, call func() (*ecs.ServiceState, error),
	proof func(sent time.Time) step.WriteProof) (*ecs.ServiceState, error) {
	for attempt := 1; ; attempt++ {
		sent := s.Clock.Now()
		live, err := call()
		if err == nil && live != nil {
			return live, nil
		}
		if err != nil && !errors.Is(err, sluice.ErrUnanswered) {
			if attempt == 1 {
				err = refusal{err}
			}
			return nil, err
		}
		after := proof(sent)
		live, readErr := s.ReadAfter(ctx, after)
		switch {
		case readErr != nil:
			return nil, readErr
		case after.Shows(live):
			return live, nil
		case attempt == 3:
			return nil, cmp.Or(err, step.ErrNeverShown(s, after))
		}
	}
}
