package world

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// requestRetention is how long the counts of a minute are kept.
const requestRetention = 6 * time.Hour

// RequestSample is a number of requests for which a load balancer chose a target. Requests that it
// answers without a target are in no sample, as in AWS's RequestCount.
type RequestSample struct {
	Key             Key
	Balancer, Group string    // ARNs
	From, To        time.Time // the requests are spread evenly over this time; equal: all at From
	Status          int       // that the target answered; 0: the load balancer answered for it
	Took            time.Duration
	Count           float64
}

// StatusClass is the first digit of the status that targets answered. 0 stands for requests that the
// load balancer answered for the target.
type StatusClass int

// MinuteCounts are the requests of one minute.
type MinuteCounts struct {
	Minute  time.Time     // its begin
	Answers []AnswerCount // by class and time
}

// AnswerCount is the number of requests with one result. Took is the time from the request to the
// header of the target's answer, in three digits, or 0 without an answer.
type AnswerCount struct {
	Class StatusClass
	Took  time.Duration
	Count float64
}

// requestCell names the requests that are counted together.
type requestCell struct {
	key             Key
	balancer, group string
	minute          int64 // Unix time of its begin
}

// requestCounts counts requests by minute. The data plane adds to it without a lock of the world.
type requestCounts struct {
	cells  sync.Map     // requestCell -> *answerCounts
	pruned atomic.Int64 // the minute at which old cells were deleted last
}

// answerKey names the requests of a cell with one result.
type answerKey struct {
	class StatusClass
	took  time.Duration
}

// answerCounts are the counts of one cell.
type answerCounts struct {
	mu     sync.Mutex
	counts map[answerKey]float64
}

func (a *answerCounts) addCount(k answerKey, n float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts == nil {
		a.counts = map[answerKey]float64{}
	}
	a.counts[k] += n
}

// addTo adds the counts to a list.
func (a *answerCounts) addTo(all []AnswerCount) []AnswerCount {
	a.mu.Lock()
	defer a.mu.Unlock()
	for k, n := range a.counts {
		all = append(all, AnswerCount{k.class, k.took, n})
	}
	return all
}

// CountRequests adds a sample to the counts of its minutes. It takes no lock of the world.
func (w *World) CountRequests(s RequestSample) {
	c := requestCell{key: s.Key, balancer: s.Balancer, group: s.Group}
	k := answerKey{class: StatusClass(s.Status / 100)}
	if k.class > 0 {
		k.took = roundTime(s.Took)
	}
	total := s.To.Sub(s.From).Seconds()
	for from := s.From; ; {
		begin := from.Truncate(time.Minute)
		to, n := begin.Add(time.Minute), s.Count
		if to.After(s.To) {
			to = s.To
		}
		if total > 0 {
			n = s.Count * to.Sub(from).Seconds() / total
		}
		c.minute = begin.Unix()
		w.requests.cellOf(c).addCount(k, n)
		if from = to; !from.Before(s.To) {
			return
		}
	}
}

// minTime is the time of the fastest answer.
const minTime = time.Millisecond / 10

// roundTime rounds a time to three decimal digits, so that a minute has few different times. The
// error is at most half a percent, and a time such as 500 ms does not change.
func roundTime(d time.Duration) time.Duration {
	unit := time.Microsecond
	for d >= 1000*unit {
		unit *= 10
	}
	return max(d.Round(unit), minTime)
}

func (r *requestCounts) cellOf(c requestCell) *answerCounts {
	v, ok := r.cells.Load(c)
	if !ok {
		r.pruneBefore(c.minute - int64(requestRetention/time.Second))
		v, _ = r.cells.LoadOrStore(c, new(answerCounts))
	}
	return v.(*answerCounts)
}

// pruneBefore deletes the cells of older minutes, once for each minute.
func (r *requestCounts) pruneBefore(minute int64) {
	if last := r.pruned.Load(); minute <= last || !r.pruned.CompareAndSwap(last, minute) {
		return
	}
	r.cells.Range(func(k, _ any) bool {
		if k.(requestCell).minute < minute {
			r.cells.Delete(k)
		}
		return true
	})
}

// AddRequestSource makes f run before counts are read. A source counts requests later than they are
// sent; f counts those up to now.
func (tx *Tx) AddRequestSource(f func(now time.Time)) {
	tx.requestSources = append(tx.requestSources, f)
}

// RequestCounts returns the requests per minute of a load balancer and a target group, oldest
// first, without minutes that have none. The balancer and the group are the ends of their ARNs, as
// in CloudWatch's dimensions; without a group, the counts are those of all groups.
func (tx *Tx) RequestCounts(balancer, group string) []MinuteCounts {
	for _, f := range tx.requestSources {
		f(tx.Now())
	}
	var all []MinuteCounts
	for _, c := range tx.w.requests.sortedCells(func(c requestCell) bool {
		return c.key == tx.Key && hasARNEnd(c.balancer, balancer) && (group == "" || hasARNEnd(c.group, group))
	}) {
		if n := len(all); n == 0 || all[n-1].Minute.Unix() != c.minute {
			all = append(all, MinuteCounts{Minute: time.Unix(c.minute, 0).UTC()})
		}
		last := &all[len(all)-1]
		last.Answers = tx.w.requests.cellOf(c).addTo(last.Answers)
	}
	for i := range all {
		all[i].Answers = mergeAnswers(all[i].Answers)
	}
	return slices.DeleteFunc(all, func(m MinuteCounts) bool { return len(m.Answers) == 0 })
}

// mergeAnswers sorts the counts and adds up those with the same result. It drops results that no
// request had.
func mergeAnswers(all []AnswerCount) []AnswerCount {
	slices.SortFunc(all, func(a, b AnswerCount) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Took, b.Took), cmp.Compare(a.Count, b.Count))
	})
	merged := all[:0]
	for _, a := range all {
		if n := len(merged); n > 0 && merged[n-1].Class == a.Class && merged[n-1].Took == a.Took {
			merged[n-1].Count += a.Count
			continue
		}
		merged = append(merged, a)
	}
	return slices.DeleteFunc(merged, func(a AnswerCount) bool { return a.Count < minCount })
}

// minCount is below every count of requests. A count that rounding left is less.
const minCount = 1e-6

// sortedCells returns the cells that match, by minute and group.
func (r *requestCounts) sortedCells(matches func(requestCell) bool) (all []requestCell) {
	r.cells.Range(func(k, _ any) bool {
		if c := k.(requestCell); matches(c) {
			all = append(all, c)
		}
		return true
	})
	slices.SortFunc(all, func(a, b requestCell) int {
		return cmp.Or(cmp.Compare(a.minute, b.minute), cmp.Compare(a.group, b.group))
	})
	return all
}

// hasARNEnd reports whether an ARN ends with a resource, such as app/edge/0123456789abcdef.
func hasARNEnd(arn, resource string) bool {
	return strings.HasSuffix(arn, "/"+resource) || strings.HasSuffix(arn, ":"+resource)
}
