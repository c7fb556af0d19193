package stage

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// handleInactiveRevision continues after a rollback failed because the former revision is INACTIVE:
// another process deregistered it, and ECS starts no task of it any more. If the new version is
// PRIMARY, it gets all requests and the canary is removed. Any other failure is returned unchanged.
func handleInactiveRevision(ctx context.Context, s *step.Step, why error) error {
	if kind := sluice.KindOf(why); kind != "" && kind != sluice.Conflict || s.Snapshot == nil ||
		s.Snapshot.Revision == "" {
		return why
	}
	if gone, err := ecs.IsDeregistered(ctx, s.Account.ECS(), s.Snapshot.Revision); err != nil || !gone {
		return why
	}
	told := &sluice.Error{Op: "roll back", Resource: s.Client.Resource(), Kind: sluice.OutsideChange,
		Err: fmt.Errorf("%s was deregistered during the deployment, by another process or person, and ECS starts "+
			"no task of it: %w", s.Snapshot.Revision, why),
		Next: "restore the files of " + s.Snapshot.Revision + " and run sluice deploy, which registers them again"}
	if err := keepNewVersion(ctx, s); err != nil {
		return errors.Join(told, err)
	}
	return told
}

// keepNewVersion sends all requests to the PRIMARY member and removes the canary.
func keepNewVersion(ctx context.Context, s *step.Step) error {
	if !s.Plan.Mode().HasTaskSets() {
		return nil
	}
	serving, err := s.Hosting.FindVariant(ctx, sluice.Primary)
	if err != nil || serving == nil {
		return err
	}
	if err := sendAllToPrimary(ctx, s, *serving); err != nil {
		return err
	}
	if err := s.Access.WaitForPropagation(ctx); err != nil {
		return err
	}
	made, err := s.Hosting.ListCreated(ctx)
	if err != nil {
		return err
	}
	var canaries []step.Member
	for _, m := range made {
		if m.Variant == sluice.Canary && m.ID != serving.ID {
			canaries = append(canaries, m)
		}
	}
	return capacity.Retire(ctx, s, canaries...)
}
