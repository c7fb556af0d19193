package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// noteDeleted notes a resource that a rollback cannot restore. It warns once.
func (r *Run) noteDeleted(what, arn string) {
	a := memory.DeletedResource{Kind: what, ARN: arn}
	if slices.Contains(r.deletedResources, a) {
		return
	}
	r.deletedResources = append(r.deletedResources, a)
	r.emitWarning("the %s was deleted during the deployment: it cannot be restored", a)
}

// reportDeleted ends a rollback that restored everything except deleted resources. The first such
// rollback fails with the list of them. A rollback that a user requests after that ends the
// deployment.
func (r *Run) reportDeleted(ctx context.Context) error {
	if len(r.deletedResources) == 0 {
		return nil
	}
	known, err := r.memory.Rollback.Load(ctx)
	if err != nil || !slices.ContainsFunc(r.deletedResources,
		func(a memory.DeletedResource) bool { return !slices.Contains(known.NotRestored, a) }) {
		return err
	}
	known.NotRestored = r.deletedResources
	if err := r.memory.Rollback.Save(ctx, known); err != nil {
		return err
	}
	return r.errNotRestored(errors.New("all other resources are restored"))
}

func (r *Run) errNotRestored(why error) error {
	var names []string
	for _, a := range r.deletedResources {
		names = append(names, a.String())
	}
	return &sluice.Error{Op: "roll back", Resource: r.client.Resource(), Kind: sluice.OutsideChange,
		Err: fmt.Errorf("deleted during the deployment, by another process or person: %s; %w",
			strings.Join(names, ", "), why),
		Next: "create the resource again if requests need it; then run: sluice rollback " + r.Deployment}
}

// handleUnrestored continues after the former version could not be restored because resources that
// it needs were deleted. The canary is removed if no request can reach it.
func (r *Run) handleUnrestored(ctx context.Context, why error) error {
	if len(r.deletedResources) == 0 || !r.traffic.isUnreachable() {
		return why
	}
	made, err := r.hosting.listCreated(ctx)
	if err != nil {
		return errors.Join(why, err)
	}
	for _, m := range made {
		if m.variant != sluice.Canary {
			continue
		}
		if err := r.retireMembers(ctx, m); err != nil {
			return errors.Join(why, err)
		}
	}
	return r.errNotRestored(why)
}

// namedAccess is an access by a name that another process or person can delete.
type namedAccess interface {
	// isNameDeleted reads whether the name is deleted.
	isNameDeleted(ctx context.Context) (bool, error)
}

// dropDeletedName lets a rollback continue without the name of the service if its Cloud Map service
// was deleted. No caller can resolve the name then.
func (r *Run) dropDeletedName(ctx context.Context) error {
	d, ok := r.traffic.(namedAccess)
	if !ok {
		return nil
	}
	if deleted, err := d.isNameDeleted(ctx); err != nil || !deleted {
		return err
	}
	r.noteDeleted("Cloud Map service", r.Plan.Registry.ARN)
	r.traffic = noTraffic{}
	return nil
}
