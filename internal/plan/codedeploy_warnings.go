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
		p.addWarning("the service is created: CodeDeploy deploys from the next time on, once a deployment group " +
			"names the service; a rollback would leave the service as it is then")
		return
	case live.DeployerErr != nil:
		p.addWarning("a new version cannot be deployed yet: %v", live.DeployerErr)
		return
	case !c.Deploys || d == nil:
		return
	}
	if d.Running != "" {
		p.addWarning("deployment %s of CodeDeploy runs on %s now, and a group has one at a time: this one is "+
			"refused until that has ended", d.Running, c.Name())
	}
	if strings.Contains(d.Listener, ":listener/net/") && c.ConfigUsed != allAtOnce {
		p.addWarning("the listener is a Network Load Balancer's, which %s does not fit: CodeDeploy moves its "+
			"traffic all at once only", c.ConfigUsed)
	}
	if d.Ready > 0 {
		p.addWarning("before traffic moves, CodeDeploy waits up to %s for somebody to continue, and stops "+
			"otherwise: sluice approve continues it", FormatDuration(d.Ready))
	}
	if d.Terminate > 0 {
		p.addWarning("the original task set is kept for %s after the shift, and the deployment ends only then",
			FormatDuration(d.Terminate))
	}
	if d.TestListener == "" &&
		slices.ContainsFunc(c.Hooks, func(h definition.Hook) bool { return h.Event == "AfterAllowTestTraffic" }) {
		p.addWarning("the hook AfterAllowTestTraffic is not called: deployment group %s has no test listener", c.Name())
	}
}
