package stage

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/revision"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// restoreInactive continues after a rollback failed because the former revision is INACTIVE: another process
// deregistered it, and ECS starts no task of it any more. It registers a copy and restores the snapshot with that. If
// it cannot, and the new version is PRIMARY, the new version gets all requests and the canary is removed. Any other
// failure is returned unchanged.
func restoreInactive(ctx context.Context, s *step.Step, why error) error {
	if kind := sluice.KindOf(why); kind != "" && kind != sluice.Conflict || s.Snapshot == nil ||
		s.Snapshot.Revision == "" {
		return why
	}
	former := s.Snapshot.Revision
	live, err := s.Client.Observe(ctx)
	if err != nil || live == nil || live.Serving() == former {
		return why
	}
	task, err := ecs.ReadDeregistered(ctx, s.Account.ECS(), former)
	if err != nil || task == nil {
		return why
	}
	if err = replaceFormer(ctx, s, task); err == nil {
		return restoreSnapshot(ctx, s)
	}
	told := &sluice.Error{Op: "restore the service", Resource: s.Client.Resource(), Kind: sluice.OutsideChange,
		Err: fmt.Errorf("%s was deregistered during the deployment, by another process or person, and ECS starts "+
			"no task of it: %w; no copy of it is registered: %w", former, why, err),
		Next: "restore the files of " + former + " and run sluice deploy, which registers them again"}
	return errors.Join(told, keepNewVersion(ctx, s))
}

// replaceFormer registers a copy of the former revision and saves it in its place in the snapshot.
func replaceFormer(ctx context.Context, s *step.Step, task *definition.Task) error {
	former := s.Snapshot.Revision
	rev, err := revision.EnsureRegistered(ctx, s, task, s.Memory.StepRegistration(s.Stage.Index))
	if err != nil {
		return err
	}
	s.EmitNote("%s was deregistered, and AWS starts no task of it: sluice restores its copy %s", former, rev.Name)
	f := *s.Snapshot
	f.Revision = rev.Name
	if f.Primary != nil {
		set := *f.Primary
		set.Revision, f.Primary = rev.Name, &set
	}
	if f.Spec != nil {
		f.Spec = f.Spec.WithRevision(rev.ARN)
	}
	if err := s.Memory.Snapshot.Save(ctx, f); err != nil {
		return err
	}
	s.Snapshot = &f
	return nil
}

// keepNewVersion sends all requests to the PRIMARY member and removes the canary.
func keepNewVersion(ctx context.Context, s *step.Step) error {
	if !s.Plan.Mode().HasTaskSets() {
		return nil
	}
	serving, err := step.FindVariant(ctx, s, sluice.Primary)
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
