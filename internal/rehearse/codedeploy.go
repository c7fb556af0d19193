package rehearse

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Services that CodeDeploy deploys.

// usesCodeDeploy reports whether CodeDeploy deploys the service.
func (w World) usesCodeDeploy() bool { return w.Controller == "CODE_DEPLOY" }

// generateCodeDeploy generates how CodeDeploy shifts traffic, and whether its group rolls back
// failures.
func (d *random) generateCodeDeploy(c *Case) {
	w := &c.World
	w.Controller = "CODE_DEPLOY"
	w.Config = d.oneOf("", "", "CodeDeployDefault.ECSCanary10Percent5Minutes",
		"CodeDeployDefault.ECSLinear10PercentEvery1Minutes")
	w.Undo = d.chance(50)
	w.Keep, w.Managed = d.oneDuration(0, 0, 5*time.Minute), d.chance(40)
}

// codeDeployFault returns a fault of the calls on CodeDeploy.
func (d *random) codeDeployFault() string {
	on := d.oneOf("codedeploy:*", "codedeploy:CreateDeployment", "codedeploy:StopDeployment",
		"codedeploy:BatchGetDeploymentTargets", "codedeploy:GetDeployment")
	return []string{
		fmt.Sprintf("throttle %s p=0.%d", on, 1+d.upTo(3)), fmt.Sprintf("5xx %s p=0.2", on),
		fmt.Sprintf("lost-reply %s times=%d", on, 1+d.upTo(2)),
		fmt.Sprintf("no-send %s p=0.2", on), fmt.Sprintf("stale codedeploy:* by=%ds p=0.5", 1+d.upTo(4)),
		fmt.Sprintf("throttle %s for=%ds", on, 1+d.upTo(120)),
	}[d.upTo(5)]
}

func (c Case) writeCodeDeploy(d *draft) {
	if !c.World.usesCodeDeploy() {
		return
	}
	writeLine(&d.service, "deploymentController: {type: CODE_DEPLOY}")
	writeLine(&d.service, "loadBalancers: [{targetGroupArn: %q, containerName: web, containerPort: %d}]",
		c.World.Primary.ARN, c.World.Port)
	if c.World.Managed {
		writeLine(&d.service, "enableECSManagedTags: true")
	}
}

// codeDeployFlows returns the flows of services that CodeDeploy deploys.
func codeDeployFlows(with func(...func(*Case)) Case, bad, suspends func(*Case)) []Flow {
	shifts := func(c *Case) { c.World.Controller = "CODE_DEPLOY" }
	steps := func(c *Case) { c.World.Config = "CodeDeployDefault.ECSCanary10Percent5Minutes" }
	undo := func(c *Case) { c.World.Undo = true }
	managed := func(c *Case) { c.World.Managed = true }
	during := func(event, does string) func(*Case) {
		return func(c *Case) { c.Interventions = append(c.Interventions, Intervention{Event: event, Does: does}) }
	}
	asks := func(ready time.Duration, hooks string) func(*Case) {
		return func(c *Case) {
			c.World.Ready, c.World.Hooks, c.World.Test, c.World.Alarm = ready, hooks, hooks != "", true
		}
	}
	continued := func(c *Case) { c.Interventions = append(c.Interventions, Intervention{Does: ContinueCodeDeploy}) }
	return []Flow{
		{"CodeDeploy", with(shifts)},
		{"CodeDeploy, a share first", with(shifts, steps)},
		{"CodeDeploy, attributes too", with(shifts, managed)},
		{"CodeDeploy, rolled back by sluice", with(shifts, bad)},
		{"CodeDeploy, rolled back by CodeDeploy", with(shifts, bad, undo)},
		{"CodeDeploy, rolled back while it installs", with(shifts, managed, during("Install", Rollback))},
		{"CodeDeploy, rolled back with a share moved", with(shifts, steps, during("AllowTraffic", Rollback))},
		{"CodeDeploy, rolled back on request", with(shifts, managed, rollbackAfter(1))},
		{"CodeDeploy, hooks, continued by a person", with(shifts, asks(20*time.Minute, agreeHook), continued)},
		{"CodeDeploy, continued by a person, rolled back on request", with(shifts, asks(20*time.Minute, ""), rollbackAfter(1),
			continued)},
		{"CodeDeploy, not continued", with(shifts, asks(10*time.Minute, ""))},
		{"CodeDeploy, a hook refuses", with(shifts, undo, asks(0, "fail:AfterAllowTestTraffic"))},
		{"CodeDeploy, a hook refuses all traffic", with(shifts, managed, asks(0, "fail:AfterAllowTraffic"))},
		{"CodeDeploy, an alarm", with(shifts, steps, asks(0, ""), during("AllowTraffic", RaiseAlarm))},
		{"CodeDeploy, stopped by another actor", with(shifts, steps, during("AllowTraffic", StopCodeDeploy+" 0"))},
		{"CodeDeploy, stopped and rolled back by another actor",
			with(shifts, steps, during("AllowTraffic", StopCodeDeploy+" 1"))},
		{"CodeDeploy that suspends auto scaling", with(shifts, suspends)},
		{"CodeDeploy that suspends auto scaling, rolled back by sluice", with(shifts, suspends, bad)},
		{"CodeDeploy that suspends auto scaling, rolled back by CodeDeploy", with(shifts, suspends, bad, undo)},
		{"CodeDeploy that suspends auto scaling, rolled back with a share moved",
			with(shifts, suspends, steps, during("AllowTraffic", Rollback))},
		{"CodeDeploy that suspends auto scaling, rolled back on request", with(shifts, suspends, rollbackAfter(1))},
	}
}

// checkStoppedWithRollback checks that sluice stops a CodeDeploy deployment together with its
// rollback, which is the fastest one. Otherwise the replacement task set would get requests until
// another deployment has ended (P2).
func (f *rehearsal) checkStoppedWithRollback(tx *world.Tx) {
	if f.hasIntervention(StopCodeDeploy) || f.hasIntervention(DeleteService) {
		return
	}
	for _, d := range codedeployer.StateOf(tx).Deployments.Values() {
		if w := d.Failure; w != nil && w.Code == "MANUAL_STOP" && d.Green != nil && d.RollbackID == "" &&
			d.Creator == codedeployer.ByUser {
			f.addViolation("P2", "CodeDeploy's deployment %s was stopped without its rollback", d.ID)
		}
	}
}

// checkManagedTags checks that a service that was rolled back has its former attributes (P3).
func (f *rehearsal) checkManagedTags(fresh bool) {
	if !f.World.Managed || fresh || f.hasSecondSluice() {
		return
	}
	if live := f.readService(); live != nil && live.Raw.EnableECSManagedTags {
		f.addViolation("P3", "enableECSManagedTags is true; it was false")
	}
}

// ruleText returns the actions of a rule. Under CodeDeploy the two groups alternate: only whether
// the serving group gets everything matters.
func (f *rehearsal) ruleText(s *world.Service, r *world.Rule) string {
	p, w := s.Primary(), f.weightsOf(r)
	if !f.World.usesCodeDeploy() || p == nil || len(p.Attached) == 0 || w[0]+w[1] != max(w[0], w[1]) {
		return world.ActionsText(r.Actions)
	}
	if serving := p.Attached[0].TargetGroup; serving == f.World.Primary.ARN && w[0] > 0 ||
		serving == f.World.Canary.ARN && w[1] > 0 {
		return "all to the serving group"
	}
	return world.ActionsText(r.Actions)
}

// checkDeployedOnce checks that CodeDeploy gets one deployment forward and one back, despite lost
// replies and kills (P3). A deployment back that failed or was stopped does not count.
func (f *rehearsal) checkDeployedOnce(tx *world.Tx) {
	if !f.World.usesCodeDeploy() || f.hasSecondSluice() {
		return
	}
	asked := map[string]int{}
	for _, d := range codedeployer.StateOf(tx).Deployments.Values() {
		back := d.Spec.Definition[strings.LastIndex(d.Spec.Definition, "/")+1:] == "web:1"
		if d.Creator == codedeployer.ByUser &&
			!(back && (d.Status == codedeployer.Stopped || d.Status == codedeployer.Failed)) {
			asked[d.Spec.Definition[strings.LastIndex(d.Spec.Definition, "/")+1:]]++
		}
	}
	for revision, n := range asked {
		if n > 1 {
			f.addViolation("P3", "CodeDeploy got %d requests for a deployment of %s", n, revision)
		}
	}
}
