package view

import "slices"

// followTo returns the ARNs of the rules that get the requests which a rule redirects to a port of its load balancer;
// none: it redirects none there, or it is not known which rule gets some of them.
func followTo(r Route, rules []Route) (all []string) {
	if r.ToPort == 0 {
		return nil
	}
	for _, alternative := range alternatives(r.Conditions) {
		to := r.follow(alternative, rules)
		if to == nil {
			return nil
		}
		all = WithGroup(all, to.ARN)
	}
	return all
}

// follow returns the rule that gets each request which meets the conditions and which r redirects; nil: there is none.
func (r Route) follow(conditions []Condition, rules []Route) (to *Route) {
	for i, x := range rules {
		if x.Balancer == r.Balancer && x.Port == r.ToPort && matchesAll(x.Conditions, conditions) &&
			(to == nil || x.isBefore(*to)) {
			to = &rules[i]
		}
	}
	return to
}

// leadsHere reports whether a rule redirects the requests that meet the conditions to a rule that sends them to the
// service.
func (t Traffic) leadsHere(r Route, conditions []Condition, rules []Route) bool {
	if r.ToPort == 0 {
		return false
	}
	return !slices.ContainsFunc(alternatives(conditions), func(a []Condition) bool {
		to := r.follow(a, rules)
		if to == nil {
			return true
		}
		own, _ := t.weight(*to)
		return own == 0
	})
}

// isFollowed reports whether callers of a rule that redirects get to the service by rules of the same load balancer,
// and none of them sends a greater part of the requests to others than the rule did in an earlier read.
func (t Traffic) isFollowed(r Route, before Traffic) bool {
	if len(r.FollowTo) == 0 || r.Gone != "" || r.Hidden != "" || before.former(r) != "" {
		return false
	}
	was, _ := before.route(r.ARN)
	ownThen, allThen := before.weight(was)
	return !slices.ContainsFunc(r.FollowTo, func(arn string) bool {
		to, _ := t.route(arn)
		own, all := t.weight(to)
		return !t.leads(to) || own*allThen < ownThen*all
	})
}
