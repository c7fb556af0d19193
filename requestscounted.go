package sluice

import (
	"fmt"
	"time"
)

// RequestsCounted is emitted while a canary gets requests, when CloudWatch shows another complete
// minute. If the figures cannot be read, it is emitted once with the problem.
type RequestsCounted struct {
	From    time.Time     `json:"from,omitzero"`     // the minute, UTC
	To      time.Time     `json:"to,omitzero"`       // its end
	Primary *RequestCount `json:"primary,omitempty"` // requests, errors5xx; absent: CloudWatch has no data of the minute
	Canary  *RequestCount `json:"canary,omitempty"`  // the same of the canary's target group
	Problem string        `json:"problem,omitempty"` // why there are no figures
}

// RequestCount is how many requests the target group of a variant got.
type RequestCount struct {
	Requests int `json:"requests"`
	// Errors is how many of them the targets answered with a status from 500 to 599.
	Errors int `json:"errors5xx"`
}

// Text describes the event for users.
func (e RequestsCounted) Text() string {
	if e.Problem != "" {
		return "no request figures: " + e.Problem
	}
	return fmt.Sprintf("requests %s–%s UTC: primary %s, canary %s", e.From.UTC().Format("15:04"),
		e.To.UTC().Format("15:04"), e.Primary, e.Canary)
}

// String returns the count for users; "–" if there is no data.
func (c *RequestCount) String() string {
	switch {
	case c == nil:
		return "–"
	case c.Requests == 0:
		return "0"
	}
	return fmt.Sprintf("%d (%d with 5xx)", c.Requests, c.Errors)
}
