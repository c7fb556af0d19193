package sluice

import (
	"fmt"
	"math"
	"time"
)

// RequestsCounted is emitted while a canary gets requests, when CloudWatch shows another complete
// minute. If the figures cannot be read, it is emitted once with the problem.
type RequestsCounted struct {
	From    time.Time     `json:"from,omitzero"`     // the minute, UTC
	To      time.Time     `json:"to,omitzero"`       // its end
	Primary *RequestCount `json:"primary,omitempty"` // requests, errors5xx; absent: CloudWatch has no data of the minute
	Canary  *RequestCount `json:"canary,omitempty"`  // the same of the canary's target group
	// Share is the canary's share of these requests; absent without requests.
	Share   *MeasuredShare `json:"share,omitempty"`
	Problem string         `json:"problem,omitempty"` // why there are no figures
}

// MeasuredShare is a share of requests that were counted, and the interval of shares by which it can be explained:
// Wilson's, of 95 %.
type MeasuredShare struct {
	Percent float64 `json:"percent"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

// MeasureShare returns the canary's share of the requests of both variants; nil without requests.
func MeasureShare(primary, canary int) *MeasuredShare {
	n := float64(primary + canary)
	if primary < 0 || canary < 0 || n == 0 {
		return nil
	}
	const z = 1.959964 // 95 % of a normal distribution are within so many standard deviations
	p := float64(canary) / n
	center := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	percent := func(share float64) float64 { return math.Round(share*1e6) / 1e4 }
	return &MeasuredShare{Percent: percent(p), Low: percent(max(center-half, 0)), High: percent(min(center+half, 1))}
}

// String returns the share with its interval: "10.0 % (9.3–10.8 %)".
func (s MeasuredShare) String() string { return fmt.Sprintf("%.1f %% (%s)", s.Percent, s.Interval()) }

// Interval returns the interval: "9.3–10.8 %".
func (s MeasuredShare) Interval() string { return fmt.Sprintf("%.1f–%.1f %%", s.Low, s.High) }

// RequestCount is how many requests the target group of a variant got.
type RequestCount struct {
	Requests int `json:"requests"`
	// Errors is how many of them the targets answered with a status from 500 to 599.
	Errors int `json:"errors5xx"`
}

// HasWorseCanary reports whether the canary answered a larger part of its requests with 5xx than the primary, and at
// least 1 %: the interval of its share is above both.
func (e RequestsCounted) HasWorseCanary() bool {
	if e.Canary == nil || e.Primary == nil {
		return false
	}
	canary, primary := e.Canary.errorShare(), e.Primary.errorShare()
	return canary != nil && canary.Low >= 1 && (primary == nil || canary.Low > primary.High)
}

// errorShare is the part of the requests that were answered with 5xx; nil without requests.
func (c RequestCount) errorShare() *MeasuredShare { return MeasureShare(c.Requests-c.Errors, c.Errors) }

// Text describes the event for users.
func (e RequestsCounted) Text() string {
	if e.Problem != "" {
		return "no request figures: " + e.Problem
	}
	text := fmt.Sprintf("requests %s–%s UTC: primary %s, canary %s", e.From.UTC().Format("15:04"),
		e.To.UTC().Format("15:04"), e.Primary, e.Canary)
	if e.Share != nil {
		text += ", share " + e.Share.String()
	}
	return text
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
