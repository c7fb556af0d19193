package world

import (
	"cmp"
	"math"
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
	Count           float64
}

// StatusClass is the first digit of the status that targets answered. 0 stands for all requests,
// with an answer of the target or without.
type StatusClass int

// MinuteCount is the number of requests of one minute.
type MinuteCount struct {
	Minute time.Time // its begin
	Count  float64
}

// requestCell names the requests that are counted together.
type requestCell struct {
	key             Key
	balancer, group string
	class           StatusClass
	minute          int64 // Unix time of its begin
}

// requestCounts counts requests by minute. The data plane adds to it without a lock of the world.
type requestCounts struct {
	cells  sync.Map     // requestCell -> *atomicFloat
	pruned atomic.Int64 // the minute at which old cells were deleted last
}

// atomicFloat is a float64 that several goroutines add to.
type atomicFloat struct{ bits atomic.Uint64 }

func (f *atomicFloat) addValue(v float64) {
	for {
		old := f.bits.Load()
		if f.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

func (f *atomicFloat) value() float64 { return math.Float64frombits(f.bits.Load()) }

// CountRequests adds a sample to the counts of its minutes. It takes no lock of the world.
func (w *World) CountRequests(s RequestSample) {
	c := requestCell{key: s.Key, balancer: s.Balancer, group: s.Group}
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
		w.requests.addCount(c, n)
		if class := StatusClass(s.Status / 100); class > 0 {
			c.class = class
			w.requests.addCount(c, n)
			c.class = 0
		}
		if from = to; !from.Before(s.To) {
			return
		}
	}
}

func (r *requestCounts) addCount(c requestCell, n float64) {
	v, ok := r.cells.Load(c)
	if !ok {
		r.pruneBefore(c.minute - int64(requestRetention/time.Second))
		v, _ = r.cells.LoadOrStore(c, new(atomicFloat))
	}
	v.(*atomicFloat).addValue(n)
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
func (tx *Tx) RequestCounts(balancer, group string, class StatusClass) []MinuteCount {
	for _, f := range tx.requestSources {
		f(tx.Now())
	}
	var all []MinuteCount
	for _, c := range tx.w.requests.sortedCells(func(c requestCell) bool {
		return c.key == tx.Key && c.class == class && hasARNEnd(c.balancer, balancer) &&
			(group == "" || hasARNEnd(c.group, group))
	}) {
		if n := len(all); n == 0 || all[n-1].Minute.Unix() != c.minute {
			all = append(all, MinuteCount{Minute: time.Unix(c.minute, 0).UTC()})
		}
		all[len(all)-1].Count += tx.w.requests.countOf(c)
	}
	return slices.DeleteFunc(all, func(m MinuteCount) bool { return m.Count < minCount })
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

func (r *requestCounts) countOf(c requestCell) float64 {
	if v, ok := r.cells.Load(c); ok {
		return v.(*atomicFloat).value()
	}
	return 0
}

// hasARNEnd reports whether an ARN ends with a resource, such as app/edge/0123456789abcdef.
func hasARNEnd(arn, resource string) bool {
	return strings.HasSuffix(arn, "/"+resource) || strings.HasSuffix(arn, ":"+resource)
}
