package stage

import (
	"cmp"
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/rolling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// confirmServing reads the service a last time. It returns an error if the revision that the outcome names
// is not PRIMARY. A read that shows another revision may be older than our last write, so it is
// repeated first.
func confirmServing(ctx context.Context, s *step.Step, o sluice.Outcome) error {
	want, err := outcomeRevision(ctx, s, o)
	if err != nil || want == "" {
		return err
	}
	adopted, err := isAdopted(ctx, s)
	if err != nil {
		return err
	}
	serves := func(live *ecs.ServiceState) bool { return live.Serving() == want || adopted(live) }
	if held := s.Reads.FindService(s.Clock.Now()); held.State != nil && serves(held.State) {
		s.Confirmed = held.State // no write followed it
		return nil
	}
	live, err := s.AwaitRead(ctx, step.WriteProof{WriteName: want + " as PRIMARY", SentAt: s.Clock.Now(),
		Shows: serves},
		func(ctx context.Context) (*ecs.ServiceState, error) { return readActive(ctx, s) })
	if err != nil {
		return err
	}
	if s.Confirmed = live; serves(live) {
		return nil
	}
	return &sluice.Error{Op: "confirm that " + want + " serves", Resource: s.Client.Resource(), Kind: sluice.Overtaken,
		Err:  fmt.Errorf("%s is PRIMARY: another deployment replaced this one", cmp.Or(live.Serving(), "no task set")),
		Next: "run sluice status to see what is running"}
}

// readActive reads the service and writes nothing. A deleted service is an error.
func readActive(ctx context.Context, s *step.Step) (*ecs.ServiceState, error) {
	live, err := s.Client.Observe(ctx)
	if err == nil && (live == nil || live.Status != "ACTIVE") {
		return nil, step.ErrServiceDeleted(s)
	}
	return live, err
}

// outcomeRevision returns the revision that should serve after an outcome; empty if the outcome
// names none.
func outcomeRevision(ctx context.Context, s *step.Step, o sluice.Outcome) (string, error) {
	if !isAboutVersions(s) {
		return "", nil
	}
	switch {
	case o == sluice.RolledBack:
		former, err := s.Memory.Snapshot.Load(ctx)
		return former.Revision, err
	case o == sluice.Succeeded && s.Plan.FinalState().NewPrimary:
		return begin.RegisteredName(ctx, s)
	}
	return "", nil
}

// isAboutVersions reports whether the deployment is of a service, and of more than its auto scaling.
func isAboutVersions(s *step.Step) bool {
	return s.Plan.Mode().HasService() && !s.Plan.Stages[0].SetsScaling()
}

// isAdopted returns a check of a read: whether another actor changed the PRIMARY and the deployment
// adopted that change (onOutsideChange: adopt).
func isAdopted(ctx context.Context, s *step.Step) (func(*ecs.ServiceState) bool, error) {
	never := func(*ecs.ServiceState) bool { return false }
	if s.Plan.OnOutsideChange != sluice.AdoptChange {
		return never, nil
	}
	theirs, _, err := s.Memory.External.Find(ctx)
	if err != nil {
		return never, err
	}
	ours, _, err := rolling.LoadUpdate(ctx, s)
	return func(live *ecs.ServiceState) bool {
		id, _ := live.PrimaryDeployment()
		set := live.Primary()
		return id != "" && id == ours.Deployment || set != nil && set.ID == theirs.Primary
	}, err
}
