package loadbalancer

import (
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// groupNote is the controller's private state of a target group.
type groupNote struct {
	arn     string
	group   *world.TargetGroup // nil after it was deleted
	usedBy  []*nodeState       // load balancers that use the group
	check   *check             // prepared health check
	turn    *atomic.Uint64
	serial  int // registrations so far
	lagging []laggingTarget
}

// laggingTarget is a deregistered target to which the nodes still send requests.
type laggingTarget struct {
	view TargetView
	till time.Time
}

// laggingOf returns the view of a deregistered target that the nodes still use. It returns nil if
// they know of the deregistration.
func (n *groupNote) laggingOf(id string, port int32, now time.Time) *laggingTarget {
	for i := range n.lagging {
		if f := &n.lagging[i]; f.view.ID == id && f.view.Port == port && f.till.After(now) {
			return f
		}
	}
	return nil
}

// keepAtNodes keeps a deregistered target in use at the nodes for the delay of the setting
// TargetPropagation. It does so only if the nodes sent requests to the target.
func (l *Controller) keepAtNodes(tx *world.Tx, n *groupNote, t *world.Target) {
	k := targetDelay(tx, n)
	n.lagging = slices.DeleteFunc(n.lagging, func(f laggingTarget) bool {
		return !f.till.After(tx.Now()) || f.view.ID == t.ID && f.view.Port == t.Port
	})
	n.serial++
	d := tx.RandomBetween(k.Min, k.Max, "target propagation", n.arn+t.ID, n.serial)
	view := n.knownTarget(t)
	if d <= 0 || view == nil {
		return
	}
	n.lagging = append(n.lagging, laggingTarget{*view, tx.Now().Add(d)})
	tx.After(d, func(tx *world.Tx) {
		stateOf(tx).views.add(n)
		for _, b := range n.usedBy {
			tx.Changed(world.NodesChanged, b.lb)
		}
	})
}

// knownTarget returns the view of a target to which the nodes send requests, or nil.
func (n *groupNote) knownTarget(t *world.Target) *TargetView {
	for _, b := range n.usedBy {
		v := b.views[b.slotOf(n.arn)]
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

func (s *state) groupOf(g *world.TargetGroup) *groupNote {
	n := s.groupAt(g.ARN)
	if n.group != g {
		n.group, n.check = g, nil
	}
	if n.check == nil {
		n.check = checkOf(g)
	}
	return n
}

// updateGroupView builds the group's view in one load balancer again.
func (b *nodeState) updateGroupView(tx *world.Tx, n *groupNote) {
	slot := b.slotOf(n.arn)
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
		stickyFor: secondsOr(g.Attributes["stickiness.lb_cookie.duration_seconds"], 86400),
	}
	for _, t := range g.Targets {
		if f := n.laggingOf(t.ID, t.Port, tx.Now()); f != nil && t.State == "draining" {
			v.Targets = append(v.Targets, f.view)
			continue
		}
		v.Targets = append(v.Targets, viewOfTarget(tx, t))
	}
	for _, f := range n.lagging {
		if f.till.After(tx.Now()) && g.Find(f.view.ID, f.view.Port) == nil {
			v.Targets = append(v.Targets, f.view)
		}
	}
	v.chooseTaking(g)
	return v
}

// chooseTaking chooses the targets that take requests: the healthy ones or, if there are too few,
// all that are registered, checked and not draining (fail-open).
func (v *GroupView) chooseTaking(g *world.TargetGroup) {
	var healthy, all []int
	for i := range v.Targets {
		t := &v.Targets[i]
		switch {
		case t.State == "healthy":
			healthy, all = append(healthy, i), append(all, i)
		case t.State == "unhealthy", t.Reason == initialHealthChecking:
			all = append(all, i)
		}
	}
	v.takes = healthy
	if len(healthy) < minHealthyTargets(g, len(all)) {
		v.takes, v.FailOpen = all, len(all) > 0
	}
	v.ramping = slices.ContainsFunc(v.takes, func(i int) bool { return !v.Targets[i].rampEnd.IsZero() })
}

// minHealthyTargets returns the number of healthy targets below which a group of n fails open.
func minHealthyTargets(g *world.TargetGroup, n int) int {
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
	if n, ok := t.BalancerState.(*targetNote); ok && n.rampEnd.After(tx.Now()) {
		v.rampFrom, v.rampEnd = n.rampFrom, n.rampEnd
	}
	task := t.Task
	if task == nil {
		return v
	}
	v.Task, v.TaskID = task.ARN, task.ID
	if !v.Address.IsValid() {
		v.Address = task.Address
	}
	if task.Service != nil {
		v.Service = task.Service.Name
	}
	if c := task.ContainerFor(t.Port); c != nil {
		v.Container, v.Behaviour, v.StartedAt = c.Spec.Name, c.Behaviour, c.StartedAt
	}
	return v
}

func secondsOr(s string, otherwise int) time.Duration {
	n, err := strconv.Atoi(s)
	if err != nil {
		n = otherwise
	}
	return time.Duration(n) * time.Second
}

// groupChanged handles a target group that was created, changed or deleted.
func (l *Controller) groupChanged(tx *world.Tx, s *state, g *world.TargetGroup) {
	n := s.groupAt(g.ARN)
	if _, ok := tx.TargetGroups.Get(g.ARN); !ok {
		n.group = nil
		for _, t := range g.Targets {
			s.dropTarget(tx, t)
			t.State = "gone"
			tx.Changed(world.TargetChanged, t)
		}
		if len(n.usedBy) == 0 {
			delete(s.groups, g.ARN)
		}
		s.views.add(n)
		return
	}
	s.groupOf(g)
	if c := checkOf(g); !c.isSame(n.check) {
		l.changeCheck(tx, s, n, c)
	}
	s.views.add(n)
}
