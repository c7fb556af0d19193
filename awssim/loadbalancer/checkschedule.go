package loadbalancer

import "time"

// healthState is the health of a target after the checks so far.
type healthState struct {
	state        string // initial, healthy, unhealthy
	reason, text string
	passed       int // in a row, while unhealthy
	failed       int // in a row, while not unhealthy
}

// Reasons of a target before its first check result.
const (
	registrationInProgress = "Elb.RegistrationInProgress"
	initialHealthChecking  = "Elb.InitialHealthChecking"
)

func initialHealth() healthState {
	return healthState{state: "initial", reason: initialHealthChecking, text: "Initial health checks in progress"}
}

func (s healthState) isReportedLike(o healthState) bool {
	return s.state == o.state && s.reason == o.reason && s.text == o.text
}

// afterCheck returns the health state after one more check. One passing check is enough for a
// target without a check result. The healthy threshold counts only for a target that was unhealthy.
func (s healthState) afterCheck(r result, c *check) healthState {
	switch {
	case r.ok && s.state == "unhealthy":
		if s.passed++; s.passed < c.healthy {
			return s
		}
		return healthState{state: "healthy"}
	case r.ok:
		return healthState{state: "healthy"}
	case s.state == "unhealthy":
		return healthState{state: "unhealthy", reason: r.reason, text: r.text}
	}
	if s.failed++; s.failed < c.unhealthy {
		return s
	}
	return healthState{state: "unhealthy", reason: r.reason, text: r.text}
}

// checkSchedule holds a target's health state and the time of its next check. While the source
// stays the same, all later results follow from it. Checks that change nothing therefore need not
// run one by one.
type checkSchedule struct {
	healthState
	next  time.Time
	src   source
	check *check
}

// runChecks runs the checks that end by limit, or all later checks if forever is set. It stops at
// the first check that changes the output of DescribeTargetHealth, and returns its time.
func (c *checkSchedule) runChecks(limit time.Time, forever bool) (at time.Time, changed bool) {
	for {
		r := c.src.probeAt(c.next, c.check)
		end := c.next.Add(r.took)
		if !forever && end.After(limit) {
			return time.Time{}, false
		}
		was := c.healthState
		c.healthState = was.afterCheck(r, c.check)
		begun := c.next
		c.next = begun.Add(c.check.interval)
		if !c.healthState.isReportedLike(was) {
			return end, true
		}
		if c.healthState != was {
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
func (c *checkSchedule) skipTo(t time.Time) {
	if gap := t.Sub(c.next); gap > 0 {
		c.next = c.next.Add((gap + c.check.interval - 1) / c.check.interval * c.check.interval)
	}
}
