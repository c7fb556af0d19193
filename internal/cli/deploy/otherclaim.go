package deploy

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// findOtherClaim returns the claim of a deployment that is not in the journal on the service of a deployment that has
// ended. The claim may have expired: its deployment has not ended, since it would have removed it.
func findOtherClaim(ctx context.Context, t *session.Opened) (claim plan.Claim, found bool, err error) {
	d := t.Deployment
	if d.State != journal.Ended || !t.Plan.Mode().HasService() {
		return claim, false, nil
	}
	live, err := ecs.Service{API: t.Account.ECS(), Cluster: d.Cluster, Name: d.Service}.Observe(ctx)
	if err != nil || !live.IsActive() {
		return claim, false, err
	}
	claim, err = plan.ParseClaim(live.ClaimValue())
	if err != nil {
		return claim, false, nil // there is none, or another tool's value, which is no claim
	}
	_, err = t.Journal.Deployment(ctx, claim.Deployment)
	if errors.Is(err, journal.ErrNotFound) {
		return claim, true, nil
	}
	return claim, false, err
}

// refuseOtherClaim returns an error if the command found a deployment that has ended, and another one that is not in the
// journal has claimed the service: the command is meant for that one. A deployment that is named by its ID is meant.
func (p *program) refuseOtherClaim(ctx context.Context, t *session.Opened, operation, path string) error {
	if session.IsDeploymentID(path) {
		return nil
	}
	claim, found, err := findOtherClaim(ctx, t)
	if err != nil || !found {
		return err
	}
	return otherClaimError(p.JournalFile().Path, t.Deployment, operation, claim)
}

func otherClaimError(path string, d journal.Deployment, operation string, claim plan.Claim) error {
	return &sluice.Error{Op: operation, Resource: d.Cluster + "/" + d.Service, Kind: sluice.Overtaken,
		Err: errors.New(otherJournalText(path, claim)),
		Next: "name its journal with --state. If that journal is lost, run sluice rollback --adopt with the application's " +
			"files, which removes what it created"}
}

// otherJournalText describes the claim of a deployment that is not in the journal at a path.
func otherJournalText(path string, claim plan.Claim) string {
	return fmt.Sprintf("deployment %s has claimed the service until %s and is not in this journal (%s): it was started "+
		"with another journal", claim.Deployment, show.FormatTime(claim.Until), path)
}
