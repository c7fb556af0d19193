package step

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// FileCount is the desired count of the file, or nil.
func FileCount(s *Step) *int {
	if !s.Service.Given["desiredCount"] || s.Service.Input.DesiredCount == nil {
		return nil
	}
	n := int(*s.Service.Input.DesiredCount)
	return &n
}

// FileUpdate is the update of the service to the file. It keeps a desired count that another actor has set since the
// deployment began, unless the deployment is made to set it.
func FileUpdate(s *Step, live *ecs.ServiceState) ecs.Update {
	u := ecs.DifferingUpdate(s.Service, live)
	switch {
	case s.Expected != nil && s.Expected.Adopted.Desired != nil: // it was told when it was adopted
		return u.Without("desiredCount")
	case !s.Snapshot.Service, live.Desired == s.Snapshot.Desired, !slices.Contains(u.Members, "desiredCount"),
		s.Plan.KeepsVersion(), s.Plan.OnOutsideChange == sluice.ReassertChange:
		return u
	}
	warnOfKeptCount(s, live)
	return u.Without("desiredCount")
}

func warnOfKeptCount(s *Step, live *ecs.ServiceState) {
	s.EmitWarning("the desired count (%d) was set by another process or person; sluice keeps it", live.Desired)
}

// AttributesToRestore are the attributes that a rollback writes. A desired count that is neither
// the file's nor the former one was set by another actor and is kept. A count that succeeded is not lowered.
func AttributesToRestore(ctx context.Context, s *Step, live *ecs.ServiceState) (ecs.Update, error) {
	u := s.Snapshot.Attributes
	if !slices.Contains(u.Members, "desiredCount") || live.Desired == s.Snapshot.Desired {
		return u, nil
	}
	if set := FileCount(s); set != nil && live.Desired != *set {
		warnOfKeptCount(s, live)
		return u.Without("desiredCount"), nil
	}
	keeps, err := keepsCount(ctx, s, live)
	if err != nil || !keeps {
		return u, err
	}
	s.EmitNote("the desired count stays %d: it was %d before, and the rollback of a version that succeeded does not "+
		"lower it", live.Desired, s.Snapshot.Desired)
	return u.Without("desiredCount"), nil
}

// keepsCount reports whether the former desired count is lower than one that succeeded. Callers may need
// these tasks now. Only the rollback of an operation lowers it, because a person asked for that.
func keepsCount(ctx context.Context, s *Step, live *ecs.ServiceState) (bool, error) {
	if live.Desired < s.Snapshot.Desired || s.Plan.KeepsVersion() {
		return false, nil
	}
	progress, err := s.Memory.Progress.Load(ctx)
	return progress.Done >= len(s.Plan.Stages), err
}
