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
		b.views[slot] = viewOfGroup(tx, g, n.turn)
		return
	}
	b.views[slot] = &GroupView{ARN: n.arn, hash: hashOf(n.arn), turn: n.turn}
}

func viewOfGroup(tx *world.Tx, g *world.TargetGroup, turn *atomic.Uint64) *GroupView {
	v := &GroupView{
		ARN: g.ARN, Name: g.Name, Targets: make([]TargetView, 0, len(g.Targets)), hash: hashOf(g.ARN), turn: turn,
		least:     g.Attributes["load_balancing.algorithm.type"] == "least_outstanding_requests",
		sticky:    g.Attributes["stickiness.enabled"] == "true" && g.Attributes["stickiness.type"] == "lb_cookie",
		stickyFor: seconds(g.Attributes["stickiness.lb_cookie.duration_seconds"], 86400),
	}
	for _, t := range g.Targets {
		v.Targets = append(v.Targets, viewOfTarget(tx, t))
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
