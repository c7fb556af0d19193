package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// reportDeleted ends a rollback that restored everything except deleted resources. The first such
// rollback fails with the list of them. A rollback that a user requests after that ends the
// deployment.
func reportDeleted(ctx context.Context, s *step.Step) error {
	if len(s.DeletedResources) == 0 {
		return nil
	}
	known, err := s.Memory.Rollback.Load(ctx)
	if err != nil || !slices.ContainsFunc(s.DeletedResources,
		func(a memory.DeletedResource) bool { return !slices.Contains(known.NotRestored, a) }) {
		return err
	}
	known.NotRestored = s.DeletedResources
	if err := s.Memory.Rollback.Save(ctx, known); err != nil {
		return err
	}
	return errNotRestored(s, errors.New("all other resources are restored"))
}

func errNotRestored(s *step.Step, why error) error {
	var names []string
	for _, a := range s.DeletedResources {
		names = append(names, a.String())
	}
	return &sluice.Error{Op: "restore the service", Resource: s.Client.Resource(), Kind: sluice.OutsideChange,
		Err: fmt.Errorf("deleted during the deployment, by another process or person: %s; %w",
			strings.Join(names, ", "), why),
		Next: "create the resource again if requests need it; then run: sluice rollback " + s.Deployment}
}

// handleUnrestored continues after the former version could not be restored because resources that
// it needs were deleted. The canary is removed if no request can reach it.
func handleUnrestored(ctx context.Context, s *step.Step, why error) error {
	if len(s.DeletedResources) == 0 || !s.Access.IsUnreachable() {
		return why
	}
	made, err := s.Hosting.ListCreated(ctx)
	if err != nil {
		return errors.Join(why, err)
	}
	for _, m := range made {
		if m.Variant != sluice.Canary {
			continue
		}
		if err := capacity.Retire(ctx, s, m); err != nil {
			return errors.Join(why, err)
		}
	}
	return errNotRestored(s, why)
}

// namedAccess is an access by a name that another process or person can delete.
type namedAccess interface {
	// IsNameDeleted reads whether the name is deleted.
	IsNameDeleted(ctx context.Context) (bool, error)
}

// dropDeletedName lets a rollback continue without the name of the service if its Cloud Map service
// was deleted. No caller can resolve the name then.
func dropDeletedName(ctx context.Context, s *step.Step) error {
	d, ok := s.Access.(namedAccess)
	if !ok {
		return nil
	}
	if deleted, err := d.IsNameDeleted(ctx); err != nil || !deleted {
		return err
	}
	step.NoteDeleted(s, "Cloud Map service", s.Plan.Registry.ARN)
	s.Access = step.NoTraffic{}
	return nil
}
