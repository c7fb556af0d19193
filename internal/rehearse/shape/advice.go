package shape

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Advice returns what is unsafe or slow, judged by the shape of the service and the application's
// files alone.
func Advice(w World, app *appfile.Application) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if w.Primary.ARN != "" {
		balancerAdvice(w, say)
	}
	if w.Tasks < 2 {
		say("the service has %s: after a crash, requests fail until ECS has replaced the task",
			sluice.Plural(w.Tasks, "task"))
	}
	if len(w.Subnets) < 2 {
		say("all tasks are in one Availability Zone")
	}
	if app.Recreate {
		say("recreate stops the old tasks before the new ones start: requests in between are lost")
	}
	if start := 90*time.Second + w.Primary.Interval; app.ProgressDeadline < start {
		say("progressDeadline %s is shorter than a start with its first health check may take (%s)",
			app.ProgressDeadline, start)
	}
	if !app.AutoRollback {
		say("autoRollback is off: a bad version stays until a person rolls it back")
	}
	if c := app.Service.Input.DeploymentConfiguration; c != nil && c.MinimumHealthyPercent != nil &&
		*c.MinimumHealthyPercent < 100 {
		say("minimumHealthyPercent %d lets ECS stop serving tasks before new ones serve", *c.MinimumHealthyPercent)
	}
	switch {
	case w.UsesCodeDeploy():
		if w.Config == "" || w.Config == "CodeDeployDefault.ECSAllAtOnce" {
			say("CodeDeploy shifts all traffic to the new version immediately: to shift a share first, set a " +
				"deployment configuration such as CodeDeployDefault.ECSCanary10Percent5Minutes")
		}
	case w.Controller != "ECS": // ECS's own update works in batches
		pipelineAdvice(app, say)
	}
	return all
}

func balancerAdvice(w World, say func(string, ...any)) {
	if w.Primary.Drain == 0 {
		say("deregistration delay 0: if a task stops, its requests in flight are cut off")
	}
	if w.HasShortNetworkDrain() {
		say("%s", NetworkDrainAdvice(w))
	}
	if w.Primary.TCP {
		say("the health checks only connect (TCP): a task counts as healthy as soon as it accepts connections, even if it " +
			"cannot serve them: set an HTTP health check on the target groups, if the task has a health page")
	}
	if d := w.Primary.Interval * time.Duration(w.Primary.Unhealthy); d >= time.Minute {
		say("if a task hangs, it gets requests for another %s, until %s %s apart have failed", ShortDuration(d),
			sluice.Plural(w.Primary.Unhealthy, "health check"), ShortDuration(w.Primary.Interval))
	}
	if w.Primary.Timeout >= w.Primary.Interval {
		say("the health check's timeout %s is not shorter than its interval %s", w.Primary.Timeout, w.Primary.Interval)
	}
}

// HasShortNetworkDrain reports whether tasks may stop while nodes of the Network Load Balancer still
// send them new connections.
func (w World) HasShortNetworkDrain() bool {
	return w.UsesNetworkBalancer() && w.Primary.Drain < plan.NetworkDrain
}

// NetworkDrainAdvice returns the advice for [World.HasShortNetworkDrain].
func NetworkDrainAdvice(w World) string {
	return fmt.Sprintf("deregistration delay %s: nodes of a Network Load Balancer may send new connections to a stopping "+
		"task for longer: set it to %s or more", ShortDuration(w.Primary.Drain), ShortDuration(plan.NetworkDrain))
}

func pipelineAdvice(app *appfile.Application, say func(string, ...any)) {
	if len(app.Pipeline) == 0 {
		say("there is no pipeline: all requests are sent to the new version immediately")
		return
	}
	waits, canary, cleaned := false, false, false
	for _, s := range app.Pipeline {
		switch s := (plan.Stage{Name: s.Name}); {
		case s.IsWait():
			waits = true
		case s.StartsCanary():
			canary, cleaned = true, false
		case s.EndsCanary():
			cleaned = true
		}
	}
	if canary && !waits {
		say("the pipeline has no WAIT and no WAIT_APPROVAL: an error that appears after a minute reaches all callers")
	}
	if canary && !cleaned {
		say("the pipeline does not delete the canary: add ECS_CANARY_CLEAN")
	}
}

// ShortDuration returns a duration for people: "5m", "1m30s".
func ShortDuration(d time.Duration) string {
	return strings.Replace(d.Round(time.Second).String(), "m0s", "m", 1)
}
