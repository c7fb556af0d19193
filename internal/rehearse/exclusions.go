package rehearse

import (
	"slices"
	"strings"
	"time"
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

// hasActBefore reports whether an act that begins with a word is done before the deployment.
func (c Case) hasActBefore(does string) bool {
	return slices.ContainsFunc(c.Interventions, func(h Intervention) bool {
		return h.When == Before && strings.HasPrefix(h.Does, does)
	})
}

// changesNeighbours reports whether another actor adds a rule or deletes a listener, a group or a rule, and with them
// what sluice must not change. A default rule cannot be deleted.
func (c Case) changesNeighbours() bool {
	return c.HasIntervention(EditRuleFront) || c.HasIntervention(EditRuleConditions) || c.HasIntervention(EditRuleListener) || c.HasIntervention(EditRuleGroup) ||
		c.HasIntervention(EditRuleDelete) && !c.World.FirstRule().IsDefault()
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

// HasNewOption reports whether the new version has one of the options.
func (c Case) HasNewOption(options ...string) bool {
	for _, o := range options {
		if strings.Contains("&"+c.New, "&"+o) {
			return true
		}
	}
	return false
}

// SpotWarningUsed is how long a task must serve after SIGTERM so that its interruption on Fargate Spot
// loses no request: until the load balancer sends it none. AWS gives it two minutes.
const SpotWarningUsed = 10 * time.Second

// MayLoseRequests reports whether the case loses requests in any deployment.
func (c Case) MayLoseRequests() bool {
	return c.HasFault("task-crash", "zone-lost") || c.HasFault("spot-interruption") && c.World.Stop < SpotWarningUsed ||
		c.HasIntervention(DeleteService) || c.HasIntervention(EditRule) ||
		c.HasIntervention(UpdateService) || c.HasIntervention(DeleteCanary) ||
		c.HasNewOption("unhealthy-after", "errors", "errors-grow", "error-bursts", "oom-after") || c.crashesAfterHealthy() || c.mayLoseRequestsByName()
}

// crashesAfterHealthy reports whether the new version gets healthy before it crashes.
func (c Case) crashesAfterHealthy() bool {
	return c.HasNewOption("crash-after") && !c.HasNewOption("healthy-after=1h")
}

// MustFail reports whether the new version can never serve.
func (c Case) MustFail() bool {
	return c.HasNewOption("never-healthy", "noboot", "no-secret", "no-role", "exec-format", "healthy-after=1h") ||
		c.World.HasFailingHook()
}

// IsUnsteady reports whether tasks may stop between a read and a write.
func (c Case) IsUnsteady() bool {
	return c.MayLoseRequests() || c.HasFault("no-capacity", "slow-start", "stale", "failed-operation") ||
		c.HasIntervention(DeregisterInstance) || c.HasIntervention(SetDesiredCount) || c.HasIntervention(ScaleCanary) ||
		c.HasIntervention(PromoteCanary) || c.HasIntervention(SetUnhealthy) || c.crashesAfterHealthy() || c.canScale()
}

// requiredCause returns the text that the cause of the failure must contain; "" if any cause is
// accepted.
func (c Case) requiredCause() string {
	if c.Before != "" || c.After != "" || len(c.Interventions)+len(c.Faults) > 0 || c.FullDisk.Row > 0 ||
		c.World.Controller != "EXTERNAL" && !c.HasCanaryService() {
		return ""
	}
	switch {
	case c.HasCanaryService() && c.HasNewOption("crash-after"):
		return "" // ECS may stop the task as unhealthy before it crashes
	case c.HasNewOption("healthy-after=1h") && c.HasNewOption("crash-after"):
		return "exit code"
	case c.HasNewOption("never-healthy"):
		return "health checks"
	case c.HasNewOption("noboot"):
		return "CannotPullContainerError"
	}
	return ""
}

// IsAttentive reports whether no fault or kill keeps sluice from polling.
func (c Case) IsAttentive() bool {
	return len(c.Interventions) == 1 && len(c.Faults)+len(c.Kills) == 0 && c.FullDisk.Row == 0 && c.Before == "" &&
		c.After == ""
}

// IsRollingSync reports whether ECS rolls the service, and no stage steers its rules.
func (c Case) IsRollingSync() bool {
	return c.World.Controller == "ECS" && !c.HasCanaryService()
}

// canScale reports whether the desired count may change during a deployment: auto scaling is
// active, or it is restored in between.
func (c Case) canScale() bool {
	return c.World.Scaling.IsActive() && (!c.Suspend || len(c.Interventions)+len(c.Faults)+len(c.Kills) > 0 ||
		c.FullDisk.Row > 0)
}

// HasCanaryService reports whether the case's canary is a service of its own.
func (c Case) HasCanaryService() bool {
	return c.World.Controller == "ECS" && (c.World.HostingServices || len(c.Pipeline) > 0)
}

// LeavesCanary reports whether no stage deletes the last canary of the pipeline: it stays after a success.
func (c Case) LeavesCanary() bool {
	stays := false
	for _, stage := range c.Pipeline {
		switch {
		case strings.HasPrefix(stage, "ECS_CANARY_ROLLOUT"):
			stays = true
		case strings.HasPrefix(stage, "ECS_CANARY_CLEAN"):
			stays = false
		}
	}
	return stays
}

// IsJob reports whether the application has no service.
func (c Case) IsJob() bool { return c.Job.Count > 0 }

// StepsFail reports whether a step fails by itself.
func (c Case) StepsFail() bool {
	text := c.Before + " " + c.After
	return c.FailingStep != "" || strings.Contains(text, "exit=3") || strings.Contains(text, "noboot")
}
