package stage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// prepareStage does what every stage starts with: it takes the snapshot, creates the service if
// needed, claims it and registers the revision.
func (r *Run) prepare(ctx context.Context) (*ecs.Live, ecs.Revision, error) {
	live, err := r.begin(ctx)
	if err != nil {
		return nil, ecs.Revision{}, err
	}
	rev, err := r.revision(ctx)
	if err != nil {
		return nil, rev, err
	}
	return live, rev, nil
}

// beginStage takes the snapshot, creates the service if there is none, and claims it.
func (r *Run) begin(ctx context.Context) (*ecs.Live, error) {
	live, err := r.standing(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.remember(ctx, live); err != nil {
		return nil, err
	}
	if live == nil && r.former.Service {
		return nil, r.deleted()
	}
	if live == nil {
		if live, err = r.hosting.create(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.hold(ctx, live); err != nil {
		return nil, err
	}
	if err := r.access.begin(ctx); err != nil {
		return nil, err
	}
	return r.attend(ctx, live)
}

// findActiveService returns the service if it is ACTIVE, and nil if it must be created. It waits
// for the deletion of a service that is DRAINING.
func (r *Run) standing(ctx context.Context) (*ecs.Live, error) {
	told := false
	for {
		if err := r.look(ctx); err != nil {
			return nil, err
		}
		live, err := r.hand.Observe(ctx)
		if err != nil {
			return nil, err
		}
		r.looked = r.Clock.Now()
		switch {
		case live == nil || live.Status == "INACTIVE":
			return nil, nil
		case live.Status == "ACTIVE":
			return live, r.controlled(live)
		case !told:
			r.Host.Emit(sluice.Waiting{For: "the former service of that name to be gone", Detail: live.Status})
			told = true
		}
		if err := r.pause(ctx, 5*time.Second); err != nil {
			return nil, err
		}
	}
}

// checkController returns an error if the deployment controller of the service changed since the
// plan.
func (r *Run) controlled(live *ecs.Live) error {
	if live.Controller == r.Plan.Controller {
		return nil
	}
	return &sluice.Error{Op: "use the service", Resource: r.hand.Resource(), Kind: sluice.Conflict,
		Err:  fmt.Errorf("its deployment controller is %s, the plan was made for %s", live.Controller, r.Plan.Controller),
		Next: "deploy again, with the controller that the service has"}
}

// ensureRevision returns the revision of this deployment and registers it if needed. The revision
// is saved, so that every stage uses the same one.
func (r *Run) revision(ctx context.Context) (ecs.Revision, error) {
	if r.Plan.Registered() {
		return ecs.Revision{ARN: r.Plan.To, Name: r.Plan.To}, nil
	}
	return r.registered(ctx, r.task, KeyRevision, keyRegister)
}

// ensureRegistered returns the revision saved under key and registers it if needed. The key begun
// records that the call of RegisterTaskDefinition is about to be sent.
func (r *Run) registered(ctx context.Context, task *definition.Task, key, begun string) (ecs.Revision, error) {
	rev, ok, err := saved[ecs.Revision](ctx, r.Host, key)
	if err != nil || ok {
		return rev, err
	}
	if rev, err = r.registering(ctx, task, begun); err == nil && rev.ARN == "" {
		rev, err = ecs.EnsureRevision(ctx, r.Account.ECS(), r.act, r.signed(task), func(ctx context.Context) (ecs.Revision, error) { return r.shown(ctx, task) })
	}
	if err != nil {
		return rev, err
	}
	return rev, save(ctx, r.Host, key, rev)
}

// saveRegistering saves that RegisterTaskDefinition is about to be called. If that was saved
// before, a process was killed around the call, which has no client token. The method then waits
// and searches the revision that the call may have created.
func (r *Run) registering(ctx context.Context, task *definition.Task, key string) (ecs.Revision, error) {
	_, begun, err := r.Host.Load(ctx, key)
	if err != nil {
		return ecs.Revision{}, fmt.Errorf("read what was saved as %s: %w", key, err)
	}
	if !begun {
		return ecs.Revision{}, text(ctx, r.Host, key, "true")
	}
	return r.shown(ctx, task)
}

// findRegistered searches a revision whose registration got no response. It reads now, and again
// after AWS's usual lag.
func (r *Run) shown(ctx context.Context, task *definition.Task) (ecs.Revision, error) {
	if rev, err := ecs.Recent(ctx, r.Account.ECS(), task); err != nil || rev.ARN != "" {
		return rev, err
	}
	if err := r.pause(ctx, lag); err != nil {
		return ecs.Revision{}, err
	}
	return ecs.Recent(ctx, r.Account.ECS(), task)
}

// updateService writes the differing fields of the file that AWS can change under EXTERNAL, and the
// file's tags.
func (r *Run) updateService(ctx context.Context, live *ecs.Live) error {
	u := ecs.Differing(r.service, live)
	if r.expected != nil && r.expected.accepted.Desired != nil {
		u = u.Without("desiredCount")
	}
	if len(u.Members) > 0 {
		if err := r.hand.Update(ctx, r.act, "update service", u); err != nil {
			return err
		}
		r.note("updated the service: %s", strings.Join(u.Members, ", "))
	}
	return r.tagService(ctx, live)
}
