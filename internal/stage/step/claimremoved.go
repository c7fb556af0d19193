package step

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// ErrClaimRemoved says that another process or person removed the claim tag, and that sluice does not
// write it again by itself.
var ErrClaimRemoved = errors.New("another process or person removed the tag")

// maxClaimRestores is how often a stage writes a removed claim again.
const maxClaimRestores = 3

// restoreClaim writes the claim again after another process or person removed its tag, as a tool does that
// removes unknown tags. A removed claim is not a claim of another deployment. live is a read that shows none.
// If another version serves, a person must decide, except in a rollback, which a person or the plan decided.
func restoreClaim(ctx context.Context, s *Step, live *ecs.ServiceState) (*ecs.ServiceState, error) {
	other, err := findForeignVersion(ctx, s, live)
	switch {
	case err != nil:
		return nil, err
	case other.byDeployment != "":
		return nil, errReplaced(s, other, sluice.LostClaim)
	case other.serves != "" && !s.IsRollback():
		return nil, errClaimRemoved(s, fmt.Sprintf("%s serves, which this deployment did not deploy", other.serves))
	case s.claimRestores == maxClaimRestores:
		return nil, errClaimRemoved(s, fmt.Sprintf("sluice wrote it again %d times", maxClaimRestores))
	case !s.Stage.MayWrite(sluice.Write{Operation: "ecs:TagResource", Resource: s.Client.Resource()}):
		return nil, errClaimRemoved(s, "this stage does not write it")
	}
	s.claimRestores++
	s.EmitWarning("external change: tag %s was removed. sluice writes it again; ignore tags that begin with sluice: in "+
		"the tool that removes them", plan.ClaimTag)
	if err := TagClaim(ctx, s, live); err != nil {
		return nil, err
	}
	if err := s.PauseFor(ctx, ReadBackDelay); err != nil {
		return nil, err
	}
	return FindClaim(ctx, s)
}

// foreignVersion is a version that serves and that neither this deployment nor the one before it deployed.
type foreignVersion struct {
	serves       string // family:revision; empty: there is none
	byDeployment string // deployment of sluice that created it; empty: not known
}

func findForeignVersion(ctx context.Context, s *Step, live *ecs.ServiceState) (foreignVersion, error) {
	saved, err := s.Memory.Registration.Load(ctx)
	if err != nil || s.Snapshot == nil {
		return foreignVersion{}, err
	}
	theirs, err := s.Memory.External.Load(ctx)
	if err != nil {
		return foreignVersion{}, err
	}
	if set := live.Primary(); set != nil {
		by := sluice.ActionID(set.ExternalID).Deployment()
		former := s.Snapshot.Primary != nil && set.ID == s.Snapshot.Primary.ID
		if !former && by != "" && by != s.Deployment && set.ID != theirs.Primary {
			return foreignVersion{serves: set.Revision, byDeployment: by}, nil
		}
	}
	switch now := live.Serving(); {
	case now == "", now == s.Snapshot.Revision, now == s.Plan.To, saved.Revision != nil && now == saved.Revision.Name,
		theirs.Primary != "":
		return foreignVersion{}, nil
	default:
		return foreignVersion{serves: now}, nil
	}
}

// CheckNotReplaced returns an error if another deployment of sluice made the task set that serves. The rollback of a
// deployment that has ended is refused then: it has changed nothing, and no other process took anything from it.
func CheckNotReplaced(ctx context.Context, s *Step, live *ecs.ServiceState) error {
	other, err := findForeignVersion(ctx, s, live)
	if err != nil || other.byDeployment == "" {
		return err
	}
	return errReplaced(s, other, sluice.Conflict)
}

func errReplaced(s *Step, by foreignVersion, kind sluice.Kind) error {
	why, next := fmt.Errorf("deployment %s has deployed %s since", by.byDeployment, by.serves), ""
	if s.IsRollback() {
		why = fmt.Errorf("%w: a rollback of %s would replace it", why, s.Deployment)
		next = "run sluice rollback " + by.byDeployment + " with its journal, or deploy the version that is to serve"
	} else {
		next = "run sluice status to see that deployment; to deploy again, run sluice deploy"
	}
	return &sluice.Error{Op: "keep the claim on the service", Resource: s.Client.Resource(), Kind: kind, Err: why, Next: next}
}

func errClaimRemoved(s *Step, why string) error {
	return &sluice.Error{Op: "keep the claim on the service", Resource: s.Client.Resource(), Kind: sluice.Halted,
		Err: fmt.Errorf("tag %s: %w: %s", plan.ClaimTag, ErrClaimRemoved, why),
		Next: fmt.Sprintf("run %s to restore the previous version, or sluice abort %s to keep what serves now",
			s.Plan.RollbackCommand(s.Deployment), s.Deployment)}
}
