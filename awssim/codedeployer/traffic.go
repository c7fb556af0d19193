package codedeployer

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// pairRules returns the rules of a listener that forward only to the pair's target groups.
func (d *Deployment) pairRules(tx *world.Tx, listener string) (all []*world.Rule) {
	l, ok := tx.Listeners.Get(listener)
	if !ok {
		return nil
	}
	for _, r := range l.Rules {
		if f := r.ForwardAction(); f != nil && d.forwardsToPair(f) {
			all = append(all, r)
		}
	}
	return all
}

func (d *Deployment) forwardsToPair(f *world.Forward) bool {
	for _, s := range f.Groups {
		if s.Group != d.BlueGroup.ARN && s.Group != d.GreenGroup.ARN {
			return false
		}
	}
	return len(f.Groups) > 0
}

// shiftProduction sends that percentage of production traffic to green. It overwrites external
// changes of the rules.
func (s *Controller) shiftProduction(tx *world.Tx, d *Deployment, percent int) {
	d.Weight, d.Updated = float64(percent), tx.Now()
	s.writeWeights(tx, d, d.Settings.Production, percent)
}

// writeWeights writes the weights of a listener's rules. It keeps stickiness and all other actions
// of the rules.
func (s *Controller) writeWeights(tx *world.Tx, d *Deployment, listener string, percent int) {
	shares := []world.Share{{Group: d.BlueGroup.ARN, Weight: int32(100 - percent)},
		{Group: d.GreenGroup.ARN, Weight: int32(percent)}}
	for _, r := range d.pairRules(tx, listener) {
		if slices.Equal(r.ForwardAction().Groups, shares) {
			continue
		}
		actions := slices.Clone(r.Actions)
		for i := range actions {
			if actions[i].Forward != nil {
				f := *actions[i].Forward
				f.Groups = slices.Clone(shares)
				actions[i].Forward = &f
			}
		}
		tx.SetActions(r, actions)
	}
}

// propagationDelay returns the time to wait until a written rule has reached the nodes.
func (s *Controller) propagationDelay(tx *world.Tx, d *Deployment) time.Duration {
	delay := tx.Settings().WeightPropagation
	if l, ok := tx.Listeners.Get(d.Settings.Production); ok && l.Balancer.Type == "network" {
		delay = tx.Settings().NetworkWeightPropagation
	}
	return delay.Max + s.stepDelay(tx, d)
}

// allowTestTraffic sends test traffic to green.
func (s *Controller) allowTestTraffic(tx *world.Tx, d *Deployment) {
	if len(d.pairRules(tx, d.Settings.Test)) == 0 {
		s.failDeployment(tx, d, Failure{"ELASTIC_LOAD_BALANCING_INVALID",
			"The ELB could not be updated due to the following error: the test listener " + d.Settings.Test +
				" forwards to none of the target groups of the deployment group"})
		return
	}
	s.writeWeights(tx, d, d.Settings.Test, 100)
	s.completeStep(tx, d)
}

// allowTraffic shifts production traffic, in one, two or more steps.
func (s *Controller) allowTraffic(tx *world.Tx, d *Deployment) {
	percent := 100
	switch r := d.Settings.Routing; {
	case r.Percent == 0:
	case r.Linear:
		percent = min(100, int(d.Weight)+r.Percent)
	case d.Weight == 0:
		percent = r.Percent
	}
	s.shiftProduction(tx, d, percent)
	if percent < 100 {
		s.runAfter(tx, d, d.Settings.Routing.Every, s.allowTraffic)
		return
	}
	s.ecs.Promote(tx, d.Green)
	s.runAfter(tx, d, s.propagationDelay(tx, d), s.completeStep)
}

// awaitTermination keeps the original task set for the configured wait, then deletes it.
func (s *Controller) awaitTermination(tx *world.Tx, d *Deployment) {
	if d.Settings.KeepBlue {
		s.runNextStep(tx, d)
		return
	}
	d.Terminating, d.Updated = true, tx.Now()
	s.runAfter(tx, d, d.Settings.BlueWait, s.deleteOriginal)
}

// TerminateOriginal ends the wait before the original task set is deleted. It reports whether the
// deployment was in that wait.
func (s *Controller) TerminateOriginal(tx *world.Tx, d *Deployment) bool {
	if !d.Terminating || d.stopping || d.HasEnded() {
		return false
	}
	s.runNext(tx, d, s.deleteOriginal)
	return true
}

func (s *Controller) deleteOriginal(tx *world.Tx, d *Deployment) {
	s.ecs.Retire(tx, d.Blue)
	s.runNextStep(tx, d)
}
