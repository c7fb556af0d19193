package loadbalancer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// listenerView is a listener with its rules as the nodes know them.
type listenerView struct {
	arn   string
	port  int32
	rules []ruleView // by priority, the default rule last
}

type ruleView struct {
	arn        string
	conditions []matcher
	forward    *forwardView
	redirect   *world.Redirect
	fixed      *world.Fixed
	port       int32
}

// forwardView is a weighted forward. Its slots are indexes of Table.groups.
type forwardView struct {
	shares    []shareView
	total     int64
	sticky    bool
	stickySec int32
}

type shareView struct {
	slot   int
	weight int64
}

// viewOf builds the immutable view of a listener. slot returns the index of a target group.
func viewOf(l *world.Listener, slot func(arn string) int) *listenerView {
	v := &listenerView{arn: l.ARN, port: l.Port, rules: make([]ruleView, 0, len(l.Rules))}
	for _, r := range l.Rules {
		v.rules = append(v.rules, ruleViewOf(r, l.Port, slot))
	}
	return v
}

func ruleViewOf(r *world.Rule, port int32, slot func(string) int) ruleView {
	v := ruleView{arn: r.ARN, port: port}
	for _, c := range r.Conditions {
		v.conditions = append(v.conditions, matcherOf(c))
	}
	for _, a := range r.Actions {
		switch {
		case a.Forward != nil:
			v.forward = forwardViewOf(a.Forward, slot)
		case a.Redirect != nil:
			c := *a.Redirect
			v.redirect = &c
		case a.Fixed != nil:
			c := *a.Fixed
			v.fixed = &c
		}
	}
	return v
}

func forwardViewOf(f *world.Forward, slot func(string) int) *forwardView {
	v := &forwardView{sticky: f.Sticky, stickySec: f.StickySeconds}
	for _, s := range f.Groups {
		v.shares = append(v.shares, shareView{slot(s.Group), int64(s.Weight)})
		v.total += int64(s.Weight)
	}
	return v
}

// groupSlots returns the indexes of the groups to which the listener forwards.
func (l *listenerView) groupSlots() []int {
	var out []int
	for _, r := range l.rules {
		if r.forward == nil {
			continue
		}
		for _, s := range r.forward.shares {
			if !slices.Contains(out, s.slot) {
				out = append(out, s.slot)
			}
		}
	}
	return out
}

// firstRule returns the first rule whose conditions all match. The default rule has no condition.
func (l *listenerView) firstRule(r *Request) *ruleView {
	for i := range l.rules {
		if l.rules[i].appliesTo(r) {
			return &l.rules[i]
		}
	}
	return &ruleView{fixed: &world.Fixed{Status: 503}}
}

func (v *ruleView) appliesTo(r *Request) bool {
	for i := range v.conditions {
		if !v.conditions[i].matchesRequest(r) {
			return false
		}
	}
	return true
}

// ownAnswer returns the decision of a rule that does not forward.
func (v *ruleView) ownAnswer(dec Decision, r *Request) Decision {
	dec.Rule = v.arn
	switch {
	case v.redirect != nil:
		dec.Kind, dec.Status, dec.Location = Redirect, v.redirect.Status, redirectLocation(v.redirect, r, v.port)
	case v.fixed != nil:
		dec.Kind, dec.Status, dec.ContentType, dec.Body = Fixed, v.fixed.Status, v.fixed.ContentType, v.fixed.Body
	default:
		return unavailableDecision(dec, "the rule has no action that answers")
	}
	return dec
}

// chooseSlot returns the slot at x of [0,1), by weight. It returns -1 if all weights are 0.
func (f *forwardView) chooseSlot(x float64) int {
	if f.total == 0 {
		return -1
	}
	at := int64(x * float64(f.total))
	last := -1
	for _, s := range f.shares {
		if s.weight == 0 {
			continue
		}
		if last = s.slot; at < s.weight {
			return last
		}
		at -= s.weight
	}
	return last
}

func (f *forwardView) groupShares(t *Table) []GroupShare {
	out := make([]GroupShare, 0, len(f.shares))
	for _, s := range f.shares {
		share := 0.0
		if f.total > 0 {
			share = float64(s.weight) / float64(f.total)
		}
		out = append(out, GroupShare{t.groups[s.slot].ARN, share})
	}
	return out
}

// redirectLocation fills in a redirect with AWS's placeholders. A part that the redirect leaves out
// stays that of the request.
func redirectLocation(to *world.Redirect, r *Request, port int32) string {
	host, ownPort := splitHost(r.Host)
	if ownPort == "" {
		ownPort = strconv.Itoa(int(port))
	}
	fill := strings.NewReplacer("#{protocol}", r.Scheme, "#{host}", host, "#{port}", ownPort,
		"#{path}", strings.TrimPrefix(r.Path, "/"), "#{query}", r.RawQuery)
	part := func(given, own string) string {
		if given == "" {
			given = own
		}
		return fill.Replace(given)
	}
	url := strings.ToLower(part(to.Protocol, "#{protocol}")) + "://" + part(to.Host, "#{host}") +
		":" + part(to.Port, "#{port}") + part(to.Path, "/#{path}")
	if query := part(to.Query, "#{query}"); query != "" {
		url += "?" + query
	}
	return url
}

// splitHost splits the port from a Host header.
func splitHost(host string) (name, port string) {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.HasSuffix(host, "]") {
		return host, ""
	}
	return host[:i], host[i+1:]
}
