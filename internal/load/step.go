package load

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Step is the results of the requests that were sent in one step of the load.
type Step struct {
	Name         string
	Began, Ended time.Time // by the machine's clock
	Requests     int
	ByVersion    map[string]int // requests by the version that responded; "": failed
	// SteadyByTask are the requests sent since [Load.SetSteady], by the task that responded;
	// "": failed.
	SteadyByTask map[string]int

	steady    bool
	failures  map[string]int
	latencies *hdrhistogram.Histogram // microseconds, from when the request was due
}

// Failure is one cause of failed requests.
type Failure struct {
	Cause string
	Count int
}

const maxLatency = 60 * time.Second

func newStep(name string, now time.Time) *Step {
	return &Step{Name: name, Began: now, ByVersion: map[string]int{}, SteadyByTask: map[string]int{},
		failures:  map[string]int{},
		latencies: hdrhistogram.New(1, maxLatency.Microseconds(), 3)}
}

func (s *Step) addResponse(a response, steady bool, took time.Duration) {
	s.Requests++
	if a.cause != "" {
		s.failures[a.cause]++
		a.task, a.version = "", ""
	}
	s.ByVersion[a.version]++
	if steady {
		s.SteadyByTask[a.task]++
	}
	_ = s.latencies.RecordValue(min(took, maxLatency).Microseconds()) // cannot fail up to maxLatency
}

// CountFailed returns how many requests got no complete response with status 200.
func (s *Step) CountFailed() int {
	n := 0
	for _, c := range s.failures {
		n += c
	}
	return n
}

// Failures returns the causes, the most frequent first.
func (s *Step) Failures() []Failure {
	var all []Failure
	for cause, n := range s.failures {
		all = append(all, Failure{cause, n})
	}
	slices.SortFunc(all, func(a, b Failure) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Cause, b.Cause)) })
	return all
}

// Quantile returns the latency that the share q (0 to 1) of requests did not exceed.
func (s *Step) Quantile(q float64) time.Duration {
	return time.Duration(s.latencies.ValueAtQuantile(q*100)) * time.Microsecond
}

// WilsonInterval returns the 95 % interval of a share that was measured as hits in n. It is Wilson's
// score interval, which is valid for few hits and near 0 and 1, where the normal approximation is
// not. For n = 0 it returns 0 to 1.
func WilsonInterval(hits, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	const z = 1.959964
	p, m := float64(hits)/float64(n), float64(n)
	mid := p + z*z/(2*m)
	spread := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	d := 1 + z*z/m
	return max(0, (mid-spread)/d), min(1, (mid+spread)/d)
}
