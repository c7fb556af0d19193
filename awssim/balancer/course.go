package balancer

import "time"

// standing is what the checks so far have made of a target.
type standing struct {
	state        string // initial, healthy, unhealthy
	reason, text string
	passed       int // in a row, while unhealthy
	failed       int // in a row, while not unhealthy
}

// The reasons and texts of a target that has not been judged yet.
const (
	registering   = "Elb.RegistrationInProgress"
	initialChecks = "Elb.InitialHealthChecking"
)

func unjudged() standing {
	return standing{state: "initial", reason: initialChecks, text: "Initial health checks in progress"}
}

func (s standing) shows(o standing) bool {
	return s.state == o.state && s.reason == o.reason && s.text == o.text
}

// after is the standing after one more check. One passing check is enough for a
// target that has not been judged; the healthy threshold counts only for the way
// back from unhealthy.
func (s standing) after(r result, c *check) standing {
	switch {
	case r.ok && s.state == "unhealthy":
		if s.passed++; s.passed < c.healthy {
			return s
		}
		return standing{state: "healthy"}
	case r.ok:
		return standing{state: "healthy"}
	case s.state == "unhealthy":
		return standing{state: "unhealthy", reason: r.reason, text: r.text}
	}
	if s.failed++; s.failed < c.unhealthy {
		return s
	}
	return standing{state: "unhealthy", reason: r.reason, text: r.text}
}

// course is a target's way through its checks: where it stands and when the next
// check begins. While the source stays the same, all that will happen follows
// from it, so that checks that change nothing need not be done one by one.
type course struct {
	standing
	next  time.Time
	src   source
	check *check
}

// advance does the checks that end by limit, or all to come if forever is set,
// up to the first one that changes what DescribeTargetHealth shows. It reports
// when that is.
func (c *course) advance(limit time.Time, forever bool) (at time.Time, changed bool) {
	for {
		r := c.src.probe(c.next, c.check)
		end := c.next.Add(r.took)
		if !forever && end.After(limit) {
			return time.Time{}, false
		}
		was := c.standing
		c.standing = was.after(r, c.check)
		begun := c.next
		c.next = begun.Add(c.check.interval)
		if !c.standing.shows(was) {
			return end, true
		}
		if c.standing != was {
			continue
		}
		change, ok := c.src.nextChange(begun)
		switch {
		case ok && (forever || change.Before(limit)):
			c.skipTo(change)
		case forever:
			return time.Time{}, false
		default:
			c.skipTo(limit)
		}
	}
}

// skipTo moves to the first check that begins at t or later.
func (c *course) skipTo(t time.Time) {
	if gap := t.Sub(c.next); gap > 0 {
		c.next = c.next.Add((gap + c.check.interval - 1) / c.check.interval * c.check.interval)
	}
}
