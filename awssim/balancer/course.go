package balancer

import "time"

// healthState is the health of a target after the checks so far.
type standing struct {
	state        string // initial, healthy, unhealthy
	reason, text string
	passed       int // in a row, while unhealthy
	failed       int // in a row, while not unhealthy
}

// Reasons of a target before its first check result.
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

// afterCheck returns the health state after one more check. One passing check is enough for a
// target without a check result. The healthy threshold counts only for a target that was unhealthy.
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

// checkSchedule holds a target's health state and the time of its next check. While the source
// stays the same, all later results follow from it. Checks that change nothing therefore need not
// run one by one.
type course struct {
	standing
	next  time.Time
	src   source
	check *check
}

// runChecks runs the checks that end by limit, or all later checks if forever is set. It stops at
// the first check that changes the output of DescribeTargetHealth, and returns its time.
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
