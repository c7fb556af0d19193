package rehearse

import (
	"strings"
	"time"
)

// The promises that a case itself makes impossible to keep.

// hasIntervention reports whether an intervention of the case does the act.
func (c Case) excuses(does string) bool {
	for _, h := range c.Hands {
		if strings.HasPrefix(h.Does, does) {
			return true
		}
	}
	return false
}

// hasFault reports whether the case has a fault of one of the kinds.
func (c Case) faulty(kinds ...string) bool {
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
func (c Case) has(options ...string) bool {
	for _, o := range options {
		if strings.Contains("&"+c.New, "&"+o) {
			return true
		}
	}
	return false
}

// mayLoseRequests reports whether the case loses requests in any deployment.
func (c Case) lossy() bool {
	return c.faulty("task-crash", "zone-lost") || c.excuses(DeleteService) || c.excuses(EditRule) || c.excuses(Update) || c.excuses(DeleteCanary) ||
		c.has("unhealthy-after", "errors", "oom-after") || c.late() || c.lossyByName()
}

// crashesAfterHealthy reports whether the new version gets healthy before it crashes.
func (c Case) late() bool {
	return c.has("crash-after") && !c.has("healthy-after=1h")
}

// mustFail reports whether the new version can never serve.
func (c Case) mustFail() bool {
	return c.has("never-healthy", "noboot", "no-secret", "no-role", "exec-format", "healthy-after=1h") || c.World.refused()
}

// isUnsteady reports whether tasks may stop between a read and a write.
func (c Case) unsteady() bool {
	return c.lossy() || c.faulty("no-capacity", "slow-start", "stale", "failed-operation") || c.excuses(TakeOut) || c.excuses(Scale) || c.excuses(ScaleCanary) || c.excuses(PromoteCanary) || c.excuses(SayUnwell) || c.late() || c.scales()
}

// mustSucceed reports whether no fault concerns the new version and no intervention may change the
// outcome.
func (c Case) mustSucceed() bool {
	return !c.mustFail() && !c.stepsMayFail() && !c.lossy() && !c.unsteady() && len(c.Hands) == 0 && c.Full.Row == 0 && c.Files == nil &&
		!c.faulty("throttle", "invalid") && !c.outlivesGrace() && c.World.Ready == 0 && !c.World.Naming.Restores && !c.noRoom()
}

// cannotRoll reports whether, at a count that auto scaling may set, the limits of a rolling
// deployment let ECS neither stop nor start a task.
func (c Case) noRoom() bool {
	p, s := c.World.Percents, c.World.Scaling
	if p == (Percents{}) || !s.moves() {
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
	return c.has("healthy-after=45s") && c.World.Grace < max(2*time.Minute, 45*time.Second+time.Duration(g.Healthy+1)*g.Interval)
}

// requiredCause returns the text that the cause of the failure must contain; "" if any cause is
// accepted.
func (c Case) mustName() string {
	if c.Before != "" || c.After != "" || len(c.Hands)+len(c.Faults) > 0 || c.Full.Row > 0 || c.World.Controller != "EXTERNAL" && !c.hostsBeside() {
		return ""
	}
	switch {
	case c.hostsBeside() && c.has("crash-after"):
		return "" // ECS may stop the task as unhealthy before it crashes
	case c.has("healthy-after=1h") && c.has("crash-after"):
		return "exit code"
	case c.has("never-healthy"):
		return "health checks"
	case c.has("noboot"):
		return "CannotPullContainerError"
	}
	return ""
}
