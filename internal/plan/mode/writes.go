package mode

import (
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// addStageWrites adds every write that the stage may make.
func addStageWrites(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	r := rulesOf(p.Mode())
	switch {
	case s.ReplacesAll():
		r.syncWrites(p, s, live)
	case s.StartsCanary():
		r.canaryWrites(p, s, live)
	case s.ShiftsTraffic():
		addRoutes(p, s, live, *s.Weights)
		addClaimWrites(p, s)
	case s.ReplacesPrimary():
		r.primaryWrites(p, s, live)
	case s.EndsCanary():
		r.cleanWrites(p, s, live)
	case s.Adopts():
		addClaimWrites(p, s)
		r.adoptWrites(p, s, live)
	}
}

// addClaimWrites adds the writes that renew the claim. Every stage that writes needs them.
func addClaimWrites(p *plan.Plan, s *plan.Stage) {
	s.AddWrite("ecs:TagResource", p.ServiceResource())
	addScalingWrite(p, s)
}

// addCreateWrites adds the writes that a stage may need before it creates a task set: register the
// revision, create the service.
func addCreateWrites(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	if live.Identical == "" {
		s.AddWrite("ecs:RegisterTaskDefinition", p.To)
	}
	if live.Service == nil || live.ServiceStatus() != "ACTIVE" {
		s.AddWrite("ecs:CreateService", p.ServiceResource())
	}
	addClaimWrites(p, s)
}

// addUpdateWrites adds the writes of addCreateWrites and the update of the service attributes.
func addUpdateWrites(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addCreateWrites(p, s, live)
	s.AddWrite("ecs:UpdateService", p.ServiceResource())
}

func addRetireWrites(s *plan.Stage, labels ...string) {
	for _, l := range labels {
		s.AddWrite("ecs:UpdateTaskSet", l)
		s.AddWrite("ecs:DeleteTaskSet", l)
	}
}

// addVariantWrites adds the writes before a canary is created, wherever it runs.
func addVariantWrites(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	if p.Extends {
		addRoutes(p, s, live, sluice.CanaryShare(0))
	}
	addCreateWrites(p, s, live)
}

// addRoutes adds the rules that the stage may write, with the weights that they have afterwards.
func addRoutes(p *plan.Plan, s *plan.Stage, live plan.AWSState, w sluice.Weights) {
	for _, r := range live.WritableRules() {
		s.Routes = append(s.Routes, plan.Route{Rule: r.ARN, Name: r.Name(), Weights: w})
		s.Writes = append(s.Writes, ruleWrite(r))
	}
	s.Writes = uniqueWrites(s.Writes)
}

func uniqueWrites(writes []sluice.Write) []sluice.Write {
	var out []sluice.Write
	seen := map[sluice.Write]bool{}
	for _, w := range writes {
		if !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

func ruleWrite(r sluice.Rule) sluice.Write {
	if r.IsDefault() {
		return sluice.Write{Operation: "elasticloadbalancing:ModifyListener", Resource: r.Listener}
	}
	return sluice.Write{Operation: "elasticloadbalancing:ModifyRule", Resource: r.ARN}
}

// adjustAcrossStages adapts the writes of a stage to earlier stages. A primary that an earlier
// stage kept is deleted together with the canary. A write that an earlier stage has done once is
// dropped from later stages: to register the revision and to create the service.
func adjustAcrossStages(p *plan.Plan) {
	done := map[sluice.Write]bool{}
	for i := range p.Stages {
		s := &p.Stages[i]
		s.Writes = slices.DeleteFunc(s.Writes, func(w sluice.Write) bool { return done[w] })
		for _, w := range s.Writes {
			once := w.Operation == "ecs:RegisterTaskDefinition" || w.Operation == "ecs:CreateService" &&
				w.Resource == p.ServiceResource()
			done[w] = done[w] || once
		}
		if b := p.StateBefore(i); b.NewPrimary && b.PreviousPrimary && s.EndsCanary() && !s.ReplacesAll() {
			addRetireWrites(s, plan.PreviousPrimarySet)
		}
	}
}

// planRollback returns the plan of the rollback.
func planRollback(p *plan.Plan, index int, live plan.AWSState) plan.Stage {
	s := newRollbackStage(index)
	rulesOf(p.Mode()).rollbackWrites(p, &s, live)
	if family, _, ok := strings.Cut(p.From, ":"); ok && p.From != p.To {
		s.AddWrite("ecs:RegisterTaskDefinition", family) // a copy of the former revision, if that is INACTIVE by then
	}
	return s
}

// addRestoreWrites adds the writes of a rollback that every service may need: its attributes, the
// claim, and the weights of rules.
func addRestoreWrites(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	if live.Service != nil && live.ServiceStatus() == "ACTIVE" {
		s.AddWrite("ecs:UpdateService", p.ServiceResource())
	}
	addClaimWrites(p, s)
	addRoutes(p, s, live, sluice.CanaryShare(0))
	for i := range s.Routes {
		s.Routes[i].Weights = currentWeights(live, p)
	}
}

// currentWeights returns the current weights of the rules, or 100 / 0 if they are not whole
// percentages.
func currentWeights(live plan.AWSState, p *plan.Plan) sluice.Weights {
	if len(live.Steered) == 0 || p.Canary == nil {
		return sluice.CanaryShare(0)
	}
	primary, _ := live.Steered[0].Weight(p.Primary.ARN)
	canary, _ := live.Steered[0].Weight(p.Canary.ARN)
	if primary+canary == 0 || canary*100%(primary+canary) != 0 {
		return sluice.CanaryShare(0)
	}
	return sluice.CanaryShare(canary * 100 / (primary + canary))
}
