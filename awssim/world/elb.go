package world

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// NodesChanged says that a written rule has reached a load balancer's nodes: they now route by it.
// The object is the *LoadBalancer. With a *Listener it is for the balancer only: the writes of the
// step are on their way.
const NodesChanged ChangeKind = "nodes"

// LoadBalancer is an Elastic Load Balancing load balancer.
type LoadBalancer struct {
	ARN, Name, Type string // type: application, network
	DNSName         string // an address that works: "127.16.240.1", with a port if needed
	Address         string // the loopback address of its listeners' sockets
	State           string // provisioning, active
	Zones           []string
	Subnets         []string
	Listeners       []*Listener
	Attributes      map[string]string
	Doc             any
}

// Listener is one port of a load balancer.
type Listener struct {
	ARN      string
	Balancer *LoadBalancer
	Port     int32
	Protocol string
	Rules    []*Rule // by priority; the default rule last
	Doc      any
	// Bound is the address at which the data plane listens, "" if it does not.
	Bound string
}

// Default returns the listener's default rule.
func (l *Listener) Default() *Rule { return l.Rules[len(l.Rules)-1] }

// Rule applies its actions to requests that meet its conditions.
type Rule struct {
	ARN        string
	Listener   *Listener
	Priority   int // 1–50000; 0 for the default rule
	Conditions []Condition
	Actions    []Action
	Doc        any
}

// Condition is one condition of a rule. Values are alternatives.
type Condition struct {
	Field  string // host-header, path-pattern, http-request-method, source-ip, http-header, query-string
	Header string // name, for http-header
	Values []string
	Regex  []string    // RegexValues
	Query  []QueryPair // for query-string
}

// QueryPair is a key (may be empty) and a value of a query-string condition.
type QueryPair struct{ Key, Value string }

// Action is one action of a rule. Doc holds fields that no controller reads (authenticate
// configurations).
type Action struct {
	Type     string // forward, redirect, fixed-response, authenticate-oidc, authenticate-cognito, jwt-validation
	Order    int32
	Forward  *Forward
	Redirect *Redirect
	Fixed    *Fixed
	Doc      any
}

// Forward distributes requests over target groups by weight.
type Forward struct {
	Groups        []Share
	Sticky        bool
	StickySeconds int32
}

// Share is a target group with its weight, 0–999.
type Share struct {
	Group  string // ARN
	Weight int32
}

// Redirect answers with a redirect; #{protocol}, #{host}, #{port}, #{path} and
// #{query} stand for the request's own.
type Redirect struct {
	Protocol, Host, Port, Path, Query string
	Status                            int
}

// Fixed answers with a fixed response.
type Fixed struct {
	Status            int
	ContentType, Body string
}

// ForwardAction returns the forward action of a rule, or nil.
func (r *Rule) ForwardAction() *Forward {
	for i := range r.Actions {
		if r.Actions[i].Forward != nil {
			return r.Actions[i].Forward
		}
	}
	return nil
}

// AddListener adds a listener to its load balancer. Rules holds its default rule.
func (tx *Tx) AddListener(l *Listener) {
	tx.Listeners.Put(l.ARN, l)
	l.Balancer.Listeners = append(l.Balancer.Listeners, l)
	for _, r := range l.Rules {
		tx.Rules.Put(r.ARN, r)
	}
	tx.Log("listener", l.Balancer.Name, "port %d created", l.Port)
	tx.Changed(BalancerChanged, l.Balancer)
	tx.Changed(RoutingChanged, l)
}

// RemoveListener deletes a listener and its rules.
func (tx *Tx) RemoveListener(l *Listener) {
	for _, r := range l.Rules {
		tx.Rules.Delete(r.ARN)
	}
	tx.Listeners.Delete(l.ARN)
	l.Balancer.Listeners = slices.DeleteFunc(slices.Clone(l.Balancer.Listeners),
		func(x *Listener) bool { return x == l })
	tx.Log("listener", l.Balancer.Name, "port %d deleted", l.Port)
	tx.Changed(BalancerChanged, l.Balancer)
	tx.Changed(RoutingChanged, l)
}

// AddRule adds a rule to its listener.
func (tx *Tx) AddRule(r *Rule) {
	tx.Rules.Put(r.ARN, r)
	r.Listener.Rules = append([]*Rule{r}, r.Listener.Rules...)
	r.Listener.sortRules()
	tx.Log("rule", r.Name(), "created with priority %d: %s", r.Priority, ActionsText(r.Actions))
	tx.Changed(RoutingChanged, r.Listener)
}

// RemoveRule deletes a rule from its listener.
func (tx *Tx) RemoveRule(r *Rule) {
	tx.Rules.Delete(r.ARN)
	r.Listener.Rules = slices.DeleteFunc(slices.Clone(r.Listener.Rules), func(x *Rule) bool { return x == r })
	tx.Log("rule", r.Name(), "deleted")
	tx.Changed(RoutingChanged, r.Listener)
}

// SetActions replaces the actions of a rule, as ModifyRule and ModifyListener do.
func (tx *Tx) SetActions(r *Rule, actions []Action) {
	tx.Log("rule", r.Name(), "%s -> %s", ActionsText(r.Actions), ActionsText(actions))
	r.Actions = actions
	tx.Changed(RoutingChanged, r.Listener)
}

// ShiftedRule returns a rule by its ARN. The ARN of a Network Load Balancer's listener names its default
// action: it has no other rule.
func (r *Region) ShiftedRule(arn string) (*Rule, bool) {
	if rule, ok := r.Rules.Get(arn); ok {
		return rule, true
	}
	if l, ok := r.Listeners.Get(arn); ok && l.Balancer.Type == "network" {
		return l.Default(), true
	}
	return nil, false
}

// SetConditions replaces the conditions of a rule.
func (tx *Tx) SetConditions(r *Rule, conditions []Condition) {
	r.Conditions = conditions
	tx.Log("rule", r.Name(), "%d conditions", len(conditions))
	tx.Changed(RoutingChanged, r.Listener)
}

// SetPriority changes a rule's priority. The caller ensures that no two rules have the same.
func (tx *Tx) SetPriority(r *Rule, priority int) {
	tx.Log("rule", r.Name(), "priority %d -> %d", r.Priority, priority)
	r.Priority = priority
	r.Listener.sortRules()
	tx.Changed(RoutingChanged, r.Listener)
}

// sortRules sorts the rules by priority, the default rule last.
func (l *Listener) sortRules() {
	rules := slices.Clone(l.Rules)
	slices.SortStableFunc(rules, func(a, b *Rule) int {
		return ruleOrder(a) - ruleOrder(b)
	})
	l.Rules = rules
}

func ruleOrder(r *Rule) int {
	if r.Priority == 0 {
		return 1 << 30
	}
	return r.Priority
}

// Name returns the part of the ARN after its kind: "app/<lb>/<id>/<id>/<id>".
func (r *Rule) Name() string {
	_, name, _ := strings.Cut(r.ARN, "/")
	return name
}

// ActionsText returns a short text of actions: "web-a 90, web-b 10".
func ActionsText(actions []Action) string {
	var parts []string
	for _, a := range actions {
		switch {
		case a.Forward != nil:
			for _, s := range a.Forward.Groups {
				parts = append(parts, fmt.Sprintf("%s %d", groupName(s.Group), s.Weight))
			}
		case a.Redirect != nil:
			parts = append(parts, fmt.Sprintf("redirect %d", a.Redirect.Status))
		case a.Fixed != nil:
			parts = append(parts, fmt.Sprintf("fixed %d", a.Fixed.Status))
		default:
			parts = append(parts, a.Type)
		}
	}
	return strings.Join(parts, ", ")
}

// groupName returns the name in a target group's ARN.
func groupName(arn string) string {
	parts := strings.Split(arn, "/")
	if len(parts) < 3 {
		return arn
	}
	return parts[len(parts)-2]
}

// TargetGroup is a set of targets with one health check.
type TargetGroup struct {
	ARN, Name  string
	Protocol   string
	Port       int32
	VPC        string
	TargetType string // ip, instance, lambda, alb
	Check      HealthCheck
	Attributes map[string]string
	Targets    []*Target // in order of registration, draining ones included
	Balancer   string    // ARN of the load balancer that forwards to it, or ""
	Doc        any
}

// HealthCheck configures how the targets of a group are checked.
type HealthCheck struct {
	Enabled            bool
	Protocol, Path     string
	Port               string // "traffic-port" or a number
	Interval, Timeout  time.Duration
	Healthy, Unhealthy int
	Matcher            string // "200", "200-299", "200,202"
}

// Target is an address in a target group.
type Target struct {
	Group         *TargetGroup
	ID            string // IP address, instance id
	Port          int32
	Zone          string
	State         string // initial, healthy, unhealthy, unused, draining
	Reason        string
	Description   string
	RegisteredAt  time.Time
	DrainingTill  time.Time // zero unless draining
	Task          *Task     // the task behind the address, or nil
	BalancerState any       // private state of the balancer
}

// Find returns the registered target with that address, or nil.
func (g *TargetGroup) Find(id string, port int32) *Target {
	for _, t := range g.Targets {
		if t.ID == id && t.Port == port {
			return t
		}
	}
	return nil
}

// Count returns the number of targets in a state.
func (g *TargetGroup) Count(state string) int {
	n := 0
	for _, t := range g.Targets {
		if t.State == state {
			n++
		}
	}
	return n
}

// RegisterTarget adds a target to the group, or registers a draining one again. The balancer
// decides its next state.
func (tx *Tx) RegisterTarget(g *TargetGroup, id string, port int32, zone string, task *Task) *Target {
	t := g.Find(id, port)
	if t == nil {
		t = &Target{Group: g, ID: id, Port: port}
		g.Targets = append(g.Targets, t)
	} else if t.State != "draining" {
		return t
	}
	t.Zone, t.Task, t.RegisteredAt, t.DrainingTill, t.BalancerState = zone, task, tx.Now(), time.Time{}, nil
	tx.SetTarget(t, "initial", "Elb.RegistrationInProgress", "Target registration is in progress")
	return t
}

// DeregisterTarget starts the drain of a target; the balancer ends it. An unknown target is
// ignored.
func (tx *Tx) DeregisterTarget(g *TargetGroup, id string, port int32) {
	if t := g.Find(id, port); t != nil && t.State != "draining" {
		tx.SetTarget(t, "draining", "Target.DeregistrationInProgress", "Target deregistration is in progress")
	}
}

// SetTarget changes a target's state and notifies the watchers.
func (tx *Tx) SetTarget(t *Target, state, reason, description string) {
	if t.State == state && t.Reason == reason && t.Description == description {
		return
	}
	if t.State != state {
		tx.Log("target", t.Group.Name+" "+t.ID, "%s -> %s %s", t.State, state, reason)
	}
	t.State, t.Reason, t.Description = state, reason, description
	tx.Changed(TargetChanged, t)
}

// RemoveTarget removes a target from its group.
func (tx *Tx) RemoveTarget(t *Target) {
	for i, x := range t.Group.Targets {
		if x == t {
			t.Group.Targets = append(t.Group.Targets[:i:i], t.Group.Targets[i+1:]...)
			tx.Log("target", t.Group.Name+" "+t.ID, "%s -> gone", t.State)
			t.State = "gone"
			tx.Changed(TargetChanged, t)
			return
		}
	}
}
