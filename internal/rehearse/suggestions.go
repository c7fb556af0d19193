package rehearse

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// suggestions returns what a result shows about the application, not about sluice.
func (s Scenario) suggestions(c Case, r Result) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	late := c.hasNewOption("unhealthy-after", "crash-after", "oom-after") && !c.mustFail()
	switch {
	case !s.LosesRequests && r.Failed > 0 && c.cutOffTime() > 0:
		say("a deregistration delay of %s cuts requests off that last %s: %[2]s or more would lose none",
			c.World.Primary.Drain, c.cutOffTime())
	case s.Name == "slow-start" && r.Outcome != sluice.Succeeded:
		say("tasks that start two minutes late are given up: raise progressDeadline")
	case s.Name == "slow-boot" && r.Outcome != sluice.Succeeded:
		say("a version that needs 20 s is taken for a bad one: set healthCheckGracePeriodSeconds (now %s)",
			c.World.Grace)
	case s.Name == "errors" && r.Outcome == sluice.Succeeded:
		say("nothing looks at errors: the health check passes and everybody gets them")
	case s.LosesRequests && late && r.Outcome == sluice.Succeeded:
		say("it succeeded with a version that fails after a while: %s", c.detectionAdvice())
	case s.LosesRequests && late && r.WorstShare > 0.5:
		say("%.0f%% of the requests met the bad version: %s", 100*r.WorstShare, c.detectionAdvice())
	case !s.LosesRequests && r.Failed > 0 && c.World.usesCloudMap() && c.isRegisteredEarly():
		say("callers find a task as soon as it runs, and this version answers later: a container health check " +
			"(healthCheck) keeps its record UNHEALTHY until it answers")
	case s.Name == "good" && r.Failed > 0 && c.World.usesCloudMap():
		say("ECS tells a task to stop when it takes its record away, and callers keep the address for %s more: a "+
			"task that answers on for %s after SIGTERM loses none (if yours does, rehearse.servesAfterStop says so)",
			shortDuration(c.World.TTL), shortDuration(c.addressCacheTime()))
	case s.Name == "good" && r.Failed > 0:
		say("requests are lost even when all is well: see minimumHealthyPercent, recreate and the stop of the old " +
			"tasks")
	case strings.Contains(r.Cause, "desired count was set") && r.Outcome == sluice.RolledBack:
		say("the files give desiredCount, so that another one is a change of somebody else's, which stops the " +
			"deployment: leave desiredCount out, and the count is left to others; or set onOutsideChange: adopt")
	case s.Name == "rule-edited" && r.Outcome == sluice.RolledBack:
		say("a rule that somebody else edits stops the deployment: onOutsideChange: reassert would write it again " +
			"and go on, adopt would take it over")
	}
	return all
}

// detectionAdvice returns what would have detected, in this pipeline, a version that fails after a
// while.
func (c Case) detectionAdvice() string {
	waits, rolls := c.waitBeforePrimary()
	switch {
	case c.World.usesCodeDeploy():
		return "a deployment configuration that keeps a small share for some minutes would have shown it, or an " +
			"alarm of the deployment group"
	case !rolls:
		return "a canary with a small share, and a WAIT of some minutes, would have shown it before everybody met it"
	case waits == 0:
		return "a WAIT of some minutes between the shares would have shown it"
	}
	return fmt.Sprintf("the pipeline waits %s before everybody meets it, and a WAIT of some minutes would have "+
		"shown it", shortDuration(waits))
}

// waitBeforePrimary returns the total time that the pipeline waits before the primary rollout.
// canary is false if there is no canary.
func (c Case) waitBeforePrimary() (sum time.Duration, canary bool) {
	app, err := c.loadApp()
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
