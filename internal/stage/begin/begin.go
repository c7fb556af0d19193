package begin

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/claim"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/outside"
	"github.com/sluice-ecs/sluice/internal/stage/revision"
	"github.com/sluice-ecs/sluice/internal/stage/scaling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// SuspendScalingAgain overrides auto scaling again that was restored when the process ended, for the
// stages that only wait. It makes no call if the override is in place.
func SuspendScalingAgain(ctx context.Context, s *step.Step) error {
	h, err := scaling.LoadOverride(ctx, s)
	if err != nil || h.Phase != memory.OverrideReturned || !s.Plan.Scaling.Suspend {
		return err
	}
	ctx = s.WithRetries(ctx)
	live, err := s.ObserveService(ctx)
	if err != nil {
		return err
	}
	return ClaimAndSuspend(ctx, s, live)
}

// ClaimAndSuspend claims the service and then, before any other write, suspends auto scaling.
func ClaimAndSuspend(ctx context.Context, s *step.Step, live *ecs.ServiceState) error {
	if err := claim.Acquire(ctx, s, live); err != nil {
		return err
	}
	return scaling.Override(ctx, s, live)
}

// StageWithRevision does what every stage starts with: it takes the snapshot, creates the service if
// needed, claims it and registers the revision.
func StageWithRevision(ctx context.Context, s *step.Step) (*ecs.ServiceState, ecs.Revision, error) {
	live, err := Stage(ctx, s)
	if err != nil {
		return nil, ecs.Revision{}, err
	}
	rev, err := revision.Ensure(ctx, s)
	if err != nil {
		return nil, rev, err
	}
	return live, rev, nil
}

// Stage takes the snapshot, creates the service if there is none, and claims it.
func Stage(ctx context.Context, s *step.Step) (*ecs.ServiceState, error) {
	live, err := FindWithSnapshot(ctx, s)
	if err != nil {
		return nil, err
	}
	if live == nil {
		if live, err = s.Hosting.CreateService(ctx); err != nil {
			return nil, err
		}
	}
	if err := ClaimAndSuspend(ctx, s, live); err != nil {
		return nil, err
	}
	if r, ok := s.Access.(step.TaskRecords); ok {
		if err := r.RemoveStaleRecords(ctx); err != nil {
			return nil, err
		}
	}
	return outside.StartWatch(ctx, s, live)
}

// FindWithSnapshot returns the service, or nil if the deployment must create it, and loads the
// snapshot. A service that existed when the plan was made or at the start is not created again.
func FindWithSnapshot(ctx context.Context, s *step.Step) (*ecs.ServiceState, error) {
	live, err := FindActiveService(ctx, s)
	if err != nil {
		return nil, err
	}
	if live == nil && !s.Plan.CreatesService() {
		return nil, step.ErrServiceDeleted(s)
	}
	if err := LoadSnapshot(ctx, s, live); err != nil {
		return nil, err
	}
	if live == nil && s.Snapshot.Service {
		return nil, step.ErrServiceDeleted(s)
	}
	return live, nil
}

// FindActiveService returns the service if it is ACTIVE, and nil if it must be created. It waits
// for the deletion of a service that is DRAINING, while fewer and fewer tasks of it run.
func FindActiveService(ctx context.Context, s *step.Step) (*ecs.ServiceState, error) {
	least, moved := -1, s.Clock.Now()
	for {
		if err := s.CheckInterrupt(ctx); err != nil {
			return nil, err
		}
		live, err := step.ObserveUnchecked(ctx, s)
		if err != nil {
			return nil, err
		}
		switch {
		case live == nil || live.Status == "INACTIVE":
			return nil, nil
		case live.Status == "ACTIVE":
			return live, checkController(s, live)
		case least < 0:
			s.Host.Emit(sluice.Waiting{For: "the previous service of that name to be deleted", Detail: live.Status})
			least = live.Running
		case live.Running < least:
			least, moved = live.Running, s.Clock.Now()
		case s.Clock.Now().Sub(moved) > s.Plan.ProgressDeadline+s.Plan.Drain:
			return nil, errStaysDraining(s, live)
		}
		if err := s.PauseFor(ctx, 5*time.Second); err != nil {
			return nil, err
		}
	}
}

func errStaysDraining(s *step.Step, live *ecs.ServiceState) error {
	return &sluice.Error{Op: "wait for the previous service of that name to be deleted", Resource: s.Client.Resource(),
		Kind: sluice.Stall, Err: fmt.Errorf("no progress for %s: it is %s with %s",
			s.Plan.ProgressDeadline+s.Plan.Drain, live.Status, sluice.Plural(live.Running, "running task")),
		Next: "find out why its tasks do not stop (sluice status), then run the command again"}
}

// checkController returns an error if the deployment controller of the service changed since the
// plan.
func checkController(s *step.Step, live *ecs.ServiceState) error {
	if live.Controller == s.Plan.Controller {
		return nil
	}
	return &sluice.Error{Op: "use the service", Resource: s.Client.Resource(), Kind: sluice.Conflict,
		Err: fmt.Errorf("the deployment controller is %s, but the plan was made for %s", live.Controller,
			s.Plan.Controller),
		Next: "deploy again with the controller that the service has"}
}

// RegisteredName returns the revision of this deployment, as family:revision. Before it is
// registered, that is the one that the plan names.
func RegisteredName(ctx context.Context, s *step.Step) (string, error) {
	saved, err := s.Memory.Registration.Load(ctx)
	if err != nil || saved.Revision == nil {
		return s.Plan.To, err
	}
	return cmp.Or(saved.Revision.Name, s.Plan.To), nil
}

// LoadSnapshot loads the snapshot, or takes and saves it now.
func LoadSnapshot(ctx context.Context, s *step.Step, live *ecs.ServiceState) error {
	if s.Snapshot != nil {
		return nil
	}
	f, ok, err := s.Memory.Snapshot.Find(ctx)
	if err != nil {
		return err
	}
	if !ok {
		if f, err = takeSnapshot(ctx, s, live); err != nil {
			return err
		}
		if err := s.Memory.Snapshot.Save(ctx, f); err != nil {
			return err
		}
	}
	s.Snapshot = &f
	return nil
}

// takeSnapshot reads the current state.
func takeSnapshot(ctx context.Context, s *step.Step, live *ecs.ServiceState) (memory.Snapshot, error) {
	f := memory.Snapshot{Service: live != nil && live.Status == "ACTIVE"}
	if f.Service {
		f.Primary, f.Revision, f.Desired = live.Primary(), live.Serving(), live.Desired
		f.Attributes = ecs.DifferingUpdate(s.Service, live).Inverse(live)
		if s.Plan.CodeDeploy != nil {
			f.Spec = live.PrimarySpec()
		}
	}
	err := s.Access.AddToSnapshot(ctx, &f)
	if h, ok := s.Hosting.(step.StandingCanary); ok && err == nil {
		f.Canary, err = h.SnapshotCanary(ctx)
	}
	if err == nil {
		f.Scaling, err = scaling.Before(ctx, s, live)
	}
	return f, err
}
