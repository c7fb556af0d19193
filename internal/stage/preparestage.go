package stage

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// prepareStage does what every stage starts with: it takes the snapshot, creates the service if
// needed, claims it and registers the revision.
func (r *Run) prepareStage(ctx context.Context) (*ecs.ServiceState, ecs.Revision, error) {
	live, err := r.beginStage(ctx)
	if err != nil {
		return nil, ecs.Revision{}, err
	}
	rev, err := r.ensureRevision(ctx)
	if err != nil {
		return nil, rev, err
	}
	return live, rev, nil
}

// beginStage takes the snapshot, creates the service if there is none, and claims it.
func (r *Run) beginStage(ctx context.Context) (*ecs.ServiceState, error) {
	live, err := r.findActiveService(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.loadSnapshot(ctx, live); err != nil {
		return nil, err
	}
	if live == nil && r.snapshot.Service {
		return nil, r.errServiceDeleted()
	}
	if live == nil {
		if live, err = r.hosting.createService(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.claimAndSuspend(ctx, live); err != nil {
		return nil, err
	}
	if err := r.traffic.removeStaleRecords(ctx); err != nil {
		return nil, err
	}
	return r.startDriftWatch(ctx, live)
}

// findActiveService returns the service if it is ACTIVE, and nil if it must be created. It waits
// for the deletion of a service that is DRAINING.
func (r *Run) findActiveService(ctx context.Context) (*ecs.ServiceState, error) {
	told := false
	for {
		if err := r.checkInterrupt(ctx); err != nil {
			return nil, err
		}
		of := r.reads.beginRead(r.Clock.Now())
		live, err := r.client.Observe(ctx)
		if err != nil {
			return nil, err
		}
		r.readAt = r.Clock.Now()
		r.reads.hold(uncheckedKey, of, live)
		switch {
		case live == nil || live.Status == "INACTIVE":
			return nil, nil
		case live.Status == "ACTIVE":
			return live, r.checkController(live)
		case !told:
			r.Host.Emit(sluice.Waiting{For: "the previous service of that name to be deleted", Detail: live.Status})
			told = true
		}
		if err := r.pauseFor(ctx, 5*time.Second); err != nil {
			return nil, err
		}
	}
}

// checkController returns an error if the deployment controller of the service changed since the
// plan.
func (r *Run) checkController(live *ecs.ServiceState) error {
	if live.Controller == r.Plan.Controller {
		return nil
	}
	return &sluice.Error{Op: "use the service", Resource: r.client.Resource(), Kind: sluice.Conflict,
		Err: fmt.Errorf("the deployment controller is %s, but the plan was made for %s", live.Controller,
			r.Plan.Controller),
		Next: "deploy again with the controller that the service has"}
}

// ensureRevision returns the revision of this deployment and registers it if needed. The revision
// is saved, so that every stage uses the same one.
func (r *Run) ensureRevision(ctx context.Context) (ecs.Revision, error) {
	if r.Plan.IsRegistered() {
		return ecs.Revision{ARN: r.Plan.To, Name: r.Plan.To}, nil
	}
	return r.ensureRegistered(ctx, r.task, r.memory.Registration)
}

// registeredName returns the revision of this deployment, as family:revision. Before it is
// registered, that is the one that the plan names.
func (r *Run) registeredName(ctx context.Context) (string, error) {
	saved, err := r.memory.Registration.Load(ctx)
	if err != nil || saved.Revision == nil {
		return r.Plan.To, err
	}
	return cmp.Or(saved.Revision.Name, r.Plan.To), nil
}

// ensureRegistered returns the saved revision and registers it if needed.
func (r *Run) ensureRegistered(ctx context.Context, task *definition.Task,
	registration memory.Concern[memory.Registration]) (rev ecs.Revision, err error) {
	saved, err := registration.Load(ctx)
	if err != nil {
		return rev, err
	}
	if saved.Revision != nil {
		return *saved.Revision, nil
	}
	if rev, err = r.saveRegistering(ctx, task, registration); err == nil && rev.ARN == "" {
		rev, err = ecs.EnsureRevision(ctx, r.Account.ECS(), r.makeWrite, r.tagDefinition(task),
			func(ctx context.Context) (ecs.Revision, error) { return r.findRegistered(ctx, task) })
	}
	if err != nil {
		return rev, err
	}
	return rev, registration.Update(ctx, func(saved *memory.Registration) { saved.Revision = &rev })
}

// saveRegistering saves that RegisterTaskDefinition is about to be called. If that was saved
// before, a process was killed around the call, which has no client token. The method then waits
// and searches the revision that the call may have created.
func (r *Run) saveRegistering(ctx context.Context, task *definition.Task,
	registration memory.Concern[memory.Registration]) (ecs.Revision, error) {
	saved, err := registration.Load(ctx)
	if err != nil {
		return ecs.Revision{}, err
	}
	if !saved.Begun {
		saved.Begun = true
		return ecs.Revision{}, registration.Save(ctx, saved)
	}
	return r.findRegistered(ctx, task)
}

// findRegistered searches a revision whose registration got no response. It reads now, and again
// after AWS's usual lag.
func (r *Run) findRegistered(ctx context.Context, task *definition.Task) (ecs.Revision, error) {
	if rev, err := ecs.FindRecent(ctx, r.Account.ECS(), task); err != nil || rev.ARN != "" {
		return rev, err
	}
	if err := r.pauseFor(ctx, readLag); err != nil {
		return ecs.Revision{}, err
	}
	return ecs.FindRecent(ctx, r.Account.ECS(), task)
}

// updateService writes the differing fields of the file that AWS can change under EXTERNAL, and the
// file's tags.
func (r *Run) updateService(ctx context.Context, live *ecs.ServiceState) error {
	u := ecs.DifferingUpdate(r.service, live)
	if r.expected != nil && r.expected.adopted.Desired != nil {
		u = u.Without("desiredCount")
	}
	if len(u.Members) > 0 {
		if err := r.client.Update(ctx, r.makeWrite, "update service", u); err != nil {
			return err
		}
		r.emitNote("updated the service: %s", strings.Join(u.Members, ", "))
	}
	return r.tagService(ctx, live)
}
