package loadbalancer

import (
	"net/http"
	"net/netip"
	"time"
)

// Table holds all data with which one load balancer routes requests. It is immutable; each change
// creates another table.
type Table struct {
	Balancer string    // ARN
	Type     string    // application, network
	State    string    // provisioning, active
	At       time.Time // when it was published
	Version  int       // counts the tables of this load balancer, from 1

	nodes    [][]*listenerView // of each node, by port
	groups   []*GroupView      // by slot; nil if no rule refers to it
	settings stickySettings
}

// stickySettings are the two properties of stickiness that AWS does not document.
type stickySettings struct {
	keepsZeroWeight bool // a sticky client stays with its group at weight 0
	keepsEmpty      bool // … and with a group that has no target left
}

// Request holds the parts of a request that a decision reads. Header holds canonical names, as in
// net/http.
type Request struct {
	Method   string
	Scheme   string // http, https
	Host     string // with or without a port
	Path     string
	RawQuery string
	Header   http.Header
	SourceIP netip.Addr
	At       time.Time // zero: the time of the table
}

// RequestOf converts an HTTP request that arrived at a socket.
func RequestOf(r *http.Request, at time.Time) Request {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	ip, _ := netip.ParseAddrPort(r.RemoteAddr)
	return Request{
		Method: r.Method, Scheme: scheme, Host: r.Host, Path: r.URL.EscapedPath(), RawQuery: r.URL.RawQuery,
		Header: r.Header, SourceIP: ip.Addr().Unmap(), At: at,
	}
}

// InTurn as [Random].Target selects the group's targets one after the other.
const InTurn = -1

// Random holds the random numbers of one decision, evenly distributed in [0,1).
type Random struct {
	Node   float64 // which node of a Network Load Balancer gets the connection
	Group  float64 // which target group of a weighted forward
	Target float64 // which target of the group; InTurn: the next one
	// Outstanding, if set, returns the number of open requests of a target. It is called for groups
	// with the algorithm least_outstanding_requests.
	Outstanding func(*TargetView) int
}

// Kind is the kind of a decision.
type Kind uint8

const (
	// Refuse: no listener has that port.
	Refuse Kind = iota
	// Forward: the request is sent to Decision.Target.
	Forward
	// Redirect: answered with Decision.Location.
	Redirect
	// Fixed: answered with Decision.Body.
	Fixed
	// Unavailable: the load balancer itself answers 503, because the group has no target that takes
	// requests, or all weights are 0.
	Unavailable
)

func (k Kind) String() string {
	return [...]string{"refuse", "forward", "redirect", "fixed", "unavailable"}[k]
}

// Decision is the routing result of one request.
type Decision struct {
	Kind     Kind
	Listener string      // ARN
	Rule     string      // ARN
	Group    string      // ARN; for Forward and Unavailable
	Node     int         // of a Network Load Balancer
	Target   *TargetView // for Forward; must not be changed
	FailOpen bool        // the group had too few healthy targets, so all of them are used

	Status      int    // for all but Forward and Refuse
	Location    string // for Redirect
	ContentType string // for Fixed
	Body        string // for Fixed
	Reason      string // for Refuse and Unavailable: a few words

	// Cookies are the cookies to set on the target's answer.
	Cookies []*http.Cookie

	connection bool // set for a network load balancer, which forwards connections and never answers itself
}

// Decide routes one request that arrived at a listener's port; for a network load balancer, one
// connection. It takes no lock. Without stickiness it allocates no memory.
func (t *Table) Decide(port int32, r Request, d Random) Decision {
	if r.At.IsZero() {
		r.At = t.At
	}
	l, dec := t.findListener(port, min(int(d.Node*float64(len(t.nodes))), len(t.nodes)-1))
	if l == nil {
		return dec
	}
	rule := l.firstRule(&r)
	if rule.forward == nil {
		return rule.ownAnswer(dec, &r)
	}
	dec.Rule = rule.arn
	return t.forwardRequest(rule.forward, dec, &r, d)
}

// findListener returns the listener of a port at a node, or a decision with the reason why there is
// none.
func (t *Table) findListener(port int32, node int) (*listenerView, Decision) {
	if t.State != "active" {
		return nil, Decision{Kind: Refuse, Reason: "the load balancer is " + t.State}
	}
	for _, l := range t.nodes[node] {
		if l.port == port {
			return l, Decision{Listener: l.arn, Node: node, connection: t.Type == "network"}
		}
	}
	return nil, Decision{Kind: Refuse, Reason: "no listener on this port"}
}

// forwardRequest chooses the group, then the target.
func (t *Table) forwardRequest(f *forwardView, dec Decision, r *Request, d Random) Decision {
	slot, stuck := t.stuckGroup(f, r)
	if !stuck {
		if slot = f.chooseSlot(d.Group); slot < 0 {
			return unavailableDecision(dec, "every target group of the rule has weight 0")
		}
	}
	g := t.groups[slot]
	dec.Group, dec.FailOpen = g.ARN, g.FailOpen
	target := g.stuckTarget(r)
	if target == nil {
		target = g.pickTarget(r.At, d)
	}
	if target == nil {
		return unavailableDecision(dec, "the target group has no target that takes requests")
	}
	dec.Kind, dec.Target = Forward, target
	dec.Cookies = stickyCookies(f, g, target, r)
	return dec
}

func unavailableDecision(dec Decision, reason string) Decision {
	if dec.connection {
		dec.Kind, dec.Reason = Refuse, reason
		return dec
	}
	dec.Kind, dec.Status, dec.Reason = Unavailable, http.StatusServiceUnavailable, reason
	return dec
}

// Ports returns the listeners' ports in ascending order.
func (t *Table) Ports() []int32 {
	ports := make([]int32, 0, len(t.nodes[0]))
	for _, l := range t.nodes[0] {
		ports = append(ports, l.port)
	}
	return ports
}

// Group returns the view of a target group to which a rule forwards, or nil. The caller must not
// change it.
func (t *Table) Group(arn string) *GroupView {
	for _, g := range t.groups {
		if g != nil && g.ARN == arn {
			return g
		}
	}
	return nil
}

// Weights returns the shares of a rule's groups in this table, as fractions of the whole, in the
// rule's order, as the first node knows them. It returns nil for a rule that does not forward or is
// not in the table.
func (t *Table) Weights(rule string) []GroupShare {
	for _, l := range t.nodes[0] {
		for _, r := range l.rules {
			if r.arn == rule && r.forward != nil {
				return r.forward.groupShares(t)
			}
		}
	}
	return nil
}

// GroupShare is a target group's fraction of a rule's requests.
type GroupShare struct {
	Group string // ARN
	Share float64
}

// Groups returns the views of all groups to which rules forward.
func (t *Table) Groups() []*GroupView {
	out := make([]*GroupView, 0, len(t.groups))
	for _, g := range t.groups {
		if g != nil {
			out = append(out, g)
		}
	}
	return out
}
