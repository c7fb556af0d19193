package mode

import (
	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// addGuardWrites adds the writes of a stage that are not part of its own work. A wait renews the
// claim. With onOutsideChange: reassert, a stage restores the expected state.
func addGuardWrites(p *plan.Plan, live plan.AWSState) {
	for i := range p.Stages {
		s := &p.Stages[i]
		if p.ByCodeDeploy() {
			continue // only CodeDeploy changes a deployment that it runs
		}
		if s.IsWait() {
			addClaimWrites(p, s)
		}
		switch p.OnOutsideChange {
		case sluice.ReassertChange:
			addReassertWrites(p, s, live, p.StateBefore(i))
		case sluice.AdoptChange:
			addSteerWrites(p, s, live)
		}
	}
}

// addReassertWrites adds the writes that restore the state in which the stage begins.
func addReassertWrites(p *plan.Plan, s *plan.Stage, live plan.AWSState, begins plan.State) {
	if s.Adopts() {
		return
	}
	s.AddWrite("ecs:UpdateService", p.ServiceResource())
	addSteerWrites(p, s, live)
	if p.HasCanaryService() && begins.Canary.Exists() {
		s.AddWrite("ecs:CreateService", p.CanaryResource())
		s.AddWrite("ecs:UpdateService", p.CanaryResource())
		s.AddWrite("ecs:TagResource", p.CanaryResource())
	}
	if p.RollsByECS() {
		return
	}
	if begins.Canary.Exists() {
		s.AddWrite("ecs:UpdateTaskSet", plan.CanarySet)
		s.AddWrite("ecs:CreateTaskSet", p.ServiceResource())
	}
	label := plan.PreviousPrimarySet
	if begins.NewPrimary {
		label = plan.NewPrimarySet
	}
	if begins.NewPrimary || live.PrimarySet() != nil {
		s.AddWrite("ecs:UpdateTaskSet", label)
		s.AddWrite("ecs:UpdateServicePrimaryTaskSet", label)
	}
}

// addSteerWrites adds the writes that route requests away from a canary without usable targets.
func addSteerWrites(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addClaimWrites(p, s)
	for _, r := range live.WritableRules() {
		w := ruleWrite(r)
		s.AddWrite(w.Operation, w.Resource)
	}
}
