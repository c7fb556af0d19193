package rehearse

import (
	"reflect"
	"slices"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// requests are those that a rule gets.
type requests struct {
	port       int32
	conditions []world.Condition
}

// findRoutes finds the rules of the world's listeners.
func (e *Environment) findRoutes(tx *world.Tx) {
	e.requests = map[string]requests{}
	e.Case.World.EachRule(func(l shape.Listener, r shape.Rule) {
		for _, x := range tx.Rules.Values() {
			if x.Listener.Port == l.Port && x.Listener.Balancer.ARN == e.Case.World.Balancer && x.Priority == r.Priority {
				e.Routes = append(e.Routes, x)
				e.requests[x.ARN] = requests{l.Port, x.Conditions}
			}
		}
	})
}

// EditRoute runs edit on the first rule, as another actor. It does nothing if the rule was deleted.
func (e *Environment) EditRoute(edit func(*world.Tx, *world.Rule)) {
	e.ActOutside(func(tx *world.Tx) {
		if len(e.Routes) == 0 {
			return
		}
		if r, ok := tx.Rules.Get(e.Routes[0].ARN); ok {
			edit(tx, r)
		}
	})
}

// MoveListener gives a listener another port.
func MoveListener(tx *world.Tx, l *world.Listener, port int32) {
	l.Port, l.Bound = port, ""
	tx.Changed(world.BalancerChanged, l.Balancer)
	tx.Changed(world.RoutingChanged, l)
}

// restoreDeleted creates a listener or a rule again that another actor has deleted, and lets it get its requests again.
func (e *Environment) restoreDeleted(tx *world.Tx, r *world.Rule) {
	if _, ok := tx.Listeners.Get(r.Listener.ARN); !ok {
		tx.AddListener(r.Listener)
	}
	if _, ok := tx.Rules.Get(r.ARN); !ok {
		tx.AddRule(r)
	}
	if front := ruleInFront(r.Listener); front != nil {
		tx.RemoveRule(front)
	}
	if was := e.requests[r.ARN]; !e.getsRequests(r) {
		tx.SetConditions(r, was.conditions)
		MoveListener(tx, r.Listener, was.port)
	}
	for _, g := range e.deletedGroups {
		if _, ok := tx.TargetGroups.Get(g.ARN); !ok {
			g.Targets, g.Balancer = nil, ""
			tx.TargetGroups.Put(g.ARN, g)
			tx.Changed(world.GroupChanged, g)
		}
	}
}

// DeleteGroup deletes a target group that no rule names.
func (e *Environment) DeleteGroup(tx *world.Tx, arn string) {
	g, ok := tx.TargetGroups.Get(arn)
	named := slices.ContainsFunc(tx.Rules.Values(), func(r *world.Rule) bool { return namesGroup(r, arn) })
	if !ok || named {
		return
	}
	e.deletedGroups = append(e.deletedGroups, g)
	tx.TargetGroups.Delete(arn)
	tx.Changed(world.GroupChanged, g)
}

func namesGroup(r *world.Rule, arn string) bool {
	fw := r.ForwardAction()
	return fw != nil && slices.ContainsFunc(fw.Groups, func(s world.Share) bool { return s.Group == arn })
}

// ruleInFront returns the rule that answers each request of a listener by itself, before its other rules, or nil.
func ruleInFront(l *world.Listener) *world.Rule {
	if first := l.Rules[0]; first.Priority == 1 && first.ForwardAction() == nil {
		return first
	}
	return nil
}

// getsRequests reports whether a rule gets the requests of its callers.
func (e *Environment) getsRequests(r *world.Rule) bool {
	was := e.requests[r.ARN]
	return ruleInFront(r.Listener) == nil && r.Listener.Port == was.port && reflect.DeepEqual(r.Conditions, was.conditions)
}

// canServe reports whether a rule gets requests, and sends each to a group with a healthy target.
func (e *Environment) canServe(tx *world.Tx, r *world.Rule) bool {
	fw := r.ForwardAction()
	if fw == nil || !e.getsRequests(r) {
		return false
	}
	all := int32(0)
	for _, s := range fw.Groups {
		g, exists := tx.TargetGroups.Get(s.Group)
		if all += s.Weight; s.Weight > 0 && (!exists || g.Count("healthy") == 0) {
			return false
		}
	}
	return all > 0
}

// shiftsElsewhere reports whether ECS's own strategy shifts the requests of a rule of a further load balancer.
func (e *Environment) shiftsElsewhere(r *world.Rule) bool {
	return e.Case.World.Strategy.Kind != "" && slices.ContainsFunc(e.Case.World.OtherGroups(),
		func(g shape.Group) bool { return namesGroup(r, g.ARN) })
}

// isRoute reports whether a rule exists and names a group of the service. A rolling service has one group: a rule that
// gives all weight to another one does not reach it.
func (e *Environment) isRoute(tx *world.Tx, r *world.Rule) bool {
	_, exists := tx.Rules.Get(r.ARN)
	w := e.Case.World
	if w.Controller == "ECS" && !e.Case.HasCanaryService() && !w.AlternatesGroups() {
		now := e.weightsOf(r)
		return exists && namesGroup(r, w.Primary.ARN) && (now[0] > 0 || now[1] == 0)
	}
	return exists && (namesGroup(r, w.Primary.ARN) || namesGroup(r, w.Canary.ARN))
}
