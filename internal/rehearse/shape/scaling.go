package shape

import (
	"cmp"
	"time"

	"github.com/sluice-ecs/sluice/internal/plan"
)

// Scaling is Application Auto Scaling of the desired count, by a policy with a CPU target. Max 0:
// no auto scaling.
type Scaling struct {
	Min, Max        int
	Load            int           // of each task's CPU, in percent; 0: the target of the policy
	SuspendedBefore string        // suspensions before the deployment: "in+scheduled"; empty: none
	Since           time.Duration // duration of that load before the deployment begins
}

// TargetCPU is the CPU target of the policy, in percent of a task.
const TargetCPU = 60

// IsActive reports whether auto scaling may change the desired count. It is true at the target load
// too: if two task sets share the load, each has less.
func (s Scaling) IsActive() bool { return s.Max > 0 }

// setScaling sets the limits of the real service. Its load is unknown: the world uses the target of
// the policy.
func (w *World) setScaling(live *plan.ScalingState) {
	if live != nil && len(live.Targets) > 0 {
		w.Scaling = Scaling{Min: live.Targets[0].Min, Max: live.Targets[0].Max}
	}
}

// demand returns the modelled CPU of all tasks, in percent of a task; nil: none.
func (s Scaling) demand(tasks int) *int {
	if s.Max == 0 {
		return nil
	}
	return new(cmp.Or(s.Load, TargetCPU) * tasks)
}
