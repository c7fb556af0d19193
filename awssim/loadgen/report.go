package loadgen

import (
	"slices"
	"strings"
	"time"
)

// Report holds the outcomes of a caller's requests. Numbers are exact sums and need not be whole.
type Report struct {
	Requests float64
	Failed   float64
	Lines    []Line        // by group, version and status, in that order
	First    []Failure     // the first ones, in full
	Worst    []Extreme     // per version, the highest share it had, by version
	History  []ShareChange // each time the shares changed, oldest first
}

// Line is the number of requests with one outcome.
type Line struct {
	Group   string // name; "" if the load balancer answered before choosing one
	Version string // of the image that answered; "" if none did
	Status  int    // as the caller saw it; 0: the connection was refused
	Count   float64
}

// Failed reports whether the caller lost the request: no answer, or a 5xx.
func (l Line) Failed() bool { return l.Status == 0 || l.Status >= 500 }

// Failure counts requests that were lost for one cause. At is the time of the first.
type Failure struct {
	At       time.Time
	Cause    string
	Group    string
	Target   string // address; "" if none was chosen
	Requests float64
}

// Extreme is the highest share of the requests that a version ever had.
type Extreme struct {
	Version string
	Share   float64
	At      time.Time // when it first had it
}

// ShareChange is the distribution of requests from a time on.
type ShareChange struct {
	At     time.Time
	Shares []VersionShare // by group and version
}

// VersionShare is the share of one version in one group. Version is "" if no target takes the
// requests.
type VersionShare struct {
	Group, Version string
	Share          float64
}

// AnsweredBy returns the number of requests that a version answered without failure.
func (r *Report) AnsweredBy(version string) float64 {
	sum := 0.0
	for _, l := range r.Lines {
		if l.Version == version && !l.Failed() {
			sum += l.Count
		}
	}
	return sum
}

func (r *Report) addCount(l Line, n float64) {
	if l.Failed() {
		r.Failed += n
	}
	i, found := slices.BinarySearchFunc(r.Lines, l, compareLines)
	if !found {
		l.Count = 0
		r.Lines = slices.Insert(slices.Clone(r.Lines), i, l)
	}
	r.Lines[i].Count += n
}

func compareLines(a, b Line) int {
	if c := strings.Compare(a.Group, b.Group); c != 0 {
		return c
	}
	if c := strings.Compare(a.Version, b.Version); c != 0 {
		return c
	}
	return a.Status - b.Status
}

// addFailure records a failure. A repeated failure adds to its existing entry.
func (r *Report) addFailure(f Failure) {
	for i := range r.First {
		if x := &r.First[i]; x.Cause == f.Cause && x.Group == f.Group && x.Target == f.Target {
			x.Requests += f.Requests
			return
		}
	}
	if len(r.First) < maxFailures {
		r.First = append(r.First, f)
	}
}

// noteShares records the shares if they differ from the previous ones.
func (r *Report) noteShares(at time.Time, streams []stream, rate float64) {
	var shares []VersionShare
	for _, s := range streams {
		v := VersionShare{Group: s.decision.Group, Share: s.share}
		if s.host != nil {
			v.Version = versionOf(s.host)
		}
		i := slices.IndexFunc(shares, func(x VersionShare) bool { return x.Group == v.Group && x.Version == v.Version })
		if i < 0 {
			shares = append(shares, v)
			continue
		}
		shares[i].Share += v.Share
	}
	slices.SortStableFunc(shares, func(a, b VersionShare) int {
		return strings.Compare(a.Group+" "+a.Version, b.Group+" "+b.Version)
	})
	if n := len(r.History); n > 0 && sameShares(r.History[n-1].Shares, shares) {
		return
	}
	r.History = append(r.History, ShareChange{at, shares})
	if rate > 0 {
		r.updateWorst(at, shares)
	}
}

// sameShares reports whether the shares are equal apart from rounding.
func sameShares(a, b []VersionShare) bool {
	return slices.EqualFunc(a, b, func(x, y VersionShare) bool {
		return x.Group == y.Group && x.Version == y.Version && x.Share-y.Share < 1e-9 && y.Share-x.Share < 1e-9
	})
}

func (r *Report) updateWorst(at time.Time, shares []VersionShare) {
	sums := map[string]float64{}
	for _, s := range shares {
		sums[s.Version] += s.Share
	}
	for _, s := range shares {
		i, found := slices.BinarySearchFunc(r.Worst, s.Version,
			func(e Extreme, v string) int { return strings.Compare(e.Version, v) })
		switch sum := sums[s.Version]; {
		case !found:
			r.Worst = slices.Insert(slices.Clone(r.Worst), i, Extreme{s.Version, sum, at})
		case r.Worst[i].Share < sum-1e-9:
			r.Worst[i] = Extreme{s.Version, sum, at}
		}
	}
}
