package codedeployer

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// installReplacement finds the original task set and its target group, and makes ECS start the
// replacement behind the other target group.
func (s *Controller) installReplacement(tx *world.Tx, d *Deployment) {
	s.limitStep(tx, d, eventTimeout, func(tx *world.Tx) {
		s.failDeployment(tx, d, Failure{"TIMEOUT",
			"The deployment timed out while waiting for the replacement task set to become healthy. This time out " +
				"period is 60 minutes."})
	})
	if why := d.assignGroups(tx); why != nil {
		s.failDeployment(tx, d, *why)
		return
	}
	// The replacement's group is added to the rules with weight 0. It is checked from now on, and
	// ECS accepts only groups that are behind a load balancer.
	s.shiftProduction(tx, d, 0)
	// No request follows this change, so a Network Load Balancer takes no longer for it.
	s.runAfter(tx, d, tx.Settings().WeightPropagation.Max+s.stepDelay(tx, d), s.clearTaskSets)
}

// assignGroups identifies blue and green: the target group of the PRIMARY task set is blue.
func (d *Deployment) assignGroups(tx *world.Tx) *Failure {
	d.Blue = d.Service.Primary()
	if d.Blue == nil || len(d.Blue.Attached) == 0 {
		return &Failure{"INVALID_ECS_SERVICE", "The Amazon ECS service " + d.Service.Name +
			" has no PRIMARY task set behind a target group."}
	}
	var pair [2]*world.TargetGroup
	for i, name := range d.Settings.Pair {
		if pair[i] = groupNamed(tx, name); pair[i] == nil {
			return &Failure{"ELASTIC_LOAD_BALANCING_INVALID", "The target group " + name + " does not exist."}
		}
	}
	switch d.Blue.Attached[0].TargetGroup {
	case pair[0].ARN:
		d.BlueGroup, d.GreenGroup = pair[0], pair[1]
	case pair[1].ARN:
		d.BlueGroup, d.GreenGroup = pair[1], pair[0]
	default:
		return &Failure{"ELASTIC_LOAD_BALANCING_INVALID",
			"The ELB could not be updated due to the following error: The primary task set's target group is none " +
				"of the deployment group's."}
	}
	return d.checkRoutes(tx)
}

func (d *Deployment) checkRoutes(tx *world.Tx) *Failure {
	if len(d.pairRules(tx, d.Settings.Production)) == 0 {
		return &Failure{"ELASTIC_LOAD_BALANCING_INVALID",
			"The ELB could not be updated due to the following error: Primary taskset target group must be behind " +
				"listener " + d.Settings.Production}
	}
	l, _ := tx.Listeners.Get(d.Settings.Production)
	if l.Balancer.Type == "network" && d.Settings.Routing.Percent > 0 {
		return &Failure{"ELASTIC_LOAD_BALANCING_INVALID",
			"The ELB could not be updated due to the following error: a Network Load Balancer supports the " +
				"deployment configuration CodeDeployDefault.ECSAllAtOnce only."}
	}
	return nil
}

func groupNamed(tx *world.Tx, name string) *world.TargetGroup {
	for _, g := range tx.TargetGroups.All() {
		if g.Name == name {
			return g
		}
	}
	return nil
}

// clearTaskSets deletes leftover task sets of earlier deployments and waits until they are deleted.
// They take no traffic at this point.
func (s *Controller) clearTaskSets(tx *world.Tx, d *Deployment) {
	left := slices.DeleteFunc(slices.Clone(d.Service.TaskSets), func(ts *world.TaskSet) bool { return ts == d.Blue })
	if len(left) == 0 {
		s.createReplacement(tx, d)
		return
	}
	for _, ts := range left {
		if ts.Status != "DRAINING" {
			s.ecs.Retire(tx, ts)
		}
	}
	s.pollLater(tx, d, s.clearTaskSets)
}

// createReplacement makes ECS start the replacement task set.
func (s *Controller) createReplacement(tx *world.Tx, d *Deployment) {
	ts, err := s.ecs.Replace(tx, d.Service, world.Replacement{
		Definition: d.Spec.Definition, TargetGroup: d.GreenGroup.ARN, Container: d.Spec.Container, Port: d.Spec.Port,
		PlatformVersion: d.Spec.Platform, Network: d.Spec.Network, Providers: d.Spec.Providers, ExternalID: d.ID,
	})
	if err != nil {
		s.failDeployment(tx, d, Failure{"ECS_UPDATE_ERROR",
			"The ECS service cannot be updated due to the following error: " + errorText(err)})
		return
	}
	d.Green, d.Updated = ts, tx.Now()
	s.pollLater(tx, d, s.awaitSteady)
}

func errorText(err error) string {
	if r, ok := err.(*world.Refusal); ok {
		return r.Message
	}
	return err.Error()
}

// awaitSteady waits until the replacement has all its tasks, each healthy.
func (s *Controller) awaitSteady(tx *world.Tx, d *Deployment) {
	ts := d.Green
	if ts.Stability == "STEADY_STATE" && ts.Count((*world.Task).IsRunning) == ts.Computed {
		s.completeStep(tx, d)
		return
	}
	s.pollLater(tx, d, s.awaitSteady)
}

// pollLater runs f again later, after a second at the earliest.
func (s *Controller) pollLater(tx *world.Tx, d *Deployment, f func(*world.Tx, *Deployment)) {
	s.runAfter(tx, d, max(time.Second, s.stepDelay(tx, d)), f)
}
