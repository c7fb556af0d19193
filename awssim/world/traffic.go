package world

import (
	"time"
)

// LoadBalancer is an Elastic Load Balancing load balancer.
type LoadBalancer struct {
	ARN, Name, Type string // type: application, network
	DNSName         string // an address that works: "127.16.240.1", or with a port where it must
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
	// Bound is where the data plane really listens, "" if nowhere (yet).
	Bound string
}

// Default is the listener's default rule.
func (l *Listener) Default() *Rule { return l.Rules[len(l.Rules)-1] }

// Rule sends requests that meet its conditions to its actions.
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

// Action is one action of a rule. Doc carries what no law reads (authenticate
// configurations).
type Action struct {
	Type     string // forward, redirect, fixed-response, authenticate-oidc, authenticate-cognito, jwt-validation
	Order    int32
	Forward  *Forward
	Redirect *Redirect
	Fixed    *Fixed
	Doc      any
}

// Forward shares requests over target groups.
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

// Forwards returns the forward action of a rule, or nil.
func (r *Rule) Forwards() *Forward {
	for i := range r.Actions {
		if r.Actions[i].Forward != nil {
			return r.Actions[i].Forward
		}
	}
	return nil
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
	Balancer   string    // ARN of the one load balancer that it is behind, or ""
	Doc        any
}

// HealthCheck is how targets of a group are checked.
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
	Group        *TargetGroup
	ID           string // IP address, instance id
	Port         int32
	Zone         string
	State        string // initial, healthy, unhealthy, unused, draining
	Reason       string
	Description  string
	RegisteredAt time.Time
	DrainingTill time.Time // zero unless draining
	Task         *Task     // the task behind the address, or nil
	Law          any       // the balancer's own notes
}

// Find is the registered target with that address, or nil.
func (g *TargetGroup) Find(id string, port int32) *Target {
	for _, t := range g.Targets {
		if t.ID == id && t.Port == port {
			return t
		}
	}
	return nil
}

// Count is the number of targets in a state.
func (g *TargetGroup) Count(state string) int {
	n := 0
	for _, t := range g.Targets {
		if t.State == state {
			n++
		}
	}
	return n
}

// Register puts a target into the group, or puts a draining one back. The
// balancer decides what state it takes.
func (tx *Tx) Register(g *TargetGroup, id string, port int32, zone string, task *Task) *Target {
	t := g.Find(id, port)
	if t == nil {
		t = &Target{Group: g, ID: id, Port: port}
		g.Targets = append(g.Targets, t)
	} else if t.State != "draining" {
		return t
	}
	t.Zone, t.Task, t.RegisteredAt, t.DrainingTill, t.Law = zone, task, tx.Now(), time.Time{}, nil
	tx.SetTarget(t, "initial", "Elb.RegistrationInProgress", "Target registration is in progress")
	return t
}

// Deregister starts the drain of a target. Deregistering an unknown target does
// nothing; the balancer ends the drain.
func (tx *Tx) Deregister(g *TargetGroup, id string, port int32) {
	if t := g.Find(id, port); t != nil && t.State != "draining" {
		tx.SetTarget(t, "draining", "Target.DeregistrationInProgress", "Target deregistration is in progress")
	}
}

// SetTarget changes a target's state and tells.
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

// Remove takes a target out of its group for good.
func (tx *Tx) Remove(t *Target) {
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
