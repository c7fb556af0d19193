package loadbalancer

import (
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
)

// GroupView is a target group in a [Table].
type GroupView struct {
	ARN, Name string
	Targets   []TargetView // in order of registration, draining ones too
	// FailOpen is set if fewer targets are healthy than the group requires. Then all of its targets
	// take requests.
	FailOpen bool

	takes     []int // indexes of the targets that take new requests
	ramping   bool  // one of them is in slow start
	least     bool  // least_outstanding_requests
	sticky    bool  // by the load balancer's cookie
	stickyFor time.Duration
	hash      uint64
	turn      *atomic.Uint64 // shared by all views of the group
}

// TargetView is a target in a [Table]. The data of its task is that of the time at which the table
// was published.
type TargetView struct {
	ID      string // as registered: an address or an instance id
	Port    int32
	Zone    string
	State   string
	Reason  string
	Address netip.Addr // where to connect; zero if unknown

	Task      string // ARN, "" if no task is behind the address
	TaskID    string
	Service   string // name
	Container string
	Behaviour image.Behaviour // of the container behind the port
	StartedAt time.Time

	hash              uint64
	rampFrom, rampEnd time.Time
}

// TakingTargets returns the targets that take new requests, in order.
func (g *GroupView) TakingTargets() []*TargetView {
	out := make([]*TargetView, 0, len(g.takes))
	for _, i := range g.takes {
		out = append(out, &g.Targets[i])
	}
	return out
}

// pickTarget chooses among the targets that take requests. It returns nil if there are none.
func (g *GroupView) pickTarget(at time.Time, d Random) *TargetView {
	n := len(g.takes)
	switch {
	case n == 0:
		return nil
	case g.least && d.Outstanding != nil:
		return g.pickLeastOutstanding(d)
	case g.ramping:
		return g.pickRamping(at, d)
	case d.Target < 0:
		return &g.Targets[g.takes[(g.turn.Add(1)-1)%uint64(n)]]
	}
	return &g.Targets[g.takes[min(int(d.Target*float64(n)), n-1)]]
}

// pickLeastOutstanding returns the target with the fewest open requests. Among equal targets it
// returns the next in turn, or the one at the random number.
func (g *GroupView) pickLeastOutstanding(d Random) *TargetView {
	n := len(g.takes)
	first := int((g.turn.Add(1) - 1) % uint64(n))
	if d.Target >= 0 {
		first = min(int(d.Target*float64(n)), n-1)
	}
	best, fewest := (*TargetView)(nil), 0
	for i := range n {
		t := &g.Targets[g.takes[(first+i)%n]]
		if open := d.Outstanding(t); best == nil || open < fewest {
			best, fewest = t, open
		}
	}
	return best
}

// goldenRatio steps through [0,1) so that any number of steps is spread evenly.
const goldenRatio = 0.6180339887498949

func (g *GroupView) pickRamping(at time.Time, d Random) *TargetView {
	x := d.Target
	if x < 0 {
		step := float64(g.turn.Add(1)-1) * goldenRatio
		x = step - float64(int64(step))
	}
	x *= g.totalWeight(at)
	for _, i := range g.takes {
		t := &g.Targets[i]
		if w := t.rampWeight(at); x < w {
			return t
		} else {
			x -= w
		}
	}
	return &g.Targets[g.takes[len(g.takes)-1]]
}

// totalWeight returns the sum of the weights of the targets that take requests. It is above 0 while
// there is such a target.
func (g *GroupView) totalWeight(at time.Time) float64 {
	sum := 0.0
	for _, i := range g.takes {
		sum += g.Targets[i].rampWeight(at)
	}
	return sum
}

// minRampWeight is the weight with which a target in slow start begins, relative to a full one.
const minRampWeight = 0.01

// rampWeight returns a target's weight among its peers: 1, or less during slow start. Slow start
// raises it linearly with time.
func (t *TargetView) rampWeight(at time.Time) float64 {
	if t.rampEnd.IsZero() || !at.Before(t.rampEnd) {
		return 1
	}
	done := float64(at.Sub(t.rampFrom)) / float64(t.rampEnd.Sub(t.rampFrom))
	return max(minRampWeight, done)
}
