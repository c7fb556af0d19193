package stage

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// handleInactiveRevision continues after a rollback failed because the former revision is INACTIVE:
// another process deregistered it, and ECS starts no task of it any more. If the new version is
// PRIMARY, it gets all requests and the canary is removed. Any other failure is returned unchanged.
func (r *Run) deregistered(ctx context.Context, why error) error {
	if kind := sluice.KindOf(why); kind != "" && kind != sluice.Conflict || r.former == nil || r.former.Revision == "" {
		return why
	}
	if gone, err := ecs.Deregistered(ctx, r.Account.ECS(), r.former.Revision); err != nil || !gone {
		return why
	}
	told := &sluice.Error{Op: "roll back", Resource: r.hand.Resource(), Kind: sluice.OutsideChange,
		Err:  fmt.Errorf("%s was deregistered during the deployment, by another process or person, and ECS starts no task of it: %w", r.former.Revision, why),
		Next: "put the files of " + r.former.Revision + " back and run sluice deploy: it registers them again"}
	if err := r.staysNew(ctx); err != nil {
		return errors.Join(told, err)
	}
	return told
}

// keepNewVersion sends all requests to the PRIMARY member and removes the canary.
func (r *Run) staysNew(ctx context.Context) error {
	if r.Plan.Rolls() || r.Plan.ByCodeDeploy() {
		return nil
	}
	serving, err := r.hosting.standing(ctx, sluice.Primary)
	if err != nil || serving == nil {
		return err
	}
	if err := r.allToPrimary(ctx, *serving); err != nil {
		return err
	}
	if err := r.access.settle(ctx); err != nil {
		return err
	}
	made, err := r.hosting.made(ctx)
	if err != nil {
		return err
	}
	var canaries []member
	for _, m := range made {
		if m.variant == sluice.Canary && m.ID != serving.ID {
			canaries = append(canaries, m)
		}
	}
	return r.retire(ctx, canaries...)
}
