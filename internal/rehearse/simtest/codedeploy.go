package simtest

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// Services that CodeDeploy deploys.

// generateCodeDeploy generates how CodeDeploy shifts traffic, and whether its group rolls back
// failures.
func (d *random) generateCodeDeploy(c *rehearse.Case) {
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

func (d *draft) writeCodeDeploy(c rehearse.Case) {
	if !c.World.UsesCodeDeploy() {
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
func codeDeployFlows(with func(...func(*rehearse.Case)) rehearse.Case, bad, suspends func(*rehearse.Case)) []Flow {
	shifts := func(c *rehearse.Case) { c.World.Controller = "CODE_DEPLOY" }
	steps := func(c *rehearse.Case) { c.World.Config = "CodeDeployDefault.ECSCanary10Percent5Minutes" }
	undo := func(c *rehearse.Case) { c.World.Undo = true }
	managed := func(c *rehearse.Case) { c.World.Managed = true }
	during := func(event, does string) func(*rehearse.Case) {
		return func(c *rehearse.Case) {
			c.Interventions = append(c.Interventions, rehearse.Intervention{Event: event, Does: does})
		}
	}
	asks := func(ready time.Duration, hooks string) func(*rehearse.Case) {
		return func(c *rehearse.Case) {
			c.World.Ready, c.World.Hooks, c.World.Test, c.World.Alarm = ready, hooks, hooks != "", true
		}
	}
	continued := func(c *rehearse.Case) {
		c.Interventions = append(c.Interventions, rehearse.Intervention{Does: rehearse.ContinueCodeDeploy})
	}
	return []Flow{
		{"CodeDeploy", with(shifts)},
		{"CodeDeploy, a share first", with(shifts, steps)},
		{"CodeDeploy, attributes too", with(shifts, managed)},
		{"CodeDeploy, rolled back by sluice", with(shifts, bad)},
		{"CodeDeploy, rolled back by CodeDeploy", with(shifts, bad, undo)},
		{"CodeDeploy, rolled back while it installs", with(shifts, managed, during("Install", rehearse.Rollback))},
		{"CodeDeploy, rolled back with a share moved", with(shifts, steps, during("AllowTraffic", rehearse.Rollback))},
		{"CodeDeploy, rolled back on request", with(shifts, managed, rollbackAfter(1))},
		{"CodeDeploy, hooks, continued by a person", with(shifts, asks(20*time.Minute, shape.AgreeHook), continued)},
		{"CodeDeploy, continued by a person, rolled back on request", with(shifts, asks(20*time.Minute, ""), rollbackAfter(1),
			continued)},
		{"CodeDeploy, not continued", with(shifts, asks(10*time.Minute, ""))},
		{"CodeDeploy, a hook refuses", with(shifts, undo, asks(0, "fail:AfterAllowTestTraffic"))},
		{"CodeDeploy, a hook refuses all traffic", with(shifts, managed, asks(0, "fail:AfterAllowTraffic"))},
		{"CodeDeploy, an alarm", with(shifts, steps, asks(0, ""), during("AllowTraffic", rehearse.RaiseAlarm))},
		{"CodeDeploy, stopped by another actor", with(shifts, steps, during("AllowTraffic", rehearse.StopCodeDeploy+" 0"))},
		{"CodeDeploy, stopped and rolled back by another actor",
			with(shifts, steps, during("AllowTraffic", rehearse.StopCodeDeploy+" 1"))},
		{"CodeDeploy that suspends auto scaling", with(shifts, suspends)},
		{"CodeDeploy that suspends auto scaling, rolled back by sluice", with(shifts, suspends, bad)},
		{"CodeDeploy that suspends auto scaling, rolled back by CodeDeploy", with(shifts, suspends, bad, undo)},
		{"CodeDeploy that suspends auto scaling, rolled back with a share moved",
			with(shifts, suspends, steps, during("AllowTraffic", rehearse.Rollback))},
		{"CodeDeploy that suspends auto scaling, rolled back on request", with(shifts, suspends, rollbackAfter(1))},
	}
}
