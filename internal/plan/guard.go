package plan

import (
	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// addGuardWrites adds the writes of a stage that are not part of its own work. A wait renews the
// claim. With onOutsideChange: reassert, a stage restores the expected state.
func (p *Plan) guard(live Live) {
	canary, primary := false, false
	for i := range p.Stages {
		s := &p.Stages[i]
		if p.ByCodeDeploy() {
			continue // only CodeDeploy changes a deployment that it runs
		}
		if s.Waits() {
			p.claim(s)
		}
		switch p.OnOutsideChange {
		case sluice.ReassertChange:
			p.reassert(s, live, canary, primary)
		case sluice.AdoptChange:
			p.steer(s, live)
		}
		switch s.Name {
		case appfile.StageCanaryRollout:
			canary = true
		case appfile.StageCanaryClean:
			canary = false
		case appfile.StagePrimaryRollout:
			primary = true
		case appfile.StageSync:
			canary, primary = false, true
		}
	}
}

// IsWait reports whether the stage waits for time to pass or for approvals.
func (s Stage) Waits() bool { return s.Name == appfile.StageWait || s.Name == appfile.StageApproval }

// addReassertWrites adds the writes that restore the state in which the stage begins.
func (p *Plan) reassert(s *Stage, live Live, canary, primary bool) {
	if s.Name == appfile.StageAdopt {
		return
	}
	s.write("ecs:UpdateService", p.resource())
	p.steer(s, live)
	if p.Beside() && canary {
		s.write("ecs:CreateService", p.besideResource())
		s.write("ecs:UpdateService", p.besideResource())
		s.write("ecs:TagResource", p.besideResource())
	}
	if p.Rolls() {
		return
	}
	if canary {
		s.write("ecs:UpdateTaskSet", CanarySet)
		s.write("ecs:CreateTaskSet", p.resource())
	}
	label := OldPrimarySet
	if primary {
		label = NewPrimarySet
	}
	if primary || live.primary() != nil {
		s.write("ecs:UpdateTaskSet", label)
		s.write("ecs:UpdateServicePrimaryTaskSet", label)
	}
}

// addSteerWrites adds the writes that route requests away from a canary without usable targets.
func (p *Plan) steer(s *Stage, live Live) {
	p.claim(s)
	for _, r := range live.rules() {
		w := ruleWrite(r)
		s.write(w.Operation, w.Resource)
	}
}
