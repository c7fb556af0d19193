package ecs

import (
	"slices"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// checkShifting refuses a service whose deployments do not fit its strategy. w is the workload of
// the next deployment.
func checkShifting(svc *world.Service, strategy ecstypes.DeploymentStrategy, w *workload,
	registries []ecstypes.ServiceRegistry) error {
	switch {
	case !isShifting(strategy):
		return nil
	case svc.Daemon:
		return invalidParameter("The %s deployment strategy only supports the REPLICA scheduling strategy.", strategy)
	case len(registries) > 0:
		return notSimulated("Service discovery with deployment strategy " + string(strategy))
	case isConnected(w.connect):
		return w.checkConnectShift(strategy)
	case len(w.balancers) == 0 && strategy != strategyBlueGreen:
		return invalidParameter("The %s deployment strategy requires a load balancer or Service Connect.", strategy)
	}
	return nil
}

// checkUnusedPair checks the pair that a rolling deployment stores for a later strategy.
func checkUnusedPair(b *ecstypes.LoadBalancer) error {
	if b.AdvancedConfiguration == nil {
		return nil
	}
	return checkPairFields(pairOf(b), b.AdvancedConfiguration)
}

// pairOf returns the target groups and rules of a load balancer entry with an advancedConfiguration.
func pairOf(b *ecstypes.LoadBalancer) world.Attachment {
	c := b.AdvancedConfiguration
	return world.Attachment{TargetGroup: val(b.TargetGroupArn), Alternate: val(c.AlternateTargetGroupArn),
		ProductionRule: val(c.ProductionListenerRule), TestRule: val(c.TestListenerRule)}
}

func checkPairFields(a world.Attachment, c *ecstypes.AdvancedConfiguration) error {
	switch {
	case a.Alternate == "":
		return invalidParameter("alternateTargetGroupArn can not be blank.")
	case a.Alternate == a.TargetGroup:
		return invalidParameter("alternateTargetGroupArn must be different from targetGroupArn.")
	case a.ProductionRule == "":
		return invalidParameter("productionListenerRule can not be blank.")
	case a.ProductionRule == a.TestRule:
		return invalidParameter("testListenerRule must be different from productionListenerRule.")
	case !isARN(val(c.RoleArn)):
		return invalidParameter("roleArn of advancedConfiguration must be the ARN of a role.")
	}
	return nil
}

// keepLiveGroups makes a rolling deployment of a pair of target groups start its tasks in the one in
// which the running tasks are: ECS does not shift the traffic of a rolling deployment (Developer Guide,
// "Update the deployment strategy from Amazon ECS blue/green to rolling update").
func (w *workload) keepLiveGroups(running *world.TaskSet) {
	if running == nil {
		return
	}
	for i := range w.balancers {
		b := &w.balancers[i]
		if c := b.AdvancedConfiguration; c != nil && slices.ContainsFunc(running.Attached,
			func(a world.Attachment) bool { return a.TargetGroup == val(c.AlternateTargetGroupArn) }) {
			b.TargetGroupArn, c.AlternateTargetGroupArn = c.AlternateTargetGroupArn, b.TargetGroupArn
		}
	}
}

// PlaceInServingGroups makes a new service start its tasks in the target group of each pair that gets
// the requests of the production rule. After an odd number of deployments that is the alternate one.
func PlaceInServingGroups(tx *world.Tx, svc *world.Service) {
	p := svc.Primary()
	for i, b := range docOfSet(p).LoadBalancers {
		if b.AdvancedConfiguration == nil {
			continue
		}
		pair, weights := pairOf(&b), map[string]int32{}
		if rule, ok := tx.ShiftedRule(pair.ProductionRule); ok && rule.ForwardAction() != nil {
			for _, s := range rule.ForwardAction().Groups {
				weights[s.Group] = s.Weight
			}
		}
		if weights[pair.TargetGroup] > 0 || weights[pair.Alternate] == 0 {
			continue
		}
		p.Attached[i].TargetGroup = pair.Alternate
		for _, r := range docOfService(svc).revisions {
			r.shape.ResolvedConfiguration.LoadBalancers[i].TargetGroupArn = ptr(pair.Alternate)
		}
	}
}

// checkPair checks the two target groups and the rules of a load balancer entry, and adds them to
// its attachment.
func (w *workload) checkPair(tx *world.Tx, b *ecstypes.LoadBalancer, a *world.Attachment) error {
	c := b.AdvancedConfiguration
	if c == nil {
		return invalidParameter("advancedConfiguration must be specified for load balancers with the %s deployment "+
			"strategy.", w.shifting)
	}
	p := pairOf(b)
	if err := checkPairFields(p, c); err != nil {
		return err
	}
	a.Alternate, a.ProductionRule, a.TestRule = p.Alternate, p.ProductionRule, p.TestRule
	for _, group := range []string{a.TargetGroup, a.Alternate} {
		if err := w.checkGroup(tx, group); err != nil {
			return err
		}
		if g, _ := tx.TargetGroups.Get(group); g.TargetType != "ip" {
			return invalidParameter("The target group %s must have target type ip with the %s deployment strategy.",
				group, w.shifting)
		}
	}
	if err := checkRule(tx, "productionListenerRule", a.ProductionRule, *a, 2); err != nil || a.TestRule == "" {
		return err
	}
	return checkRule(tx, "testListenerRule", a.TestRule, *a, 1)
}

// checkRule refuses a rule that does not exist, or that does not forward to at least so many of the
// pair's target groups and to no other. AWS documents the need of both groups for VPC Lattice only.
func checkRule(tx *world.Tx, field, arn string, a world.Attachment, groups int) error {
	rule, ok := tx.ShiftedRule(arn)
	if !ok {
		return invalidParameter("The %s %s does not exist.", field, arn)
	}
	found := map[string]bool{}
	if f := rule.ForwardAction(); f != nil {
		for _, s := range f.Groups {
			found[s.Group] = s.Group == a.TargetGroup || s.Group == a.Alternate
		}
	}
	for _, own := range found {
		if !own {
			return invalidParameter("The %s %s forwards to a target group that is not part of the service.", field, arn)
		}
	}
	if len(found) < groups {
		return invalidParameter("The %s %s must forward to the target groups %s and %s.", field, arn, a.TargetGroup,
			a.Alternate)
	}
	return nil
}

// checkDeployed refuses the workload of a deployment that AWS refuses with the service's strategy.
func (w *workload) checkDeployed(tx *world.Tx, svc *world.Service, strategy ecstypes.DeploymentStrategy,
	registries []ecstypes.ServiceRegistry) error {
	if isShifting(strategy) {
		w.shifting = strategy
	}
	return firstError(checkShifting(svc, strategy, w, registries), w.checkWorkload(tx, svc.Cluster, maxTargetGroups))
}

// checkRunning refuses another strategy without a deployment, if the running workload does not fit
// it.
func checkRunning(tx *world.Tx, svc *world.Service, strategy ecstypes.DeploymentStrategy) error {
	running := currentSet(svc)
	if running == nil || !isShifting(strategy) || strategy == docOfService(svc).shape.DeploymentConfiguration.Strategy {
		return nil
	}
	return runningWorkload(running).checkDeployed(tx, svc, strategy, docOfSet(running).ServiceRegistries)
}
