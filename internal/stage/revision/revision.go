package revision

import (
	"context"
	"errors"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// Ensure returns the revision of this deployment and registers it if needed. The revision
// is saved, so that every stage uses the same one. The first attempt registers it without another read: the plan has
// read the family, and a second identical revision would do no harm.
func Ensure(ctx context.Context, s *step.Step) (ecs.Revision, error) {
	if s.Plan.IsRegistered() {
		return ecs.Revision{ARN: s.Plan.To, Name: s.Plan.To}, nil
	}
	saved, err := s.Memory.Registration.Load(ctx)
	switch {
	case err != nil:
		return ecs.Revision{}, err
	case saved.Begun || saved.Revision != nil:
		return EnsureRegistered(ctx, s, s.Task, s.Memory.Registration)
	}
	saved.Begun = true
	if err := s.Memory.Registration.Save(ctx, saved); err != nil {
		return ecs.Revision{}, err
	}
	rev, err := ecs.Register(ctx, s.Account.ECS(), s.MakeWrite, tagDefinition(s, s.Task))
	switch {
	case errors.Is(err, sluice.ErrUnanswered):
		return EnsureRegistered(ctx, s, s.Task, s.Memory.Registration) // it searches the revision first
	case err != nil:
		return rev, err
	}
	saved.Revision = &rev
	return rev, s.Memory.Registration.Save(ctx, saved)
}

// EnsureRegistered returns the saved revision and registers it if needed.
func EnsureRegistered(ctx context.Context, s *step.Step, task *definition.Task,
	registration memory.Concern[memory.Registration]) (rev ecs.Revision, err error) {
	saved, err := registration.Load(ctx)
	if err != nil {
		return rev, err
	}
	if saved.Revision != nil {
		return *saved.Revision, nil
	}
	if rev, err = saveRegistering(ctx, s, task, registration); err == nil && rev.ARN == "" {
		rev, err = ecs.EnsureRevision(ctx, s.Account.ECS(), s.MakeWrite, tagDefinition(s, task),
			func(ctx context.Context) (ecs.Revision, error) { return findRegistered(ctx, s, task) })
	}
	if err != nil {
		return rev, err
	}
	return rev, registration.Update(ctx, func(saved *memory.Registration) { saved.Revision = &rev })
}

// saveRegistering saves that RegisterTaskDefinition is about to be called. If that was saved
// before, a process was killed around the call, which has no client token. The method then waits
// and searches the revision that the call may have created.
func saveRegistering(ctx context.Context, s *step.Step, task *definition.Task,
	registration memory.Concern[memory.Registration]) (ecs.Revision, error) {
	saved, err := registration.Load(ctx)
	if err != nil {
		return ecs.Revision{}, err
	}
	if !saved.Begun {
		saved.Begun = true
		return ecs.Revision{}, registration.Save(ctx, saved)
	}
	return findRegistered(ctx, s, task)
}

// findRegistered searches a revision whose registration got no response. It reads now, and again
// after AWS's usual lag.
func findRegistered(ctx context.Context, s *step.Step, task *definition.Task) (ecs.Revision, error) {
	if rev, err := ecs.FindRecent(ctx, s.Account.ECS(), task); err != nil || rev.ARN != "" {
		return rev, err
	}
	if err := s.PauseFor(ctx, step.ReadLag); err != nil {
		return ecs.Revision{}, err
	}
	return ecs.FindRecent(ctx, s.Account.ECS(), task)
}
