package plan

import (
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// newStage returns a stage with the options of the file, without its writes.
func newStage(index int, from appfile.Stage) Stage {
	s := Stage{Index: index, Name: from.Name, Desc: from.Desc, Timeout: from.Timeout}
	switch with := from.With.(type) {
	case appfile.CanaryRollout:
		s.Scale = with.Scale
	case appfile.TrafficRouting:
		s.Weights, s.Exact = &with.Weights, with.Exact
	case appfile.PrimaryRollout:
		s.KeepOld = with.KeepOld
	case appfile.Wait:
		s.Duration = with.Duration
	case appfile.Approval:
		s.Approvers, s.Approvals = with.Approvers, max(1, with.MinApprovers)
	}
	return s
}

// addStageWrites adds every write that the stage may make.
func (p *Plan) addStageWrites(s *Stage, live AWSState) {
	switch {
	case s.ReplacesAll():
		s.Recreate = p.Recreate && !live.isFirstDeployment() && p.Controller == controllerExternal
		if p.ByCodeDeploy() {
			p.addShiftWrites(s, live)
		} else {
			p.addSyncWrites(s, live)
		}
	case s.StartsCanary():
		p.addCanaryWrites(s, live)
	case s.ShiftsTraffic():
		p.addRoutingWrites(s, live, *s.Weights)
	case s.ReplacesPrimary():
		p.addPrimaryWrites(s, live)
	case s.EndsCanary():
		p.addCleanWrites(s, live)
	case s.Adopts():
		p.addAdoptWrites(s, live)
	}
}

func (s *Stage) addWrite(operation string, resources ...string) {
	for _, r := range resources {
		if w := (sluice.Write{Operation: operation, Resource: r}); !s.MayWrite(w) {
			s.Writes = append(s.Writes, w)
		}
	}
}

// addClaimWrites adds the writes that renew the claim. Every stage that writes needs them.
func (p *Plan) addClaimWrites(s *Stage) {
	s.addWrite("ecs:TagResource", p.serviceResource())
	p.addScalingWrite(s)
}

// addCreateWrites adds the writes that a stage may need before it creates a task set: register the
// revision, create the service.
func (p *Plan) addCreateWrites(s *Stage, live AWSState) {
	if live.Identical == "" {
		s.addWrite("ecs:RegisterTaskDefinition", p.To)
	}
	if live.Service == nil || live.serviceStatus() != "ACTIVE" {
		s.addWrite("ecs:CreateService", p.serviceResource())
	}
	p.addClaimWrites(s)
}

// addUpdateWrites adds the writes of addCreateWrites and the update of the service attributes.
func (p *Plan) addUpdateWrites(s *Stage, live AWSState) {
	p.addCreateWrites(s, live)
	s.addWrite("ecs:UpdateService", p.serviceResource())
}

func (p *Plan) addSyncWrites(s *Stage, live AWSState) {
	p.addUpdateWrites(s, live)
	if p.HasCanaryService() {
		p.addRoutes(s, live, sluice.CanaryShare(0))
		p.addCanaryServiceDeletes(s)
	}
	if p.RollsByECS() {
		return
	}
	if s.Recreate {
		s.addWrite("ecs:UpdateTaskSet", PreviousPrimarySet)
	}
	s.addWrite("ecs:CreateTaskSet", p.serviceResource())
	s.addWrite("ecs:UpdateTaskSet", NewPrimarySet)
	s.addWrite("ecs:UpdateServicePrimaryTaskSet", NewPrimarySet)
	p.addRoutes(s, live, sluice.CanaryShare(0))
	s.addRetireWrites(PreviousPrimarySet, CanarySet, OtherSets)
	if p.OnOtherTargets == sluice.RemoveTargets {
		s.addRetireWrites(ExternalSets)
	}
}

func (s *Stage) addRetireWrites(labels ...string) {
	for _, l := range labels {
		s.addWrite("ecs:UpdateTaskSet", l)
		s.addWrite("ecs:DeleteTaskSet", l)
	}
}

func (p *Plan) addCanaryWrites(s *Stage, live AWSState) {
	if p.Extends {
		p.addRoutes(s, live, sluice.CanaryShare(0))
	}
	p.addCreateWrites(s, live)
	if p.HasCanaryService() {
		p.addCanaryServiceWrites(s)
		return
	}
	s.addWrite("ecs:CreateTaskSet", p.serviceResource())
	s.addWrite("ecs:UpdateTaskSet", CanarySet)
}

func (p *Plan) addRoutingWrites(s *Stage, live AWSState, w sluice.Weights) {
	p.addRoutes(s, live, w)
	p.addClaimWrites(s)
}

// addRoutes adds the rules that the stage may write, with the weights that they have afterwards.
func (p *Plan) addRoutes(s *Stage, live AWSState, w sluice.Weights) {
	for _, r := range live.writableRules() {
		s.Routes = append(s.Routes, Route{Rule: r.ARN, Name: ruleName(r), Weights: w})
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

func (p *Plan) addPrimaryWrites(s *Stage, live AWSState) {
	p.addUpdateWrites(s, live)
	if p.RollsByECS() {
		return
	}
	s.addWrite("ecs:CreateTaskSet", p.serviceResource())
	s.addWrite("ecs:UpdateTaskSet", NewPrimarySet)
	s.addWrite("ecs:UpdateServicePrimaryTaskSet", NewPrimarySet)
	if !s.KeepOld && live.primarySet() != nil {
		s.addRetireWrites(PreviousPrimarySet)
	}
}

func (p *Plan) addCleanWrites(s *Stage, live AWSState) {
	p.addRoutes(s, live, sluice.CanaryShare(0))
	if p.HasCanaryService() {
		p.addCanaryServiceDeletes(s)
	} else {
		s.addRetireWrites(CanarySet)
	}
	p.addClaimWrites(s)
}

// adjustAcrossStages adapts the writes of a stage to earlier stages. A primary that an earlier
// stage kept is deleted together with the canary. A write that an earlier stage has done once is
// dropped from later stages: to register the revision and to create the service.
func (p *Plan) adjustAcrossStages() {
	done := map[sluice.Write]bool{}
	for i := range p.Stages {
		s := &p.Stages[i]
		s.Writes = slices.DeleteFunc(s.Writes, func(w sluice.Write) bool { return done[w] })
		for _, w := range s.Writes {
			once := w.Operation == "ecs:RegisterTaskDefinition" || w.Operation == "ecs:CreateService" &&
				w.Resource == p.serviceResource()
			done[w] = done[w] || once
		}
		if b := p.StateBefore(i); b.NewPrimary && b.PreviousPrimary && s.EndsCanary() && !s.ReplacesAll() {
			s.addRetireWrites(PreviousPrimarySet)
		}
	}
}

// planRollback returns the plan of the rollback.
func (p *Plan) planRollback(index int, live AWSState) Stage {
	s := Stage{Index: index, Name: appfile.StageRollback}
	if p.ByCodeDeploy() {
		p.addShiftBackWrites(&s)
		return s
	}
	if live.Service != nil && live.serviceStatus() == "ACTIVE" {
		s.addWrite("ecs:UpdateService", p.serviceResource())
	}
	p.addClaimWrites(&s)
	p.addRoutes(&s, live, sluice.CanaryShare(0))
	for i := range s.Routes {
		s.Routes[i].Weights = currentWeights(live, p)
	}
	if p.HasCanaryService() {
		p.addCanaryServiceReturn(&s)
	}
	if p.RollsByECS() {
		if !live.isFirstDeployment() { // otherwise the service is kept as it is
			s.addWrite("ecs:StopServiceDeployment", OwnDeployment)
		}
		return s
	}
	if live.primarySet() != nil {
		s.addWrite("ecs:UpdateTaskSet", PreviousPrimarySet)
		s.addWrite("ecs:UpdateServicePrimaryTaskSet", PreviousPrimarySet, RestoredSet)
		s.addWrite("ecs:CreateTaskSet", p.serviceResource())
		s.addWrite("ecs:UpdateTaskSet", RestoredSet)
	}
	s.addRetireWrites(NewPrimarySet, CanarySet)
	return s
}

// currentWeights returns the current weights of the rules, or 100 / 0 if they are not whole
// percentages.
func currentWeights(live AWSState, p *Plan) sluice.Weights {
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
