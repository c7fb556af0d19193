package rehearse

import (
	"strings"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// checkStoppedWithRollback checks that sluice stops a CodeDeploy deployment together with its
// rollback, which is the fastest one. Otherwise the replacement task set would get requests until
// another deployment has ended (P2).
func (c *EndChecks) checkStoppedWithRollback(tx *world.Tx) {
	if c.env.Case.HasIntervention(StopCodeDeploy) || c.env.Case.HasIntervention(DeleteService) {
		return
	}
	for _, d := range codedeployer.StateOf(tx).Deployments.Values() {
		if w := d.Failure; w != nil && w.Code == "MANUAL_STOP" && d.Green != nil && d.RollbackID == "" &&
			d.Creator == codedeployer.ByUser {
			c.report.AddViolation("P2", "CodeDeploy's deployment %s was stopped without its rollback", d.ID)
		}
	}
}

// checkManagedTags checks that a service that was rolled back has its former attributes (P3).
func (c *EndChecks) checkManagedTags(fresh bool) {
	if !c.env.Case.World.Managed || fresh || c.seconds.Exist() {
		return
	}
	if live := c.env.readService(); live != nil && live.Raw.EnableECSManagedTags {
		c.report.AddViolation("P3", "enableECSManagedTags is true; it was false")
	}
}

// checkDeployedOnce checks that CodeDeploy gets one deployment forward and one back, despite lost
// replies and kills (P3). A deployment back that failed or was stopped does not count.
func (c *EndChecks) checkDeployedOnce(tx *world.Tx) {
	if !c.env.Case.World.UsesCodeDeploy() || c.seconds.Exist() {
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
			c.report.AddViolation("P3", "CodeDeploy got %d requests for a deployment of %s", n, revision)
		}
	}
}
