package balancer

import (
	"net/http"
	"net/netip"
	"time"
)

// Table is all that one load balancer needs to route a request. It never
// changes; a change of anything in it makes another table.
type Table struct {
	Balancer string    // ARN
	Type     string    // application, network
	State    string    // provisioning, active
	At       time.Time // when it was published
	Version  int       // counts the tables of this load balancer, from 1

	listeners []*listenerView // by port
	groups    []*GroupView    // by slot; nil where nothing refers to it any more
	knobs     stickyKnobs
}

// stickyKnobs are the two things about stickiness that AWS does not document.
type stickyKnobs struct {
	keepsZeroWeight bool // a sticky client stays with its group at weight 0
	keepsEmpty      bool // … and with a group that has no target left
}

// Request is what a decision reads of a request. Header holds canonical names,
// as net/http has them.
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

// RequestOf is the decision's view of an HTTP request that arrived at a socket.
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

// InTurn as a target draw takes the group's targets one after the other.
const InTurn = -1

// Draw holds the numbers that stand for chance, evenly drawn from [0,1).
type Draw struct {
	Group  float64 // which target group of a weighted forward
	Target float64 // which target of the group; InTurn: the next one
	// Outstanding, if set, is the number of requests that a target has open; it
	// is asked in groups whose algorithm is least_outstanding_requests.
	Outstanding func(*TargetView) int
}

// Kind is what a load balancer does with a request.
type Kind uint8

const (
	// Refuse: nothing listens on that port.
	Refuse Kind = iota
	// Forward: the request goes to Decision.Target.
	Forward
	// Redirect: answered with Decision.Location.
	Redirect
	// Fixed: answered with Decision.Body.
	Fixed
	// Unavailable: answered 503 by the load balancer itself, because the group
	// has no target to send it to, or no group has weight.
	Unavailable
)

func (k Kind) String() string {
	return [...]string{"refuse", "forward", "redirect", "fixed", "unavailable"}[k]
}

// Decision is what becomes of one request.
type Decision struct {
	Kind     Kind
	Listener string      // ARN
	Rule     string      // ARN
	Group    string      // ARN; for Forward and Unavailable
	Target   *TargetView // for Forward; must not be changed
	FailOpen bool        // the group had too few healthy targets, so all of them are used

	Status      int    // for all but Forward and Refuse
	Location    string // for Redirect
	ContentType string // for Fixed
	Body        string // for Fixed
	Reason      string // for Refuse and Unavailable: a few words

	// Cookies are to be set on the answer of the target.
	Cookies []*http.Cookie

	connection bool // a network load balancer sends connections on: it answers nothing itself
}

// Decide routes one request that came in at a listener's port; at a network load
// balancer's, one connection. It takes no lock and, without stickiness, allocates
// nothing.
func (t *Table) Decide(port int32, r Request, d Draw) Decision {
	if r.At.IsZero() {
		r.At = t.At
	}
	l, dec := t.enter(port)
	if l == nil {
		return dec
	}
	rule := l.match(&r)
	if rule.forward == nil {
		return rule.answer(dec, &r)
	}
	dec.Rule = rule.arn
	return t.forward(rule.forward, dec, &r, d)
}

// enter finds the listener, or says why there is none.
func (t *Table) enter(port int32) (*listenerView, Decision) {
	if t.State != "active" {
		return nil, Decision{Kind: Refuse, Reason: "the load balancer is " + t.State}
	}
	for _, l := range t.listeners {
		if l.port == port {
			return l, Decision{Listener: l.arn, connection: t.Type == "network"}
		}
	}
	return nil, Decision{Kind: Refuse, Reason: "no listener on this port"}
}

// forward chooses the group, then the target.
func (t *Table) forward(f *forwardView, dec Decision, r *Request, d Draw) Decision {
	slot, stuck := t.stuckGroup(f, r)
	if !stuck {
		if slot = f.choose(d.Group); slot < 0 {
			return unavailable(dec, "every target group of the rule has weight 0")
		}
	}
	g := t.groups[slot]
	dec.Group, dec.FailOpen = g.ARN, g.FailOpen
	target := g.stuckTarget(r)
	if target == nil {
		target = g.pick(r.At, d)
	}
	if target == nil {
		return unavailable(dec, "the target group has no target that takes requests")
	}
	dec.Kind, dec.Target = Forward, target
	dec.Cookies = cookies(f, g, target, r)
	return dec
}

func unavailable(dec Decision, reason string) Decision {
	if dec.connection {
		dec.Kind, dec.Reason = Refuse, reason
		return dec
	}
	dec.Kind, dec.Status, dec.Reason = Unavailable, http.StatusServiceUnavailable, reason
	return dec
}

// Ports are the ports that a request can come in at, in ascending order.
func (t *Table) Ports() []int32 {
	ports := make([]int32, 0, len(t.listeners))
	for _, l := range t.listeners {
		ports = append(ports, l.port)
	}
	return ports
}

// Group is the view of a target group that some rule forwards to, or nil. It
// must not be changed.
func (t *Table) Group(arn string) *GroupView {
	for _, g := range t.groups {
		if g != nil && g.ARN == arn {
			return g
		}
	}
	return nil
}

// Weights are the shares that a rule gives to its groups in this table, as
// fractions of the whole in the rule's order; nil for a rule that does not
// forward or is not in the table.
func (t *Table) Weights(rule string) []GroupShare {
	for _, l := range t.listeners {
		for _, r := range l.rules {
			if r.arn == rule && r.forward != nil {
				return r.forward.fractions(t)
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

// Groups are the views of all groups that rules forward to.
func (t *Table) Groups() []*GroupView {
	out := make([]*GroupView, 0, len(t.groups))
	for _, g := range t.groups {
		if g != nil {
			out = append(out, g)
		}
	}
	return out
}
