package catalogue

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// suggestions returns what a result shows about the application, not about sluice.
func (s Scenario) suggestions(c rehearse.Case, r rehearse.Result) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	late := failsLater(c)
	switch {
	case !s.LosesRequests && r.Failed > 0 && cutOffTime(c) > 0:
		say("a deregistration delay of %s cuts off requests that last %s: set it to %[2]s or more",
			c.World.Primary.Drain, cutOffTime(c))
	case s.Name == spotInterruption && r.Failed > 0:
		say("a task on Spot gets SIGTERM while the load balancer still sends it requests: a task that serves for %s after "+
			"SIGTERM loses no request (if yours does, set rehearse.servesAfterStop)",
			shape.ShortDuration(rehearse.SpotWarningUsed))
	case onlyConnects(c) && r.Outcome == sluice.Succeeded:
		say("%s", connectAdvice)
	case s.Name == goodVersion && r.Failed > 0 && c.World.HasShortNetworkDrain():
		say("%s", shape.NetworkDrainAdvice(c.World))
	case s.Name == "slow-start" && r.Outcome != sluice.Succeeded:
		say("if tasks start two minutes late, the deployment fails: raise progressDeadline")
	case s.Name == "slow-boot" && r.Outcome != sluice.Succeeded:
		say("a version that needs 20 s to respond is rejected: raise healthCheckGracePeriodSeconds (now %s)",
			c.World.Grace)
	case s.Name == "errors" && r.Outcome == sluice.Succeeded:
		say("no check detects the errors: the health check passes, and all callers get them")
	case s.LosesRequests && late && r.Outcome != sluice.Succeeded && r.WorstShare > 0.5:
		say("%.0f%% of the requests were sent to the bad version: %s", 100*r.WorstShare, detectionAdvice(c))
	case !s.LosesRequests && r.Failed > 0 && c.World.UsesCloudMap() && c.IsRegisteredEarly():
		say("a task is registered as soon as it runs, but this version responds later: add a container health " +
			"check (healthCheck), which keeps its instance UNHEALTHY until it responds")
	case s.Name == "good" && r.Failed > 0 && c.World.UsesCloudMap():
		say("ECS stops a task when it deregisters it, and callers cache the address for another %s: a task that "+
			"serves for %s after SIGTERM loses no request (if yours does, set rehearse.servesAfterStop)",
			shape.ShortDuration(c.World.TTL), shape.ShortDuration(c.AddressCacheTime()))
	case s.Name == "good" && r.Failed > 0:
		say("a good version loses requests too: check minimumHealthyPercent, recreate and how old tasks stop")
	case strings.Contains(r.Cause, "desired count was set") && r.Outcome == sluice.RolledBack:
		say("the files set desiredCount, so an external change of the count stops the deployment. To allow such " +
			"changes, remove desiredCount or set onOutsideChange: adopt.")
	case s.Name == "rule-edited" && r.Outcome == sluice.RolledBack:
		say("an external edit of a rule stops the deployment. To restore the rule and continue, set " +
			"onOutsideChange: reassert; to accept the edit, adopt.")
	}
	return all
}

// failsLater reports whether the tasks of the new version become healthy, and fail some time later.
func failsLater(c rehearse.Case) bool {
	return c.HasNewOption("unhealthy-after", "crash-after", "oom-after") && !c.MustFail()
}

// connectAdvice is what detects a version that answers with errors behind a health check that connects.
const connectAdvice = "the health check only connects (TCP), so a version that answers with errors passes it: set an HTTP " +
	"health check on the target groups of the Network Load Balancer, or add a gate to the pipeline, such as ANALYSIS " +
	"with https"

// onlyConnects reports whether the new version answers with errors and passes the health check.
func onlyConnects(c rehearse.Case) bool {
	return c.World.Primary.TCP && c.HasNewOption("unhealthy-after", "never-healthy", "healthy-after")
}

// detectionAdvice returns what would have detected, in this pipeline, a version that fails after a
// while.
func detectionAdvice(c rehearse.Case) string {
	waits, rolls := waitBeforePrimary(c)
	switch {
	case c.World.UsesCodeDeploy():
		return "to detect it, use a deployment configuration that keeps a small share for some minutes, or an alarm " +
			"of the deployment group"
	case c.World.Strategy.Kind != "":
		return "to detect it, use the strategy CANARY or LINEAR with a small share for some minutes, a longer bake time, " +
			"or deployment alarms"
	case !rolls:
		return "to detect it before all callers get it, use a canary with a small share and a WAIT of some minutes"
	case waits == 0:
		return "to detect it, add a WAIT of some minutes between the shares"
	}
	return fmt.Sprintf("the pipeline waits %s before all callers get it; to detect it, wait some minutes",
		shape.ShortDuration(waits))
}

// waitBeforePrimary returns the total time that the pipeline waits before the primary rollout.
// canary is false if there is no canary.
func waitBeforePrimary(c rehearse.Case) (sum time.Duration, canary bool) {
	if c.Files == nil {
		return 0, false
	}
	app, err := appfile.Load(c.Files, c.File, c.From)
	if err != nil {
		return 0, false
	}
	for _, s := range app.Pipeline {
		switch with := s.With.(type) {
		case appfile.CanaryRollout:
			canary = true
		case appfile.Wait:
			sum += with.Duration
		case appfile.PrimaryRollout:
			return sum, canary
		}
	}
	return sum, canary
}
