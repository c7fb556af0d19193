package mode

import (
	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// addGuardWrites adds the writes of a stage that are not part of its own work. A wait renews the
// claim. With onOutsideChange: reassert, a stage restores the expected state.
func addGuardWrites(p *plan.Plan, live plan.AWSState) {
	for i := range p.Stages {
		rulesOf(p.Mode()).guardWrites(p, &p.Stages[i], live, p.StateBefore(i))
	}
}

// guardService adds the writes that guard any service. It reports whether the stage restores the
// state in which it begins.
func guardService(p *plan.Plan, s *plan.Stage, live plan.AWSState) (restores bool) {
	if s.IsWait() {
		addClaimWrites(p, s)
	}
	switch p.OnOutsideChange {
	case sluice.ReassertChange:
		if s.Adopts() {
			return false
		}
		s.AddWrite("ecs:UpdateService", p.ServiceResource())
		addSteerWrites(p, s, live)
		return true
	case sluice.AdoptChange:
		addSteerWrites(p, s, live)
	}
	return false
}

// addSteerWrites adds the writes that route requests away from a canary without usable targets.
func addSteerWrites(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addClaimWrites(p, s)
	for _, r := range live.WritableRules() {
		w := ruleWrite(r)
		s.AddWrite(w.Operation, w.Resource)
	}
}
