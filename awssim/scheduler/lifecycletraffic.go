package scheduler

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// hasTestRule reports whether a target group of the new revision has a rule for test traffic.
func (l *lifecycle) hasTestRule() bool {
	return slices.ContainsFunc(l.green.Attached, func(a world.Attachment) bool { return a.TestRule != "" })
}

// shiftTest sends all test traffic to the new revision; in a rollback, none. Without a test rule
// the stage has no work.
func (l *lifecycle) shiftTest(tx *world.Tx, svc *world.Service) bool {
	if l.settleAt.IsZero() && l.hasTestRule() {
		to := wholeTraffic
		if l.isBack {
			to = 0
		}
		l.writeShares(tx, l.production, to)
	}
	return l.isSettled(tx, svc)
}

// shiftProduction sends the next share of the requests to the new revision; in a rollback, none.
// The first deployment of a service has no other revision, so it gets all requests at once.
func (l *lifecycle) shiftProduction(tx *world.Tx, svc *world.Service) bool {
	if l.settleAt.IsZero() {
		to := l.strategy.nextShare(l.production)
		switch {
		case l.isBack:
			to = 0
		case l.blue == nil:
			to = wholeTraffic
		}
		l.writeShares(tx, to, l.test)
	}
	return l.isSettled(tx, svc)
}

// isSettled reports whether the weights that the stage wrote have reached all nodes.
func (l *lifecycle) isSettled(tx *world.Tx, svc *world.Service) bool {
	if l.settleAt.IsZero() {
		l.settleAt = tx.Now().Add(l.settleTime(tx))
	}
	if l.settleAt.After(tx.Now()) {
		reconcileAt(tx, svc, l.settleAt)
		return false
	}
	return true
}

// settleTime returns how long ECS waits for written weights: about ten minutes with a Network Load
// Balancer (Developer Guide, "Network Load Balancer resources for Amazon ECS blue/green deployments").
func (l *lifecycle) settleTime(tx *world.Tx) time.Duration {
	k := tx.Settings()
	longest := k.WeightPropagation.Max
	for _, a := range l.green.Attached {
		rule, ok := tx.ShiftedRule(a.ProductionRule)
		if ok && rule.Listener.Balancer.Type == "network" && k.NetworkWeightPropagation.Max > 0 {
			longest = max(longest, k.NetworkWeightPropagation.Max+time.Minute)
		}
	}
	return longest
}

// writeShares writes the weights of the rules. ECS does not look at the live weights: it overwrites
// changes of others. A deleted rule fails the deployment.
func (l *lifecycle) writeShares(tx *world.Tx, production, test Share) {
	l.production, l.test = production, test
	for _, a := range l.green.Attached {
		for _, w := range []struct {
			rule  string
			share Share
		}{{a.ProductionRule, production}, {a.TestRule, test}} {
			if w.rule == "" {
				continue
			}
			rule, ok := tx.ShiftedRule(w.rule)
			if !ok || rule.ForwardAction() == nil {
				l.failure = ruleMissing
				tx.Changed(world.ServiceChanged, l.green.Service)
				continue
			}
			writeWeights(tx, rule, a, w.share)
		}
	}
}

// writeWeights writes the weights of the two target groups into a rule. It keeps stickiness and the
// other actions.
func writeWeights(tx *world.Tx, rule *world.Rule, a world.Attachment, share Share) {
	green, blue := int32(share/10), int32((wholeTraffic-share)/10)
	if share%10 != 0 { // weights are whole numbers up to 999
		green, blue = int32(share), int32(wholeTraffic-share)
	}
	shares := []world.Share{{Group: a.Alternate, Weight: blue}, {Group: a.TargetGroup, Weight: green}}
	if f := rule.ForwardAction(); len(f.Groups) > 0 && f.Groups[0].Group == a.TargetGroup {
		slices.Reverse(shares) // the order of the rule stays
	}
	if slices.Equal(rule.ForwardAction().Groups, shares) {
		return
	}
	actions := slices.Clone(rule.Actions)
	for i := range actions {
		if actions[i].Forward != nil {
			f := *actions[i].Forward
			f.Groups = shares
			actions[i].Forward = &f
		}
	}
	tx.SetActions(rule, actions)
}
