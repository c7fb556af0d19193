package rehearse

import (
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// The promises that a case itself makes impossible to keep.

// HasIntervention reports whether an intervention of the case does the act.
func (c Case) HasIntervention(does string) bool {
	for _, h := range c.Interventions {
		if strings.HasPrefix(h.Does, does) {
			return true
		}
	}
	return false
}

// HasFault reports whether the case has a fault of one of the kinds.
func (c Case) HasFault(kinds ...string) bool {
	for _, f := range c.Faults {
		for _, k := range kinds {
			if strings.HasPrefix(f, k) {
				return true
			}
		}
	}
	return false
}

// hasNewOption reports whether the new version has one of the options.
func (c Case) hasNewOption(options ...string) bool {
	for _, o := range options {
		if strings.Contains("&"+c.New, "&"+o) {
			return true
		}
	}
	return false
}

// MayLoseRequests reports whether the case loses requests in any deployment.
func (c Case) MayLoseRequests() bool {
	return c.HasFault("task-crash", "zone-lost") || c.HasIntervention(DeleteService) || c.HasIntervention(EditRule) ||
		c.HasIntervention(UpdateService) || c.HasIntervention(DeleteCanary) ||
		c.hasNewOption("unhealthy-after", "errors", "oom-after") || c.crashesAfterHealthy() || c.mayLoseRequestsByName()
}

// crashesAfterHealthy reports whether the new version gets healthy before it crashes.
func (c Case) crashesAfterHealthy() bool {
	return c.hasNewOption("crash-after") && !c.hasNewOption("healthy-after=1h")
}

// mustFail reports whether the new version can never serve.
func (c Case) mustFail() bool {
	return c.hasNewOption("never-healthy", "noboot", "no-secret", "no-role", "exec-format", "healthy-after=1h") ||
		c.World.HasFailingHook()
}

// isUnsteady reports whether tasks may stop between a read and a write.
func (c Case) isUnsteady() bool {
	return c.MayLoseRequests() || c.HasFault("no-capacity", "slow-start", "stale", "failed-operation") ||
		c.HasIntervention(DeregisterInstance) || c.HasIntervention(SetDesiredCount) || c.HasIntervention(ScaleCanary) ||
		c.HasIntervention(PromoteCanary) || c.HasIntervention(SetUnhealthy) || c.crashesAfterHealthy() || c.canScale()
}

// mustSucceed reports whether no fault concerns the new version and no intervention may change the
// outcome.
func (c Case) mustSucceed() bool {
	return !c.mustFail() && !c.stepsMayFail() && !c.MayLoseRequests() && !c.isUnsteady() && len(c.Interventions) == 0 &&
		c.FullDisk.Row == 0 && c.Generated &&
		!c.HasFault("throttle", "invalid") && !c.outlivesGrace() && c.World.Ready == 0 && !c.World.Naming.Restores &&
		!c.cannotRoll()
}

// cannotRoll reports whether, at a count that auto scaling may set, the limits of a rolling
// deployment let ECS neither stop nor start a task.
func (c Case) cannotRoll() bool {
	p, s := c.World.Percents, c.World.Scaling
	if p == (shape.Percents{}) || !s.IsActive() {
		return false
	}
	for n := s.Min; n <= s.Max; n++ {
		if n*p.Most/100 <= n && (n*p.Least+99)/100 >= n {
			return true
		}
	}
	return false
}

// outlivesGrace reports whether a version may start too slowly. ECS replaces its tasks if the grace
// period ends before the load balancer has counted enough successful checks.
func (c Case) outlivesGrace() bool {
	g := c.World.Primary
	return c.hasNewOption("healthy-after=45s") &&
		c.World.Grace < max(2*time.Minute, 45*time.Second+time.Duration(g.Healthy+1)*g.Interval)
}

// requiredCause returns the text that the cause of the failure must contain; "" if any cause is
// accepted.
func (c Case) requiredCause() string {
	if c.Before != "" || c.After != "" || len(c.Interventions)+len(c.Faults) > 0 || c.FullDisk.Row > 0 ||
		c.World.Controller != "EXTERNAL" && !c.HasCanaryService() {
		return ""
	}
	switch {
	case c.HasCanaryService() && c.hasNewOption("crash-after"):
		return "" // ECS may stop the task as unhealthy before it crashes
	case c.hasNewOption("healthy-after=1h") && c.hasNewOption("crash-after"):
		return "exit code"
	case c.hasNewOption("never-healthy"):
		return "health checks"
	case c.hasNewOption("noboot"):
		return "CannotPullContainerError"
	}
	return ""
}
