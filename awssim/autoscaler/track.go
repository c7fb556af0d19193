package autoscaler

import (
	"math"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	metricPeriod = time.Minute // of the metric
	// A policy's alarms: three minutes above the target raise the high alarm, fifteen below 90
	// percent of it the low alarm (User Guide, "Target tracking scaling policies"; observed on
	// alarms of AWS).
	highMinutes, lowMinutes = 3, 15
	lowShare                = 0.9
)

// PutPolicy adds a policy to a target, or replaces it and resets its alarms.
func (s *Controller) PutPolicy(tx *world.Tx, t *Target, p *Policy) {
	t.Policies.Put(p.Name, p)
	tx.Log("scalable target", t.ID, "policy %s", p.Name)
	s.scheduleCheck(tx, t)
}

// scheduleCheck reads the metric every minute, while there is a metric and a policy on it.
func (s *Controller) scheduleCheck(tx *world.Tx, t *Target) {
	svc := t.activeService(tx)
	if t.tick.Pending() || svc == nil || svc.Demand == nil || !t.hasTracking() {
		return
	}
	t.tick = tx.After(metricPeriod, func(tx *world.Tx) {
		s.countMinute(tx, t)
		s.actOnAlarms(tx, t)
		s.scheduleCheck(tx, t)
	})
}

func (t *Target) hasTracking() bool {
	for _, p := range t.Policies.All() {
		if p.isTracking() {
			return true
		}
	}
	return false
}

// Utilization returns the average CPU utilization of a service's tasks, in percent; ok is false if
// there is no metric.
func Utilization(svc *world.Service) (percent float64, ok bool) {
	n := svc.RunningCount()
	if svc.Demand == nil || n == 0 {
		return 0, false
	}
	return min(100, *svc.Demand/float64(n)), true
}

// countMinute counts one minute of the metric.
func (s *Controller) countMinute(tx *world.Tx, t *Target) {
	svc := t.activeService(tx)
	if svc == nil {
		return
	}
	u, ok := Utilization(svc)
	for _, p := range t.Policies.All() {
		if p.Tracking == nil {
			continue
		}
		p.above, p.below = nextCount(p.above, ok && u > p.Tracking.Target),
			nextCount(p.below, ok && u < lowShare*p.Tracking.Target)
	}
}

func nextCount(n int, breached bool) int {
	if breached {
		return n + 1
	}
	return 0
}

// actOnAlarms scales for raised alarms: out to the largest count that a policy wants, in only if
// every policy wants it.
func (s *Controller) actOnAlarms(tx *world.Tx, t *Target) {
	svc := t.activeService(tx)
	if svc == nil {
		return
	}
	u, ok := Utilization(svc)
	if !ok {
		return
	}
	if p, n := t.largestWanted(svc, u, (*Policy).isHighRaised); p != nil && n > svc.Desired {
		s.scaleOut(tx, t, svc, p, n)
		return
	}
	if p, n := t.largestWanted(svc, u, (*Policy).isTracking); p != nil && n < svc.Desired && t.allScaleIn() {
		s.scaleIn(tx, t, svc, p, n)
	}
}

// largestWanted returns the policy that wants the largest count, among those for which f is true.
func (t *Target) largestWanted(svc *world.Service, u float64, f func(*Policy) bool) (by *Policy, want int) {
	for _, p := range t.Policies.All() {
		if !p.isTracking() || !f(p) {
			continue
		}
		n := min(max(int(math.Ceil(float64(svc.Desired)*u/p.Tracking.Target-1e-9)), t.Min), t.Max)
		if by == nil || n > want {
			by, want = p, n
		}
	}
	return by, want
}

// allScaleIn reports whether every policy would scale in.
func (t *Target) allScaleIn() bool {
	for _, p := range t.Policies.All() {
		if p.isTracking() && (!p.isLowRaised() || p.Tracking.DisableScaleIn) {
			return false
		}
	}
	return true
}

func (p *Policy) isTracking() bool   { return p.Tracking != nil }
func (p *Policy) isHighRaised() bool { return p.above >= highMinutes }
func (p *Policy) isLowRaised() bool  { return p.below >= lowMinutes }

func (s *Controller) scaleOut(tx *world.Tx, t *Target, svc *world.Service, p *Policy, want int) {
	if t.Suspended.Out || tx.Now().Before(t.wentOut.Add(p.Tracking.Out)) {
		return
	}
	t.wentOut = tx.Now()
	s.setDesired(tx, t, svc, want, "monitor alarm "+p.High+" in state ALARM triggered policy "+p.Name)
}

func (s *Controller) scaleIn(tx *world.Tx, t *Target, svc *world.Service, p *Policy, want int) {
	cool := tx.Now().Before(t.wentIn.Add(p.Tracking.In)) || tx.Now().Before(t.wentOut.Add(p.Tracking.Out))
	if t.Suspended.In || cool || isDeployed(svc) {
		return
	}
	t.wentIn = tx.Now()
	s.setDesired(tx, t, svc, want, "monitor alarm "+p.Low+" in state ALARM triggered policy "+p.Name)
}

// isDeployed reports whether ECS or CodeDeploy is deploying a service. For a service with
// controller EXTERNAL, its owner must suspend scaling.
func isDeployed(svc *world.Service) bool {
	switch svc.Controller {
	case "ECS":
		p := svc.Primary()
		return p != nil && p.RolloutState == "IN_PROGRESS"
	case "CODE_DEPLOY":
		return svc.DeployedBy != ""
	}
	return false
}
