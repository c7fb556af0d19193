package mode

import (
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// newStage returns a stage with the options of the file, without its writes.
func newStage(index int, from appfile.Stage) plan.Stage {
	s := plan.Stage{Index: index, Name: from.Name, Desc: from.Desc, Timeout: from.Timeout}
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
func addStageWrites(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	switch {
	case s.ReplacesAll():
		s.Recreate = p.Recreate && !live.IsFirstDeployment() && p.Controller == plan.ControllerExternal
		if p.ByCodeDeploy() {
			addShiftWrites(p, s, live)
		} else {
			addSyncWrites(p, s, live)
		}
	case s.StartsCanary():
		addCanaryWrites(p, s, live)
	case s.ShiftsTraffic():
		addRoutingWrites(p, s, live, *s.Weights)
	case s.ReplacesPrimary():
		addPrimaryWrites(p, s, live)
	case s.EndsCanary():
		addCleanWrites(p, s, live)
	case s.Adopts():
		addAdoptWrites(p, s, live)
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

func addSyncWrites(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addUpdateWrites(p, s, live)
	if p.HasCanaryService() {
		addRoutes(p, s, live, sluice.CanaryShare(0))
		addCanaryServiceDeletes(p, s)
	}
	if p.RollsByECS() {
		return
	}
	if s.Recreate {
		s.AddWrite("ecs:UpdateTaskSet", plan.PreviousPrimarySet)
	}
	s.AddWrite("ecs:CreateTaskSet", p.ServiceResource())
	s.AddWrite("ecs:UpdateTaskSet", plan.NewPrimarySet)
	s.AddWrite("ecs:UpdateServicePrimaryTaskSet", plan.NewPrimarySet)
	addRoutes(p, s, live, sluice.CanaryShare(0))
	addRetireWrites(s, plan.PreviousPrimarySet, plan.CanarySet, plan.OtherSets)
	if p.OnOtherTargets == sluice.RemoveTargets {
		addRetireWrites(s, plan.ExternalSets)
	}
}

func addRetireWrites(s *plan.Stage, labels ...string) {
	for _, l := range labels {
		s.AddWrite("ecs:UpdateTaskSet", l)
		s.AddWrite("ecs:DeleteTaskSet", l)
	}
}

func addCanaryWrites(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	if p.Extends {
		addRoutes(p, s, live, sluice.CanaryShare(0))
	}
	addCreateWrites(p, s, live)
	if p.HasCanaryService() {
		addCanaryServiceWrites(p, s)
		return
	}
	s.AddWrite("ecs:CreateTaskSet", p.ServiceResource())
	s.AddWrite("ecs:UpdateTaskSet", plan.CanarySet)
}

func addRoutingWrites(p *plan.Plan, s *plan.Stage, live plan.AWSState, w sluice.Weights) {
	addRoutes(p, s, live, w)
	addClaimWrites(p, s)
}

// addRoutes adds the rules that the stage may write, with the weights that they have afterwards.
func addRoutes(p *plan.Plan, s *plan.Stage, live plan.AWSState, w sluice.Weights) {
	for _, r := range live.WritableRules() {
		s.Routes = append(s.Routes, plan.Route{Rule: r.ARN, Name: ruleName(r), Weights: w})
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

func addPrimaryWrites(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addUpdateWrites(p, s, live)
	if p.RollsByECS() {
		return
	}
	s.AddWrite("ecs:CreateTaskSet", p.ServiceResource())
	s.AddWrite("ecs:UpdateTaskSet", plan.NewPrimarySet)
	s.AddWrite("ecs:UpdateServicePrimaryTaskSet", plan.NewPrimarySet)
	if !s.KeepOld && live.PrimarySet() != nil {
		addRetireWrites(s, plan.PreviousPrimarySet)
	}
}

func addCleanWrites(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addRoutes(p, s, live, sluice.CanaryShare(0))
	if p.HasCanaryService() {
		addCanaryServiceDeletes(p, s)
	} else {
		addRetireWrites(s, plan.CanarySet)
	}
	addClaimWrites(p, s)
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
	s := plan.Stage{Index: index, Name: appfile.StageRollback}
	if p.ByCodeDeploy() {
		addShiftBackWrites(p, &s)
		return s
	}
	if live.Service != nil && live.ServiceStatus() == "ACTIVE" {
		s.AddWrite("ecs:UpdateService", p.ServiceResource())
	}
	addClaimWrites(p, &s)
	addRoutes(p, &s, live, sluice.CanaryShare(0))
	for i := range s.Routes {
		s.Routes[i].Weights = currentWeights(live, p)
	}
	if p.HasCanaryService() {
		addCanaryServiceReturn(p, &s)
	}
	if p.RollsByECS() {
		if !live.IsFirstDeployment() { // otherwise the service is kept as it is
			s.AddWrite("ecs:StopServiceDeployment", plan.OwnDeployment)
		}
		return s
	}
	if live.PrimarySet() != nil {
		s.AddWrite("ecs:UpdateTaskSet", plan.PreviousPrimarySet)
		s.AddWrite("ecs:UpdateServicePrimaryTaskSet", plan.PreviousPrimarySet, plan.RestoredSet)
		s.AddWrite("ecs:CreateTaskSet", p.ServiceResource())
		s.AddWrite("ecs:UpdateTaskSet", plan.RestoredSet)
	}
	addRetireWrites(&s, plan.NewPrimarySet, plan.CanarySet)
	return s
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
