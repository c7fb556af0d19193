package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// deletedResource is a resource that another process or a person deleted during the deployment. A
// rollback cannot restore it.
type absent struct {
	What string `json:"what"` // "listener"
	ARN  string `json:"arn"`
}

func (a absent) String() string { return a.What + " " + a.ARN }

// noteDeleted notes a resource that a rollback cannot restore. It warns once.
func (r *Run) lacks(what, arn string) {
	a := absent{what, arn}
	if slices.Contains(r.rest, a) {
		return
	}
	r.rest = append(r.rest, a)
	r.warn("the %s was deleted during the deployment: it cannot be restored", a)
}

// reportDeleted ends a rollback that restored everything except deleted resources. The first such
// rollback fails with the list of them. A rollback that a user requests after that ends the
// deployment.
func (r *Run) reportRest(ctx context.Context) error {
	if len(r.rest) == 0 {
		return nil
	}
	known, _, err := saved[[]absent](ctx, r.Host, keyRest)
	if err != nil || !slices.ContainsFunc(r.rest, func(a absent) bool { return !slices.Contains(known, a) }) {
		return err
	}
	if err := save(ctx, r.Host, keyRest, r.rest); err != nil {
		return err
	}
	return r.restError(errors.New("everything else is as it was before the deployment"))
}

func (r *Run) restError(why error) error {
	var names []string
	for _, a := range r.rest {
		names = append(names, a.String())
	}
	return &sluice.Error{Op: "roll back", Resource: r.hand.Resource(), Kind: sluice.OutsideChange,
		Err:  fmt.Errorf("deleted during the deployment, by another process or person: %s; %w", strings.Join(names, ", "), why),
		Next: "create it again if requests need it; then run: sluice rollback " + r.Deployment}
}

// handleUnrestored continues after the former version could not be restored because resources that
// it needs were deleted. The canary is removed if no request can reach it.
func (r *Run) unrestored(ctx context.Context, why error) error {
	if len(r.rest) == 0 || !r.reachedByNobody() {
		return why
	}
	made, err := r.hosting.made(ctx)
	if err != nil {
		return errors.Join(why, err)
	}
	for _, m := range made {
		if m.variant != sluice.Canary {
			continue
		}
		if err := r.retire(ctx, m); err != nil {
			return errors.Join(why, err)
		}
	}
	return r.restError(why)
}

// isRouteDeleted reports whether no route sends requests to the service any more.
func (r *Run) reachedByNobody() bool {
	switch a := r.access.(type) {
	case balanced:
		return a.isUnreachable()
	case unrouted:
		return true
	}
	return false
}

// dropDeletedName lets a rollback continue without the name of the service if its Cloud Map service
// was deleted. No caller can resolve the name then.
func (r *Run) withoutName(ctx context.Context) error {
	d, ok := r.access.(*discovered)
	if !ok {
		return nil
	}
	_, err := d.names.Instances(ctx)
	if sluice.KindOf(err) != sluice.NotFound {
		return err
	}
	r.lacks("Cloud Map service", r.Plan.Registry.ARN)
	r.access = unrouted{}
	return nil
}
