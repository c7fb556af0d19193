package shape

import (
	"cmp"
	"fmt"
	"strings"
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

// demand returns the modelled CPU of all tasks, in percent of a task; 0: none.
func (s Scaling) demand(tasks int) int {
	if s.Max == 0 {
		return 0
	}
	return cmp.Or(s.Load, TargetCPU) * tasks
}

// serviceText returns its part of the service's line in the world file.
func (s Scaling) serviceText(tasks int) string {
	if s.Max == 0 {
		return ""
	}
	return fmt.Sprintf(", demand: %d", s.demand(tasks))
}

// writeTargets writes the scalable target to the world file.
func (s Scaling) writeTargets(line func(string, ...any), service string) {
	if s.Max == 0 {
		return
	}
	was := ""
	if s.SuspendedBefore != "" {
		was = ", suspended: [" + strings.ReplaceAll(s.SuspendedBefore, "+", ", ") + "]"
	}
	line("scalableTargets:\n  - {service: %s, min: %d, max: %d%s, policy: {name: cpu, target: %d}}", service, s.Min,
		s.Max, was, TargetCPU)
}
