package mode

import "github.com/sluice-ecs/sluice/internal/plan"

// forcesDeployment reports whether a deployment is made even if nothing changes.
func (o Options) forcesDeployment() bool { return o.Force || o.Restart != "" }

// planRestart plans a new deployment of the revision that is PRIMARY already and that AWS has given
// up. A rolling service is not rolled back then: the state before the deployment is the same
// failing revision.
func planRestart(p *plan.Plan, o Options) {
	if o.Restart == "" {
		return
	}
	p.Changes = append(p.Changes, plan.Change{Of: "service", Path: "deployment", Have: o.Restart,
		Want: "a new deployment", Kind: plan.Alters})
	if !rulesOf(p.Mode()).ecsReplacesTasks {
		return
	}
	p.Force = true
	if p.AutoRollback {
		p.AutoRollback = false
		p.Notes = append(
			p.Notes, "a failure is not rolled back: the previous state is the same revision, which does not work")
	}
}
