package step

import (
	"slices"

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

// AttributesToRestore are the attributes that a rollback writes. A desired count that is neither
// the file's nor the former one was set by another actor and is kept.
func AttributesToRestore(s *Step, live *ecs.ServiceState) ecs.Update {
	u, set := s.Snapshot.Attributes, FileCount(s)
	if set == nil || !slices.Contains(u.Members, "desiredCount") || live.Desired == *set ||
		live.Desired == s.Snapshot.Desired {
		return u
	}
	s.EmitWarning("the desired count (%d) was set by another process or person; sluice keeps it", live.Desired)
	return u.Without("desiredCount")
}
