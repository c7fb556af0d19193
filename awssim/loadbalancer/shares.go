package loadbalancer

import "time"

// Outcome is one possible result of a request, with its probability.
type Outcome struct {
	Share float64 // in (0,1]
	Decision
}

// Shares returns the exact distribution of [Table.Decide] over all random numbers, for many
// requests like r. The shares sum to 1.
func (t *Table) Shares(port int32, r Request) []Outcome {
	if r.At.IsZero() {
		r.At = t.At
	}
	if len(t.nodes) == 1 {
		return t.nodeShares(port, 0, r)
	}
	var out []Outcome
	for i := range t.nodes {
		for _, o := range t.nodeShares(port, i, r) {
			o.Share /= float64(len(t.nodes))
			out = append(out, o)
		}
	}
	return out
}

// nodeShares is [Table.Shares] for the requests that one node gets.
func (t *Table) nodeShares(port int32, node int, r Request) []Outcome {
	l, dec := t.findListener(port, node)
	if l == nil {
		return []Outcome{{1, dec}}
	}
	rule := l.firstRule(&r)
	if rule.forward == nil {
		return []Outcome{{1, rule.ownAnswer(dec, &r)}}
	}
	dec.Rule = rule.arn
	return t.forwardShares(rule.forward, dec, &r)
}

// forwardShares is [Table.forwardRequest] for all random numbers together.
func (t *Table) forwardShares(f *forwardView, dec Decision, r *Request) []Outcome {
	if slot, stuck := t.stuckGroup(f, r); stuck {
		return t.groups[slot].appendOutcomes(nil, 1, f, dec, r)
	}
	if f.total == 0 {
		return []Outcome{{1, t.forwardRequest(f, dec, r, Random{})}}
	}
	var out []Outcome
	for _, s := range f.shares {
		if s.weight > 0 {
			share := float64(s.weight) / float64(f.total)
			out = t.groups[s.slot].appendOutcomes(out, share, f, dec, r)
		}
	}
	return out
}

func (g *GroupView) appendOutcomes(out []Outcome, share float64, f *forwardView, dec Decision, r *Request) []Outcome {
	dec.Group, dec.FailOpen = g.ARN, g.FailOpen
	to := func(t *TargetView, part float64) {
		d := dec
		d.Kind, d.Target, d.Cookies = Forward, t, stickyCookies(f, g, t, r)
		out = append(out, Outcome{part, d})
	}
	if t := g.stuckTarget(r); t != nil {
		to(t, share)
		return out
	}
	if len(g.takes) == 0 {
		return append(out, Outcome{share,
			unavailableDecision(dec, "the target group has no target that takes requests")})
	}
	mass := g.totalWeight(r.At)
	for _, i := range g.takes {
		t := &g.Targets[i]
		to(t, share*t.rampWeight(r.At)/mass)
	}
	return out
}

// RampsUntil returns the time until which slow start changes the shares of a group in the table. It
// returns zero if there is none after at.
func (t *Table) RampsUntil(at time.Time) time.Time {
	var till time.Time
	for _, g := range t.groups {
		if g == nil || !g.ramping {
			continue
		}
		for _, i := range g.takes {
			if end := g.Targets[i].rampEnd; end.After(at) && end.After(till) {
				till = end
			}
		}
	}
	return till
}
