package plan

import (
	"github.com/sluice-ecs/sluice"
)

// addGuardWrites adds the writes of a stage that are not part of its own work. A wait renews the
// claim. With onOutsideChange: reassert, a stage restores the expected state.
func (p *Plan) addGuardWrites(live AWSState) {
	for i := range p.Stages {
		s := &p.Stages[i]
		if p.ByCodeDeploy() {
			continue // only CodeDeploy changes a deployment that it runs
		}
		if s.IsWait() {
			p.addClaimWrites(s)
		}
		switch p.OnOutsideChange {
		case sluice.ReassertChange:
			p.addReassertWrites(s, live, p.StateBefore(i))
		case sluice.AdoptChange:
			p.addSteerWrites(s, live)
		}
	}
}

// addReassertWrites adds the writes that restore the state in which the stage begins.
func (p *Plan) addReassertWrites(s *Stage, live AWSState, begins State) {
	if s.Adopts() {
		return
	}
	s.addWrite("ecs:UpdateService", p.serviceResource())
	p.addSteerWrites(s, live)
	if p.HasCanaryService() && begins.Canary.Exists() {
		s.addWrite("ecs:CreateService", p.canaryResource())
		s.addWrite("ecs:UpdateService", p.canaryResource())
		s.addWrite("ecs:TagResource", p.canaryResource())
	}
	if p.RollsByECS() {
		return
	}
	if begins.Canary.Exists() {
		s.addWrite("ecs:UpdateTaskSet", CanarySet)
		s.addWrite("ecs:CreateTaskSet", p.serviceResource())
	}
	label := PreviousPrimarySet
	if begins.NewPrimary {
		label = NewPrimarySet
	}
	if begins.NewPrimary || live.primarySet() != nil {
		s.addWrite("ecs:UpdateTaskSet", label)
		s.addWrite("ecs:UpdateServicePrimaryTaskSet", label)
	}
}

// addSteerWrites adds the writes that route requests away from a canary without usable targets.
func (p *Plan) addSteerWrites(s *Stage, live AWSState) {
	p.addClaimWrites(s)
	for _, r := range live.writableRules() {
		w := ruleWrite(r)
		s.addWrite(w.Operation, w.Resource)
	}
}
