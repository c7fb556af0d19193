package balancer

import (
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// groupNote is the law's notes on a target group.
type groupNote struct {
	arn    string
	group  *world.TargetGroup // nil once it is gone
	behind []*live            // load balancers that use it
	check  *check             // how its targets are checked, made ready
	turn   *atomic.Uint64
	serial int // registrations so far
	former []former
}

// former is a target that was deregistered, as the nodes still know it.
type former struct {
	view TargetView
	till time.Time
}

// formerOf is what the nodes still know of a target; nil if they know that it was
// deregistered.
func (n *groupNote) formerOf(id string, port int32, now time.Time) *former {
	for i := range n.former {
		if f := &n.former[i]; f.view.ID == id && f.view.Port == port && f.till.After(now) {
			return f
		}
	}
	return nil
}

// lag lets the nodes go on with a target that was just deregistered, if they sent
// requests to it (knob TargetPropagation).
func (l *Law) lag(tx *world.Tx, n *groupNote, t *world.Target) {
	k := tx.Knobs().TargetPropagation
	n.former = slices.DeleteFunc(n.former, func(f former) bool {
		return !f.till.After(tx.Now()) || f.view.ID == t.ID && f.view.Port == t.Port
	})
	n.serial++
	d := tx.Between(k.Min, k.Max, "target propagation", n.arn+t.ID, n.serial)
	view := n.known(t)
	if d <= 0 || view == nil {
		return
	}
	n.former = append(n.former, former{*view, tx.Now().Add(d)})
	tx.After(d, func(tx *world.Tx) {
		stateOf(tx).views.add(n)
		for _, b := range n.behind {
			tx.Changed(world.NodesChanged, b.lb)
		}
	})
}

// known is a target as the nodes know it, if they send requests to it; else nil.
func (n *groupNote) known(t *world.Target) *TargetView {
	for _, b := range n.behind {
		v := b.views[b.slot(n.arn)]
		for _, i := range v.takes {
			if x := &v.Targets[i]; x.ID == t.ID && x.Port == t.Port {
				return x
			}
		}
	}
	return nil
}

func (s *state) groupAt(arn string) *groupNote {
	n := s.groups[arn]
	if n == nil {
		n = &groupNote{arn: arn, turn: new(atomic.Uint64)}
		s.groups[arn] = n
	}
	return n
}

func (s *state) group(g *world.TargetGroup) *groupNote {
	n := s.groupAt(g.ARN)
	if n.group != g {
		n.group, n.check = g, nil
	}
	if n.check == nil {
		n.check = checkOf(g)
	}
	return n
}

// see makes the group's view anew in one load balancer.
func (b *live) see(tx *world.Tx, n *groupNote) {
	slot := b.slot(n.arn)
	if g := n.group; g != nil {
		b.views[slot] = viewOfGroup(tx, g, n)
		return
	}
	b.views[slot] = &GroupView{ARN: n.arn, hash: hashOf(n.arn), turn: n.turn}
}

func viewOfGroup(tx *world.Tx, g *world.TargetGroup, n *groupNote) *GroupView {
	v := &GroupView{
		ARN: g.ARN, Name: g.Name, Targets: make([]TargetView, 0, len(g.Targets)), hash: hashOf(g.ARN), turn: n.turn,
		least:     g.Attributes["load_balancing.algorithm.type"] == "least_outstanding_requests",
		sticky:    g.Attributes["stickiness.enabled"] == "true" && g.Attributes["stickiness.type"] == "lb_cookie",
		stickyFor: seconds(g.Attributes["stickiness.lb_cookie.duration_seconds"], 86400),
	}
	for _, t := range g.Targets {
		if f := n.formerOf(t.ID, t.Port, tx.Now()); f != nil && t.State == "draining" {
			v.Targets = append(v.Targets, f.view)
			continue
		}
		v.Targets = append(v.Targets, viewOfTarget(tx, t))
	}
	for _, f := range n.former {
		if f.till.After(tx.Now()) && g.Find(f.view.ID, f.view.Port) == nil {
			v.Targets = append(v.Targets, f.view)
		}
	}
	v.open(g)
	return v
}

// open decides which targets take requests: the healthy ones or, if there are
// too few, all that are registered, checked and not draining (fail-open).
func (v *GroupView) open(g *world.TargetGroup) {
	var healthy, all []int
	for i := range v.Targets {
		t := &v.Targets[i]
		switch {
		case t.State == "healthy":
			healthy, all = append(healthy, i), append(all, i)
		case t.State == "unhealthy", t.Reason == initialChecks:
			all = append(all, i)
		}
	}
	v.takes = healthy
	if len(healthy) < enough(g, len(all)) {
		v.takes, v.FailOpen = all, len(all) > 0
	}
	v.ramping = slices.ContainsFunc(v.takes, func(i int) bool { return !v.Targets[i].rampEnd.IsZero() })
}

// enough is how many healthy targets a group of n must have before it fails open.
func enough(g *world.TargetGroup, n int) int {
	const prefix = "target_group_health.unhealthy_state_routing.minimum_healthy_targets."
	want := 1
	if c, err := strconv.Atoi(g.Attributes[prefix+"count"]); err == nil {
		want = c
	}
	if p, err := strconv.Atoi(g.Attributes[prefix+"percentage"]); err == nil {
		want = max(want, (n*p+99)/100)
	}
	return want
}

func viewOfTarget(tx *world.Tx, t *world.Target) TargetView {
	v := TargetView{
		ID: t.ID, Port: t.Port, Zone: t.Zone, State: t.State, Reason: t.Reason,
		hash: targetHash(t.Group.ARN, t.ID, t.Port),
	}
	v.Address, _ = netip.ParseAddr(t.ID)
	if n, ok := t.Law.(*note); ok && n.rampEnd.After(tx.Now()) {
		v.rampFrom, v.rampEnd = n.rampFrom, n.rampEnd
	}
	task := t.Task
	if task == nil {
		return v
	}
	v.Task, v.TaskID, v.StartedAt = task.ARN, task.ID, task.StartedAt
	if !v.Address.IsValid() {
		v.Address = task.Address
	}
	if task.Service != nil {
		v.Service = task.Service.Name
	}
	if c := task.ContainerFor(t.Port); c != nil {
		v.Container, v.Behaviour = c.Spec.Name, c.Behaviour
	}
	return v
}

func seconds(s string, otherwise int) time.Duration {
	n, err := strconv.Atoi(s)
	if err != nil {
		n = otherwise
	}
	return time.Duration(n) * time.Second
}

// groupChanged follows a group that came, went or was set otherwise.
func (l *Law) groupChanged(tx *world.Tx, s *state, g *world.TargetGroup) {
	n := s.groupAt(g.ARN)
	if _, ok := tx.TargetGroups.Get(g.ARN); !ok {
		n.group = nil
		for _, t := range g.Targets {
			s.leave(tx, t)
			t.State = "gone"
			tx.Changed(world.TargetChanged, t)
		}
		if len(n.behind) == 0 {
			delete(s.groups, g.ARN)
		}
		s.views.add(n)
		return
	}
	s.group(g)
	if c := checkOf(g); !c.equal(n.check) {
		l.recheck(tx, s, n, c)
	}
	s.views.add(n)
}
