package rehearse

import (
	"fmt"
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
		w.adviseBalancer(say)
	}
	if w.Tasks < 2 {
		say("the service has %s: while it is replaced by a crash, nothing serves", sluice.Plural(w.Tasks, "task"))
	}
	if len(w.Subnets) < 2 {
		say("all tasks stand in one zone")
	}
	if app.Recreate {
		say("recreate stops the old tasks before the new ones start: every request in between is lost")
	}
	if start := 90*time.Second + w.Primary.Interval; app.ProgressDeadline < start {
		say("progressDeadline %s is shorter than a start may take with its first health check (%s)",
			app.ProgressDeadline, start)
	}
	if !app.AutoRollback {
		say("autoRollback is off: a bad version stays until a person acts")
	}
	if c := app.Service.Input.DeploymentConfiguration; c != nil && c.MinimumHealthyPercent != nil &&
		*c.MinimumHealthyPercent < 100 {
		say("minimumHealthyPercent %d lets ECS stop serving tasks before new ones serve", *c.MinimumHealthyPercent)
	}
	switch {
	case w.usesCodeDeploy():
		if w.Config == "" || w.Config == "CodeDeployDefault.ECSAllAtOnce" {
			say("CodeDeploy moves every request to the new version at once: a deployment configuration such as " +
				"CodeDeployDefault.ECSCanary10Percent5Minutes moves a share first")
		}
	case w.Controller != "ECS": // ECS's own update works in batches
		pipelineAdvice(app, say)
	}
	return all
}

func (w World) adviseBalancer(say func(string, ...any)) {
	if w.Primary.Drain == 0 {
		say("deregistration delay 0: every request in flight is cut off when a task goes")
	}
	if d := w.Primary.Interval * time.Duration(w.Primary.Unhealthy); d >= time.Minute {
		say("a task that hangs gets requests for %s more, until %s %s apart have failed", shortDuration(d),
			sluice.Plural(w.Primary.Unhealthy, "health check"), shortDuration(w.Primary.Interval))
	}
	if w.Primary.Timeout >= w.Primary.Interval {
		say("the health check's timeout %s is not shorter than its interval %s", w.Primary.Timeout, w.Primary.Interval)
	}
}

func pipelineAdvice(app *appfile.Application, say func(string, ...any)) {
	if len(app.Pipeline) == 0 {
		say("there is no pipeline: every request goes to the new version at once")
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
		say("no WAIT and no WAIT_APPROVAL: what takes a minute to show is seen by everybody")
	}
	if canary && !cleaned {
		say("the pipeline leaves the canary running: it needs ECS_CANARY_CLEAN")
	}
}
