package mode

import (
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// allAtOnce is the predefined configuration that shifts all traffic in one step. It is the only
// predefined one that Network Load Balancers support.
const allAtOnce = "CodeDeployDefault.ECSAllAtOnce"

// warnCodeDeploy warns about effects of the deployment group that a user may not expect.
func warnCodeDeploy(p *plan.Plan, live plan.AWSState) {
	c, d := p.CodeDeploy, live.Deployer
	switch {
	case createsService(p, live):
		addWarning(p, "sluice creates the service itself. CodeDeploy deploys it from the next deployment on, once a "+
			"deployment group names the service; a rollback does not change the created service")
		return
	case live.DeployerErr != nil:
		addWarning(p, "a new version cannot be deployed yet: %v", live.DeployerErr)
		return
	case !c.Deploys || d == nil:
		return
	}
	if d.Running != "" {
		addWarning(p, "CodeDeploy deployment %s of %s is running, and a group allows one at a time: this deployment "+
			"is refused until it ends", d.Running, c.Name())
	}
	if strings.Contains(d.Listener, ":listener/net/") && c.ConfigUsed != allAtOnce {
		addWarning(p, "the listener belongs to a Network Load Balancer, which does not support %s: CodeDeploy shifts "+
			"its traffic only with AllAtOnce", c.ConfigUsed)
	}
	if d.Ready > 0 {
		addWarning(p, "before it shifts traffic, CodeDeploy waits up to %s for an approval, and stops without one: "+
			"sluice approve continues the deployment", plan.FormatDuration(d.Ready))
	}
	if d.Terminate > 0 {
		addWarning(p, "CodeDeploy keeps the original task set for %s after the shift, and the deployment ends only "+
			"then",
			plan.FormatDuration(d.Terminate))
	}
	if d.TestListener == "" &&
		slices.ContainsFunc(c.Hooks, func(h definition.Hook) bool { return h.Event == "AfterAllowTestTraffic" }) {
		addWarning(p, "the hook AfterAllowTestTraffic is not called: deployment group %s has no test listener",
			c.Name())
	}
}
