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
func (r *Run) handleInactiveRevision(ctx context.Context, why error) error {
	if kind := sluice.KindOf(why); kind != "" && kind != sluice.Conflict || r.snapshot == nil ||
		r.snapshot.Revision == "" {
		return why
	}
	if gone, err := ecs.IsDeregistered(ctx, r.Account.ECS(), r.snapshot.Revision); err != nil || !gone {
		return why
	}
	told := &sluice.Error{Op: "roll back", Resource: r.client.Resource(), Kind: sluice.OutsideChange,
		Err: fmt.Errorf("%s was deregistered during the deployment, by another process or person, and ECS starts "+
			"no task of it: %w", r.snapshot.Revision, why),
		Next: "restore the files of " + r.snapshot.Revision + " and run sluice deploy, which registers them again"}
	if err := r.keepNewVersion(ctx); err != nil {
		return errors.Join(told, err)
	}
	return told
}

// keepNewVersion sends all requests to the PRIMARY member and removes the canary.
func (r *Run) keepNewVersion(ctx context.Context) error {
	if !r.Plan.Mode().HasTaskSets() {
		return nil
	}
	serving, err := r.hosting.findVariant(ctx, sluice.Primary)
	if err != nil || serving == nil {
		return err
	}
	if err := r.sendAllToPrimary(ctx, *serving); err != nil {
		return err
	}
	if err := r.traffic.waitForPropagation(ctx); err != nil {
		return err
	}
	made, err := r.hosting.listCreated(ctx)
	if err != nil {
		return err
	}
	var canaries []member
	for _, m := range made {
		if m.variant == sluice.Canary && m.ID != serving.ID {
			canaries = append(canaries, m)
		}
	}
	return r.retireMembers(ctx, canaries...)
}
