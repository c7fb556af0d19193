package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
)

// Scope selects the target groups and the production rules of a service.
type Scope struct {
	Groups []string `json:"groups,omitempty"` // ARNs
	Names  []string `json:"names,omitempty"`  // of further groups, whose ARNs are not known

	Rules     []string `json:"rules,omitempty"`     // ARNs of the only production rules; empty: all that name a group
	Listeners []string `json:"listeners,omitempty"` // ARNs of the only listeners with production rules; empty: all
	TestRules []string `json:"testRules,omitempty"` // ARNs of rules or listeners that only tests use
	// TestGroup is the ARN of a group that production rules name only beside another group. A rule that forwards to
	// it alone is a test rule.
	TestGroup string `json:"testGroup,omitempty"`
	// IsGuess: no file names TestGroup. A rule that forwards to it alone is a test rule only if another rule sends
	// requests to the service.
	IsGuess bool `json:"-"`
}

// IsEmpty reports whether the service has no target group.
func (s Scope) IsEmpty() bool { return len(s.Groups)+len(s.Names) == 0 }

// WithListeners returns the scope of a service that CodeDeploy deploys to one of two groups: callers use one listener,
// and tests another, or none.
func (s Scope) WithListeners(production, test string, groups []string) Scope {
	s.Names = groups
	if s.Listeners = []string{production}; test != "" && test != production {
		s.TestRules = []string{test}
	}
	return s
}

// WithFiles returns the scope with the groups and the rules that the files of the service name; an empty ARN: they name
// no such group. A rule that forwards to the canary group alone is for tests.
func (s Scope) WithFiles(primary, canary string, rules []string) Scope {
	for _, arn := range []string{primary, canary} {
		if arn != "" {
			s.Groups = WithGroup(s.Groups, arn)
		}
	}
	s.TestGroup, s.Rules = canary, append(s.Rules, rules...)
	return s
}

// Balancers returns the ARNs of the load balancers of the rules that the scope names.
func (s Scope) Balancers() (all []string) {
	for _, arn := range s.Rules {
		all = WithGroup(all, sluice.RuleOfARN(arn).Balancer)
	}
	return all
}

// names reports whether the scope names the rule or its listener as the one of callers.
func (s Scope) names(r sluice.Rule) bool {
	return slices.Contains(s.Rules, r.ARN) || r.IsDefault() && slices.Contains(s.Rules, r.Listener)
}

// isProduction reports whether the rule is one of those that deployments of the service write for its callers.
func (s Scope) isProduction(r sluice.Rule) bool {
	switch {
	case s.isTest(r):
		return false
	case len(s.Rules) > 0:
		return isOf(s.Rules, r)
	}
	return len(s.Listeners) == 0 || slices.Contains(s.Listeners, r.Listener)
}

// isTest reports whether only tests use the rule.
func (s Scope) isTest(r sluice.Rule) bool {
	if isOf(s.TestRules, r) {
		return !slices.Contains(s.Rules, r.ARN)
	}
	return s.forwardsToTestGroup(r)
}

// isOf reports whether a list of ARNs contains a rule or its listener.
func isOf(all []string, r sluice.Rule) bool {
	return slices.Contains(all, r.ARN) || slices.Contains(all, r.Listener)
}

// Traffic is where callers of a service are sent, as one read of its load balancers shows.
type Traffic struct {
	SentAt time.Time `json:"sentAt"` // when the read was sent
	Groups []Group   `json:"groups,omitempty"`
	Others []Group   `json:"others,omitempty"` // groups of other services that get weight from a rule that names a group
	Routes []Route   `json:"routes,omitempty"` // the production rules that name a group, or that did at an earlier read
	// Tests are the rules that forward to the test group alone and get requests. Callers may use them while it has
	// targets.
	Tests []Route `json:"tests,omitempty"`
	Name  *Name   `json:"name,omitempty"` // nil: callers resolve no name, or it was not read
	// Front are the ARNs of the rules that get a part of the service's requests first and send none of it to the
	// service: "/api/*" before "/*". A rule in front that gets all of them hides the other one: see [Route].
	Front     []string `json:"front,omitempty"`
	FrontRead bool     `json:"frontRead,omitempty"` // false: an earlier version of sluice read it, without Front
	// TestGroup is that of the scope: no caller has tried the version of its tasks.
	TestGroup string `json:"-"`

	front []Route // the rules of Front
}

// Group is a target group of the service.
type Group struct {
	ARN     string `json:"arn"`
	Deleted bool   `json:"deleted,omitempty"`
	Read    bool   `json:"read,omitempty"` // its targets were read: only then Healthy and Targets count
	Healthy int    `json:"healthy"`
	Targets int    `json:"targets"` // without draining ones
	// Unhealthy counts targets whose health checks fail. Those that just started are not among them.
	Unhealthy int `json:"unhealthy,omitempty"`
	// Unused counts targets that no health check reads, because no rule names the group. Their tasks may serve.
	Unused int `json:"unused,omitempty"`
	// Untried counts other targets that no health check tries: they are being registered, or their tasks stopped.
	Untried int `json:"untried,omitempty"`
	// Draining counts targets that were deregistered. The nodes of a Network Load Balancer may still send them
	// requests.
	Draining int `json:"draining,omitempty"`
	// Check are the settings of its health check, by the words for users. nil: they were not read.
	Check HealthCheck `json:"check,omitempty"`
}

// FailsChecks reports whether the group has targets, and none passes its health checks.
func (g Group) FailsChecks() bool { return g.Read && g.Targets > 0 && g.Healthy == 0 }

// failsOpen describes that a load balancer sends requests to targets that fail their health checks, because no target
// of the group passes them; empty: it does not. Targets that no health check tries get none.
func (g Group) failsOpen() string {
	tried := g.Targets - g.Unused - g.Untried
	switch {
	case !g.FailsChecks() || tried <= 0:
		return ""
	case tried == 1:
		return "the load balancer sends requests to its only target"
	}
	return fmt.Sprintf("the load balancer sends requests to all %d targets", tried)
}

// Route is a production rule, or the default action of a listener.
type Route struct {
	sluice.Rule
	Gone   Gone   `json:"gone,omitempty"`   // why it does not exist any more
	Action string `json:"action,omitempty"` // type of its action if it does not forward: fixed-response, redirect
	// ToPort is the port of the load balancer to which the rule redirects its requests as they are; 0: it does not.
	ToPort int `json:"toPort,omitempty"`
	// FollowTo are the ARNs of the rules that get the requests which the rule redirects. None: not all get to one.
	FollowTo []string `json:"followTo,omitempty"`
	// Repair is the command that moves its weight to the group that can serve; empty: there is none, or no other group
	// can serve.
	Repair string `json:"repair,omitempty"`
	// Returns are the commands that let it forward to one group of the service again, by the ARN of the group, of a
	// rule that forwards to other services only.
	Returns map[string]string `json:"-"`
	// ListenerProtocol is that of its listener; empty: it was not read.
	ListenerProtocol string `json:"listenerProtocol,omitempty"`
	// Named: the service or its files name the rule as the one of its callers, whatever it does now.
	Named bool `json:"named,omitempty"`
	// Beside: the rule names a group of the service, and deployments write other rules. Callers may use it.
	Beside bool `json:"beside,omitempty"`
	// Conditions are those of the rule. None: it is a default action, or an earlier version of sluice read it.
	Conditions []Condition `json:"conditions,omitempty"`
	// Hidden describes the rule of the listener that gets each request before this one, and does not send them to the
	// service: "rule 1 of port 80, whose action is fixed-response", or the rules that do so together. HiddenBy is the
	// ARN of the first. Empty: there is none.
	Hidden   string `json:"hidden,omitempty"`
	HiddenBy string `json:"hiddenBy,omitempty"`
}

// isBefore reports whether the load balancer evaluates a rule of the same listener before another one.
func (r Route) isBefore(other Route) bool {
	first, err := strconv.Atoi(r.Priority)
	then, errThen := strconv.Atoi(other.Priority)
	return r.Listener == other.Listener && err == nil && (errThen != nil || first < then)
}

// does describes what a rule does with a request.
func (r Route) does() string {
	if r.Action != "" {
		return "whose action is " + r.Action
	}
	return "which forwards to " + DescribeShares(r.Forward)
}

// Gone says why a rule does not exist.
type Gone string

// Why a rule does not exist.
const (
	RuleDeleted     Gone = "the rule was deleted"
	ListenerDeleted Gone = "its listener was deleted"
	BalancerDeleted Gone = "its load balancer was deleted"
)

// IsRead reports whether the load balancers were read.
func (t Traffic) IsRead() bool { return !t.SentAt.IsZero() }

// group returns a group by its ARN.
func (t Traffic) group(arn string) (g Group, ok bool) {
	i := slices.IndexFunc(t.Groups, func(g Group) bool { return g.ARN == arn })
	if i < 0 {
		return Group{}, false
	}
	return t.Groups[i], true
}

// others returns the ARNs of the groups of other services to which rules that name a group of the service give weight.
func (t Traffic) others() (all []string) {
	for _, r := range t.Routes {
		for _, s := range r.Forward {
			if _, own := t.group(s.Group); !own && s.Weight > 0 && (r.Named || t.namesOwn(r)) {
				all = WithGroup(all, s.Group)
			}
		}
	}
	return all
}

// ReadOthers adds the groups of other services that share a rule with the service, as read returns them.
func (t *Traffic) ReadOthers(read func(arn string) (Group, error)) error {
	for _, arn := range t.others() {
		g, err := read(arn)
		if err != nil {
			return err
		}
		t.Others = append(t.Others, g)
	}
	return nil
}

// HasOthers reports whether a rule that names a group of the service gives weight to a group of another service.
func (t Traffic) HasOthers() bool { return len(t.others()) > 0 }

// SharedText describes the rules that send requests both to the service and to groups of others; empty: none does.
func (t Traffic) SharedText() string {
	var all []string
	for _, r := range t.Routes {
		own, sum := t.weight(r)
		if r.Gone == "" && own > 0 && own < sum {
			all = append(all, r.Name()+" forwards to "+DescribeShares(r.Forward))
		}
	}
	return strings.Join(all, "; ")
}

// isDead reports whether a group of another service was read, and each of its targets fails its health checks. Targets
// without health checks may serve.
func (t Traffic) isDead(arn string) bool {
	g := t.other(arn)
	return g.Read && g.Unhealthy == g.Targets
}

// other returns a group of another service by its ARN; the zero value: it was not read.
func (t Traffic) other(arn string) Group {
	i := slices.IndexFunc(t.Others, func(g Group) bool { return g.ARN == arn })
	if i < 0 {
		return Group{}
	}
	return t.Others[i]
}

// mayServe reports whether a group of the service has a healthy target, or one that no rule can reach now. Tasks of the
// test group that no rule reaches do not count: no health check and no caller has tried them.
func (t Traffic) mayServe(g Group) bool { return g.Healthy > 0 || t.isLeft(g) }

// isLeft reports whether a group has tasks that no rule reaches, and that callers reached before.
func (t Traffic) isLeft(g Group) bool { return g.Unused > 0 && g.ARN != t.TestGroup }

// weight returns the weight that a rule gives to groups of the service, and to all groups.
func (t Traffic) weight(r Route) (own, all int) {
	for _, s := range r.Forward {
		all += s.Weight
		if _, ok := t.group(s.Group); ok {
			own += s.Weight
		}
	}
	return own, all
}

// ReceivesRequests reports whether a rule that exists gives weight to a group of the service.
func (t Traffic) ReceivesRequests() bool {
	return slices.ContainsFunc(t.Routes, func(r Route) bool {
		return t.serves(r) || !r.Beside && t.isFollowed(r, Traffic{})
	})
}

// serves reports whether a rule that deployments write exists, gets requests, and gives weight to the service.
func (t Traffic) serves(r Route) bool { return !r.Beside && t.leads(r) }

// leads reports whether a rule exists, gets requests, and gives weight to the service.
func (t Traffic) leads(r Route) bool {
	own, _ := t.weight(r)
	return own > 0 && r.Gone == "" && r.Hidden == ""
}

// IsUnused reports whether the service has target groups, and no rule gives weight to any of them.
func (t Traffic) IsUnused() bool { return t.IsRead() && len(t.Groups) > 0 && !t.ReceivesRequests() }

// has reports whether the read contains a rule. Later reads contain it too, also if it no longer names a group.
func (t Traffic) has(rule string) bool {
	_, ok := t.route(rule)
	return ok
}

// route returns a rule of the read by its ARN.
func (t Traffic) route(arn string) (r Route, ok bool) {
	i := slices.IndexFunc(t.Routes, func(r Route) bool { return r.ARN == arn })
	if i < 0 {
		return Route{}, false
	}
	return t.Routes[i], true
}

// Balancers returns the ARNs of the load balancers of the routes.
func (t Traffic) Balancers() (all []string) {
	for _, r := range t.Routes {
		if r.Balancer != "" && !slices.Contains(all, r.Balancer) {
			all = append(all, r.Balancer)
		}
	}
	return all
}

// AddGroup adds a group, unless the read contains it. It reports whether it did.
func (t *Traffic) AddGroup(g Group) bool {
	if _, ok := t.group(g.ARN); ok {
		return false
	}
	t.Groups = append(t.Groups, g)
	return true
}

// Placed returns the groups of a scope as a later read finds them, if the read contains a rule for each of them: a
// group has one load balancer, and callers reach it there or not at all. ok is false if one of them may be elsewhere.
func (t Traffic) Placed(s Scope) (groups []Group, ok bool) {
	for _, arn := range s.Groups {
		if !slices.ContainsFunc(t.Routes, func(r Route) bool { _, names := r.Weight(arn); return names && r.Gone == "" }) {
			return nil, false
		}
		groups = append(groups, Group{ARN: arn})
	}
	return groups, len(s.Names) == 0
}

// FollowsLate reports whether callers may get an earlier state for a while that no read shows: nodes of a Network Load
// Balancer and name servers follow within a minute.
func (t Traffic) FollowsLate() bool { return t.HasNodes() || t.Name != nil && t.Name.HasDNS }

// HasNodes reports whether a Network Load Balancer sends requests to the service. Each of its nodes learns of targets
// by itself, within a minute.
func (t Traffic) HasNodes() bool {
	return slices.ContainsFunc(t.Routes, func(r Route) bool { return r.Protocol != "" })
}

// draining counts the draining targets of the groups with weight.
func (t Traffic) draining() (count int) {
	for _, g := range t.Groups {
		if t.HasWeight(g.ARN) {
			count += g.Draining
		}
	}
	return count
}

// MostTargets returns the greatest number of targets in one of the groups with weight.
func (t Traffic) MostTargets() (most int) {
	for _, g := range t.Groups {
		if t.HasWeight(g.ARN) {
			most = max(most, g.Targets)
		}
	}
	return most
}

// HasWeight reports whether a rule gives weight to a group.
func (t Traffic) HasWeight(group string) bool {
	return slices.ContainsFunc(t.Routes, func(r Route) bool { w, _ := r.Weight(group); return w > 0 })
}

// AddRoutes adds the production rules that name a group of the service, that the scope names, or that an earlier read
// contained. A rule of the earlier read that does not exist is gone. listeners are those that exist.
func (t *Traffic) AddRoutes(s Scope, before Traffic, rules []Route, listeners []string) {
	if s.IsGuess && !t.leadsBeside(s.TestGroup, rules) {
		s.TestGroup = ""
	}
	t.TestGroup, t.FrontRead = s.TestGroup, true
	for _, r := range rules {
		r.Named, r.Beside = s.names(r.Rule), !s.isProduction(r.Rule)
		wasProduction := before.has(r.ARN) // and stays it, wherever another process or person leads it
		if !wasProduction {
			t.addTest(s, r, rules)
		}
		if wasProduction || !s.isTest(r.Rule) && (r.Named || t.namesOwn(r)) {
			t.hide(&r, s, rules)
			r.FollowTo = followTo(r, rules)
			t.Routes = append(t.Routes, r)
			t.addFront(r, rules)
		}
	}
	for _, was := range before.Routes {
		if t.has(was.ARN) || s.isTest(was.Rule) {
			continue
		}
		was.Repair, was.Returns, was.Gone = "", nil, RuleDeleted
		if !slices.Contains(listeners, was.Listener) {
			was.Gone = ListenerDeleted
		}
		t.Routes = append(t.Routes, was)
	}
}

// addFront adds the rules that get a part of the requests of r first, and send none of it to the service. It omits
// rules of which this is not known, and those that get no requests, because another rule gets all of them.
func (t *Traffic) addFront(r Route, rules []Route) {
	if !t.serves(r) {
		return
	}
	for _, f := range rules {
		if own, _ := t.weight(f); own == 0 && f.isBefore(r) && overlap(r.Conditions, f.Conditions) &&
			firstFor(f.Conditions, f, rules) == nil && !t.leadsHere(f, f.Conditions, rules) &&
			!slices.Contains(t.Front, f.ARN) {
			t.Front, t.front = append(t.Front, f.ARN), append(t.front, f)
		}
	}
}

// TakenSince describes the rules that get a part of the service's requests first, and did not in an earlier read;
// empty: there is none, or that read does not tell.
func (t Traffic) TakenSince(before Traffic) string {
	var all []string
	for _, f := range t.front {
		if before.FrontRead && before.IsRead() && !slices.Contains(before.Front, f.ARN) {
			all = append(all, f.Name()+" is new and gets the requests for "+describeConditions(f.Conditions)+", "+f.does())
		}
	}
	return strings.Join(all, "; ")
}

// hide records the rules of the listener that get each request before r, unless one of them sends it to the service
// too.
func (t Traffic) hide(r *Route, s Scope, rules []Route) {
	var hiding []Route
	for _, alternative := range alternatives(r.Conditions) {
		first := firstFor(alternative, *r, rules)
		if first == nil {
			return
		}
		if own, _ := t.weight(*first); own > 0 && s.isProduction(first.Rule) && !r.Beside ||
			t.leadsHere(*first, alternative, rules) {
			return
		}
		if !slices.ContainsFunc(hiding, func(h Route) bool { return h.ARN == first.ARN }) {
			hiding = append(hiding, *first)
		}
	}
	var texts []string
	for _, h := range hiding {
		texts = append(texts, h.Name()+", "+h.does())
	}
	r.Hidden, r.HiddenBy = strings.Join(texts, ", or "), hiding[0].ARN
}

// firstFor returns the first rule before r that gets each request which meets the conditions; nil: there is none.
func firstFor(conditions []Condition, r Route, rules []Route) (first *Route) {
	for i, other := range rules {
		if other.isBefore(r) && matchesAll(other.Conditions, conditions) && (first == nil || other.isBefore(*first)) {
			first = &rules[i]
		}
	}
	return first
}

// AddDeletedRules adds the rules that the scope names and that rules, all rules of its load balancers, do not contain.
// listeners are those that exist.
func (t *Traffic) AddDeletedRules(s Scope, rules []Route, listeners []string) {
	for _, arn := range s.Rules {
		r := sluice.RuleOfARN(arn)
		exists := func(other Route) bool { return other.ARN == arn || other.Listener == arn }
		if t.has(arn) || slices.ContainsFunc(rules, exists) {
			continue
		}
		gone := ListenerDeleted
		if slices.Contains(listeners, r.Listener) {
			gone = RuleDeleted
		}
		for _, other := range rules {
			if other.Listener == r.Listener {
				r.Port = other.Port
			}
		}
		t.Routes = append(t.Routes, Route{Rule: r, Gone: gone, Named: true})
	}
}

// WithGroup adds the ARN of a group, or of another resource, to a list that may contain it.
func WithGroup(list []string, arn string) []string {
	if slices.Contains(list, arn) {
		return list
	}
	return append(list, arn)
}

// With returns the scope with the groups of a later read of the service. Production rules that the service names then
// take precedence: a strategy of ECS's own steers no other ones.
func (s Scope) With(later Scope) Scope {
	for _, arn := range later.Groups {
		s.Groups = WithGroup(slices.Clone(s.Groups), arn)
	}
	if len(later.Rules) > 0 {
		s.Rules, s.TestRules = later.Rules, later.TestRules
	}
	return s
}
