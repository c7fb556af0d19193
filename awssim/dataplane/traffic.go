package dataplane

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// Traffic counts the outcomes of requests since the last reset.
type Traffic struct {
	Requests int64 `json:"requests"`
	// Failed counts the requests that a client of a healthy service never sees: status 500 and
	// above, refused connections, answers that broke off. Requests that the client ended are not
	// counted.
	Failed   int64         `json:"failed"`
	Statuses map[int]int64 `json:"statuses"` // 0: no answer
	Rows     []TrafficRow  `json:"rows"`
}

// TrafficRow counts the requests of one listener with the same outcome.
type TrafficRow struct {
	Listener string `json:"listener"`          // ARN
	Group    string `json:"group,omitempty"`   // ARN
	Version  string `json:"version,omitempty"` // of the image behind the target
	// Outcome is answered (by the target, with any status), redirect, fixed or upgraded. Failures
	// are unavailable (503, no target), refused by target and bad gateway (502), and timeout (504).
	// Broken connections are client gone (460), cut (the answer broke off), and refused (the load
	// balancer takes no connection). A connection through a Network Load Balancer has no status: it is
	// connected, refused, refused by target, or cut.
	Outcome  string `json:"outcome"`
	Status   int    `json:"status"`
	Requests int64  `json:"requests"`
}

func (r TrafficRow) hasFailed() bool {
	return slices.Contains([]string{"cut", "refused", "refused by target"}, r.Outcome) ||
		r.Status >= 500 && r.Outcome != "fixed"
}

// trafficCell is the key by which requests are counted.
type trafficCell struct {
	listener, group, version, outcome string
	status                            int
}

type trafficCounts struct {
	cells atomic.Pointer[sync.Map] // cell -> *atomic.Int64
}

func (t *trafficCounts) addRequests(c trafficCell, n int64) {
	m := t.cells.Load()
	if m == nil {
		t.cells.CompareAndSwap(nil, &sync.Map{})
		m = t.cells.Load()
	}
	v, ok := m.Load(c)
	if !ok {
		v, _ = m.LoadOrStore(c, new(atomic.Int64))
	}
	v.(*atomic.Int64).Add(n)
}

// Traffic counts all requests since start or since [Plane.ResetTraffic].
func (p *Plane) Traffic() Traffic {
	t := Traffic{Statuses: map[int]int64{}, Rows: []TrafficRow{}}
	m := p.traffic.cells.Load()
	if m == nil {
		return t
	}
	m.Range(func(k, v any) bool {
		c := k.(trafficCell)
		if n := v.(*atomic.Int64).Load(); n > 0 {
			t.Rows = append(t.Rows, TrafficRow{c.listener, c.group, c.version, c.outcome, c.status, n})
		}
		return true
	})
	slices.SortFunc(t.Rows, func(a, b TrafficRow) int {
		return cmp.Or(cmp.Compare(a.Listener, b.Listener), cmp.Compare(a.Group, b.Group),
			cmp.Compare(a.Version, b.Version), cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Status, b.Status))
	})
	for _, r := range t.Rows {
		t.Requests += r.Requests
		t.Statuses[r.Status] += r.Requests
		if r.hasFailed() {
			t.Failed += r.Requests
		}
	}
	return t
}

// ResetTraffic clears the counts.
func (p *Plane) ResetTraffic() { p.traffic.cells.Store(&sync.Map{}) }
