package plan

import (
	"github.com/sluice-ecs/sluice"
)

// ScalingTag is the tag on the service that stores how its auto scaling was suspended before a
// deployment suspended it ([sluice.Suspensions]). A later deployment reads it if this one dies with
// its journal.
const ScalingTag = "sluice:auto-scaling"

// Scaling says how a deployment changes the scalable targets of its service.
type Scaling struct {
	Suspend       bool `json:"suspend,omitempty"` // all scaling, while the deployment runs
	KeepSuspended bool `json:"leave,omitempty"`   // scaling may stay suspended while no process runs the deployment
	Resume        bool `json:"resume,omitempty"`  // end all suspensions when the deployment ends
	Min           *int `json:"min,omitempty"`     // the bounds from now on; nil: unchanged
	Max           *int `json:"max,omitempty"`

	// LeftoverTag is the value of [ScalingTag] that a lost deployment left. The state in it is
	// restored when the deployment ends, whatever else is requested.
	LeftoverTag string `json:"left,omitempty"`
}

// FindScaling returns the scalable target whose bounds contain the desired count of the service: Application Auto
// Scaling sets the count, and a file only gives the first one. It is nil if there is none.
func FindScaling(targets []sluice.Scalable, count int) *sluice.Scalable {
	for i, t := range targets {
		if t.Min <= count && count <= t.Max {
			return &targets[i]
		}
	}
	return nil
}

// TagsService reports whether the service may have the tag while the deployment runs.
func (s *Scaling) TagsService() bool { return s.Suspend || s.LeftoverTag != "" }

// StartTarget returns a target as the deployment sets it when it begins.
func (s *Scaling) StartTarget(t sluice.Scalable) sluice.Scalable {
	t = s.withBounds(t)
	if s.Suspend {
		t.Suspended = sluice.AllSuspended
	}
	return t
}

// FinalTarget returns a target in its state after the deployment. was is its state before the
// deployment.
func (s *Scaling) FinalTarget(was sluice.Scalable) sluice.Scalable {
	was = s.withBounds(was)
	if s.Resume {
		was.Suspended = sluice.Suspension{}
	}
	return was
}

func (s *Scaling) withBounds(t sluice.Scalable) sluice.Scalable {
	if s.Min != nil {
		t.Min = *s.Min
	}
	if s.Max != nil {
		t.Max = *s.Max
	}
	return t
}

// TargetsBefore returns the targets in their state before a deployment that left its suspension
// behind.
func (l *ScalingState) TargetsBefore() []sluice.Scalable { return TargetsBefore(l.Targets, l.Left) }

// TargetsBefore returns targets with the suspension that the value of [ScalingTag] states. It
// changes only targets that are still fully suspended. Without the tag it returns the targets
// unchanged.
func TargetsBefore(now []sluice.Scalable, tag string) []sluice.Scalable {
	were, err := sluice.ParseSuspensions(tag)
	if err != nil {
		were = nil
	}
	out := append([]sluice.Scalable(nil), now...)
	for i, t := range out {
		if was, ok := were[t.Dimension]; ok && t.Suspended == sluice.AllSuspended {
			out[i].Suspended = was
		}
	}
	return out
}
