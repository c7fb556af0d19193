package plan

import (
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// planStage returns the plan of one stage: its options and every write that it may make.
func (p *Plan) stage(index int, from appfile.Stage, live Live) Stage {
	s := Stage{Index: index, Name: from.Name, Desc: from.Desc, Timeout: from.Timeout}
	switch with := from.With.(type) {
	case appfile.Sync:
		s.Recreate = p.Recreate && !live.first() && p.Controller == controllerExternal
		if p.ByCodeDeploy() {
			p.shift(&s, live)
		} else {
			p.sync(&s, live)
		}
	case appfile.CanaryRollout:
		s.Scale = with.Scale
		p.canaryRollout(&s, live)
	case appfile.TrafficRouting:
		s.Weights, s.Exact = &with.Weights, with.Exact
		p.route(&s, live, with.Weights)
	case appfile.PrimaryRollout:
		s.KeepOld = with.KeepOld
		p.primaryRollout(&s, live)
	case appfile.CanaryClean:
		p.canaryClean(&s, live)
	case appfile.Adopt:
		p.adopt(&s, live)
	case appfile.Wait:
		s.Duration = with.Duration
	case appfile.Approval:
		s.Approvers, s.Approvals = with.Approvers, max(1, with.MinApprovers)
	}
	return s
}

func (s *Stage) write(operation string, resources ...string) {
	for _, r := range resources {
		if w := (sluice.Write{Operation: operation, Resource: r}); !s.Lists(w) {
			s.Writes = append(s.Writes, w)
		}
	}
}

// addClaimWrites adds the writes that renew the claim. Every stage that writes needs them.
func (p *Plan) claim(s *Stage) {
	s.write("ecs:TagResource", p.resource())
	p.scales(s)
}

// addCreateWrites adds the writes that a stage may need before it creates a task set: register the
// revision, create the service.
func (p *Plan) found(s *Stage, live Live) {
	if live.Identical == "" {
		s.write("ecs:RegisterTaskDefinition", p.To)
	}
	if live.Service == nil || live.status() != "ACTIVE" {
		s.write("ecs:CreateService", p.resource())
	}
	p.claim(s)
}

// addUpdateWrites adds the writes of addCreateWrites and the update of the service attributes.
func (p *Plan) prepare(s *Stage, live Live) {
	p.found(s, live)
	s.write("ecs:UpdateService", p.resource())
}

func (p *Plan) sync(s *Stage, live Live) {
	p.prepare(s, live)
	if p.Beside() {
		p.routes(s, live, sluice.CanaryShare(0))
		p.besideRetire(s)
	}
	if p.Rolls() {
		return
	}
	if s.Recreate {
		s.write("ecs:UpdateTaskSet", OldPrimarySet)
	}
	s.write("ecs:CreateTaskSet", p.resource())
	s.write("ecs:UpdateTaskSet", NewPrimarySet)
	s.write("ecs:UpdateServicePrimaryTaskSet", NewPrimarySet)
	p.routes(s, live, sluice.CanaryShare(0))
	s.retire(OldPrimarySet, CanarySet, OtherSets)
	if p.OnOtherTargets == sluice.RemoveTargets {
		s.retire(ForeignSets)
	}
}

func (s *Stage) retire(labels ...string) {
	for _, l := range labels {
		s.write("ecs:UpdateTaskSet", l)
		s.write("ecs:DeleteTaskSet", l)
	}
}

func (p *Plan) canaryRollout(s *Stage, live Live) {
	if p.Extends {
		p.routes(s, live, sluice.CanaryShare(0))
	}
	p.found(s, live)
	if p.Beside() {
		p.besideRollout(s)
		return
	}
	s.write("ecs:CreateTaskSet", p.resource())
	s.write("ecs:UpdateTaskSet", CanarySet)
}

func (p *Plan) route(s *Stage, live Live, w sluice.Weights) {
	p.routes(s, live, w)
	p.claim(s)
}

// addRoutes adds the rules that the stage may write, with the weights that they have afterwards.
func (p *Plan) routes(s *Stage, live Live, w sluice.Weights) {
	for _, r := range live.rules() {
		s.Routes = append(s.Routes, Route{Rule: r.ARN, Name: ruleName(r), Weights: w})
		s.Writes = append(s.Writes, ruleWrite(r))
	}
	s.Writes = unique(s.Writes)
}

func unique(writes []sluice.Write) []sluice.Write {
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

func ruleName(r sluice.Rule) string {
	if r.Priority == "default" {
		return fmt.Sprintf("default rule of port %d", r.Port)
	}
	return fmt.Sprintf("rule %s of port %d", r.Priority, r.Port)
}

func ruleWrite(r sluice.Rule) sluice.Write {
	if r.Priority == "default" {
		return sluice.Write{Operation: "elasticloadbalancing:ModifyListener", Resource: r.Listener}
	}
	return sluice.Write{Operation: "elasticloadbalancing:ModifyRule", Resource: r.ARN}
}

func (p *Plan) primaryRollout(s *Stage, live Live) {
	p.prepare(s, live)
	if p.Rolls() {
		return
	}
	s.write("ecs:CreateTaskSet", p.resource())
	s.write("ecs:UpdateTaskSet", NewPrimarySet)
	s.write("ecs:UpdateServicePrimaryTaskSet", NewPrimarySet)
	if !s.KeepOld && live.primary() != nil {
		s.retire(OldPrimarySet)
	}
}

func (p *Plan) canaryClean(s *Stage, live Live) {
	p.routes(s, live, sluice.CanaryShare(0))
	if p.Beside() {
		p.besideRetire(s)
	} else {
		s.retire(CanarySet)
	}
	p.claim(s)
}

// adjustAcrossStages adapts the writes of a stage to earlier stages. A primary that an earlier
// stage kept is deleted together with the canary. A write that an earlier stage has done once is
// dropped from later stages: to register the revision and to create the service.
func (p *Plan) spread() {
	kept := false
	done := map[sluice.Write]bool{}
	for i := range p.Stages {
		s := &p.Stages[i]
		s.Writes = slices.DeleteFunc(s.Writes, func(w sluice.Write) bool { return done[w] })
		for _, w := range s.Writes {
			once := w.Operation == "ecs:RegisterTaskDefinition" || w.Operation == "ecs:CreateService" && w.Resource == p.resource()
			done[w] = done[w] || once
		}
		if kept && s.Name == appfile.StageCanaryClean {
			s.retire(OldPrimarySet)
		}
		kept = kept || s.KeepOld
	}
}

// planRollback returns the plan of the rollback.
func (p *Plan) rollback(index int, live Live) Stage {
	s := Stage{Index: index, Name: appfile.StageRollback}
	if p.ByCodeDeploy() {
		p.shiftBack(&s)
		return s
	}
	if live.Service != nil && live.status() == "ACTIVE" {
		s.write("ecs:UpdateService", p.resource())
	}
	p.claim(&s)
	p.routes(&s, live, sluice.CanaryShare(0))
	for i := range s.Routes {
		s.Routes[i].Weights = formerWeights(live, p)
	}
	if p.Beside() {
		p.besideReturn(&s)
	}
	if p.Rolls() {
		if !live.first() { // otherwise the service is kept as it is
			s.write("ecs:StopServiceDeployment", OurDeployment)
		}
		return s
	}
	if live.primary() != nil {
		s.write("ecs:UpdateTaskSet", OldPrimarySet)
		s.write("ecs:UpdateServicePrimaryTaskSet", OldPrimarySet, RestoredSet)
		s.write("ecs:CreateTaskSet", p.resource())
		s.write("ecs:UpdateTaskSet", RestoredSet)
	}
	s.retire(NewPrimarySet, CanarySet)
	return s
}

// currentWeights returns the current weights of the rules, or 100 / 0 if they are not whole
// percentages.
func formerWeights(live Live, p *Plan) sluice.Weights {
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
