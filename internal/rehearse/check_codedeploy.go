package rehearse

import (
	"strings"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// checkStoppedWithRollback checks that sluice stops a CodeDeploy deployment together with its
// rollback, which is the fastest one. Otherwise the replacement task set would get requests until
// another deployment has ended (P2).
func (f *Rehearsal) checkStoppedWithRollback(tx *world.Tx) {
	if f.HasIntervention(StopCodeDeploy) || f.HasIntervention(DeleteService) {
		return
	}
	for _, d := range codedeployer.StateOf(tx).Deployments.Values() {
		if w := d.Failure; w != nil && w.Code == "MANUAL_STOP" && d.Green != nil && d.RollbackID == "" &&
			d.Creator == codedeployer.ByUser {
			f.AddViolation("P2", "CodeDeploy's deployment %s was stopped without its rollback", d.ID)
		}
	}
}

// checkManagedTags checks that a service that was rolled back has its former attributes (P3).
func (f *Rehearsal) checkManagedTags(fresh bool) {
	if !f.World.Managed || fresh || f.HasSecondSluice() {
		return
	}
	if live := f.readService(); live != nil && live.Raw.EnableECSManagedTags {
		f.AddViolation("P3", "enableECSManagedTags is true; it was false")
	}
}

// ruleText returns the actions of a rule. Under CodeDeploy the two groups alternate: only whether
// the serving group gets everything matters.
func (f *Rehearsal) ruleText(s *world.Service, r *world.Rule) string {
	p, w := s.Primary(), f.weightsOf(r)
	if !f.World.UsesCodeDeploy() || p == nil || len(p.Attached) == 0 || w[0]+w[1] != max(w[0], w[1]) {
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
func (f *Rehearsal) checkDeployedOnce(tx *world.Tx) {
	if !f.World.UsesCodeDeploy() || f.HasSecondSluice() {
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
			f.AddViolation("P3", "CodeDeploy got %d requests for a deployment of %s", n, revision)
		}
	}
}
