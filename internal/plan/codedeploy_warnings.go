package plan

import (
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// allAtOnce is the predefined configuration that shifts all traffic in one step. It is the only
// predefined one that Network Load Balancers support.
const allAtOnce = "CodeDeployDefault.ECSAllAtOnce"

// warnCodeDeploy warns about effects of the deployment group that a user may not expect.
func (p *Plan) warnCodeDeploy(live AWSState) {
	c, d := p.CodeDeploy, live.Deployer
	switch {
	case p.createsService(live):
		p.addWarning("sluice creates the service itself. CodeDeploy deploys it from the next deployment on, once a " +
			"deployment group names the service; a rollback does not change the created service")
		return
	case live.DeployerErr != nil:
		p.addWarning("a new version cannot be deployed yet: %v", live.DeployerErr)
		return
	case !c.Deploys || d == nil:
		return
	}
	if d.Running != "" {
		p.addWarning("CodeDeploy deployment %s of %s is running, and a group allows one at a time: this deployment "+
			"is refused until it ends", d.Running, c.Name())
	}
	if strings.Contains(d.Listener, ":listener/net/") && c.ConfigUsed != allAtOnce {
		p.addWarning("the listener belongs to a Network Load Balancer, which does not support %s: CodeDeploy shifts "+
			"its traffic only with AllAtOnce", c.ConfigUsed)
	}
	if d.Ready > 0 {
		p.addWarning("before it shifts traffic, CodeDeploy waits up to %s for an approval, and stops without one: "+
			"sluice approve continues the deployment", FormatDuration(d.Ready))
	}
	if d.Terminate > 0 {
		p.addWarning("CodeDeploy keeps the original task set for %s after the shift, and the deployment ends only "+
			"then",
			FormatDuration(d.Terminate))
	}
	if d.TestListener == "" &&
		slices.ContainsFunc(c.Hooks, func(h definition.Hook) bool { return h.Event == "AfterAllowTestTraffic" }) {
		p.addWarning("the hook AfterAllowTestTraffic is not called: deployment group %s has no test listener", c.Name())
	}
}
