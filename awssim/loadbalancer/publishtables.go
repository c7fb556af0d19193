package loadbalancer

import (
	"maps"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// nodeState is a load balancer as its nodes know it. It may lag behind the API state.
type nodeState struct {
	lb             *world.LoadBalancer
	deleted        bool
	nodes          []*node
	slots          map[string]int // group ARN -> index in views; an index is never used twice
	views          []*GroupView   // by slot
	referredGroups []string       // groups that the rules in the API state forward to
	usedGroups     []string       // groups that the rules or the nodes forward to
	writes         map[string]int // listener ARN -> number of the newest write
	version        int
	emittedPorts   map[int32]string // ports of the last ListenersChanged
}

// nodeStateOf returns the node state of a load balancer, or nil if the load balancer was deleted.
func (s *state) nodeStateOf(tx *world.Tx, lb *world.LoadBalancer) *nodeState {
	b := s.balancers[lb.ARN]
	if _, ok := tx.LoadBalancers.Get(lb.ARN); ok && b == nil {
		b = &nodeState{lb: lb, slots: map[string]int{}, writes: map[string]int{}, nodes: newNodes(lb)}
		s.balancers[lb.ARN] = b
	}
	return b
}

func (b *nodeState) slotOf(arn string) int {
	i, ok := b.slots[arn]
	if !ok {
		i = len(b.views)
		b.slots[arn] = i
		b.views = append(b.views, &GroupView{ARN: arn, hash: hashOf(arn)})
	}
	return i
}

// listenerChanged defers the work until all writes of the step are done. A listener that is written
// several times in one step is thus sent to the nodes once.
func (l *Controller) listenerChanged(tx *world.Tx, s *state, kind world.ChangeKind, ls *world.Listener) {
	switch {
	case kind == world.NodesChanged:
		s.listeners.drop(ls)
		l.noteReferences(tx, s, ls.Balancer)
		l.sendListener(tx, s, ls)
	case !s.listeners.in[ls]:
		s.listeners.add(ls)
		tx.Changed(world.NodesChanged, ls)
	}
}

// sendListener sends a written listener to the nodes. A new listener reaches them at once, a
// changed rule after a random delay of each node. The newest write wins, whatever the order of
// arrival.
func (l *Controller) sendListener(tx *world.Tx, s *state, ls *world.Listener) {
	b := s.nodeStateOf(tx, ls.Balancer)
	if b == nil {
		return
	}
	if _, ok := tx.Listeners.Get(ls.ARN); !ok {
		l.dropListener(tx, s, b, ls.ARN)
		return
	}
	b.writes[ls.ARN]++
	n, view := b.writes[ls.ARN], viewOf(ls, b.slotOf)
	for i, at := range b.nodes {
		delay := time.Duration(0)
		if old := at.knownListener(ls.ARN); old != nil && old.port == ls.Port {
			delay = nodeDelay(tx, b.lb, ls.ARN, i, n)
		}
		if delay == 0 {
			l.applyView(tx, s, b, i, view, n)
			continue
		}
		tx.After(delay, func(tx *world.Tx) {
			if !b.deleted && at.knownListener(view.arn) != nil {
				l.applyView(tx, stateOf(tx), b, i, view, n)
				tx.Changed(world.NodesChanged, b.lb)
			}
		})
	}
}

// applyView makes a node route by a view from now on.
func (l *Controller) applyView(tx *world.Tx, s *state, b *nodeState, i int, view *listenerView, n int) {
	at := b.nodes[i]
	if n <= at.reachedWrites[view.arn] {
		return
	}
	before := at.weightedSlots()
	at.reachedWrites[view.arn] = n
	list := slices.DeleteFunc(slices.Clone(at.listeners), func(v *listenerView) bool { return v.arn == view.arn })
	list = append(list, view)
	slices.SortStableFunc(list, func(x, y *listenerView) int { return int(x.port - y.port) })
	at.listeners = list
	l.closeWithoutWeight(tx, b, i, n, before)
	l.updateUses(tx, s, b)
	s.publish.add(b)
}

func (l *Controller) dropListener(tx *world.Tx, s *state, b *nodeState, arn string) {
	for _, at := range b.nodes {
		at.listeners = slices.DeleteFunc(slices.Clone(at.listeners),
			func(v *listenerView) bool { return v.arn == arn })
		delete(at.reachedWrites, arn)
	}
	delete(b.writes, arn)
	l.updateUses(tx, s, b)
	s.publish.add(b)
}

// noteReferences records the groups to which the rules of a load balancer forward. A group belongs
// to the one load balancer whose rules name it.
func (l *Controller) noteReferences(tx *world.Tx, s *state, lb *world.LoadBalancer) {
	b := s.nodeStateOf(tx, lb)
	if b == nil {
		return
	}
	old := b.referredGroups
	b.referredGroups = nil
	for _, ls := range lb.Listeners {
		for _, r := range ls.Rules {
			for _, g := range groupsOf(r) {
				if !slices.Contains(b.referredGroups, g) {
					b.referredGroups = append(b.referredGroups, g)
				}
			}
		}
	}
	for _, arn := range old {
		if g, ok := tx.TargetGroups.Get(arn); ok && g.Balancer == lb.ARN && !slices.Contains(b.referredGroups, arn) {
			g.Balancer = ""
		}
	}
	for _, arn := range b.referredGroups {
		if g, ok := tx.TargetGroups.Get(arn); ok {
			g.Balancer = lb.ARN
		}
	}
	l.updateUses(tx, s, b)
}

func groupsOf(r *world.Rule) []string {
	var out []string
	for _, a := range r.Actions {
		if a.Forward != nil {
			for _, s := range a.Forward.Groups {
				out = append(out, s.Group)
			}
		}
	}
	return out
}

// updateUses records the groups in use: those that a rule names, and those to which nodes still
// send requests. It places the targets of added and removed groups again.
func (l *Controller) updateUses(tx *world.Tx, s *state, b *nodeState) {
	now := slices.Clone(b.referredGroups)
	for _, v := range b.allListeners() {
		for _, i := range v.groupSlots() {
			if arn := b.views[i].ARN; !slices.Contains(now, arn) {
				now = append(now, arn)
			}
		}
	}
	old := b.usedGroups
	b.usedGroups = now
	for _, arn := range old {
		if !slices.Contains(now, arn) {
			n := s.groupAt(arn)
			n.usedBy = slices.DeleteFunc(n.usedBy, func(x *nodeState) bool { return x == b })
			l.placeTargets(tx, s, n)
			if n.group == nil && len(n.usedBy) == 0 {
				delete(s.groups, arn)
			}
		}
	}
	for _, arn := range now {
		if slices.Contains(old, arn) {
			continue
		}
		n := s.groupAt(arn)
		if g, ok := tx.TargetGroups.Get(arn); ok {
			n = s.groupOf(g)
		}
		n.usedBy = append(n.usedBy, b)
		s.views.add(n)
		l.placeTargets(tx, s, n)
	}
}

// newTable returns a new snapshot. It shares unchanged views with the previous table.
func (b *nodeState) newTable(tx *world.Tx) *Table {
	b.version++
	k := tx.Settings()
	return &Table{
		Balancer: b.lb.ARN, Type: b.lb.Type, State: b.lb.State, At: tx.Now(), Version: b.version,
		nodes: b.nodeListeners(), groups: slices.Clone(b.views),
		settings: stickySettings{!k.StickyLeavesZeroWeight, k.StickyKeepsEmptyGroup},
	}
}

// balancerChanged handles a load balancer that was created, became active, changed listeners or
// zones, or was deleted.
func (l *Controller) balancerChanged(tx *world.Tx, s *state, lb *world.LoadBalancer) {
	b := s.nodeStateOf(tx, lb)
	if b == nil {
		return
	}
	_, there := tx.LoadBalancers.Get(lb.ARN)
	if !there {
		b.deleted, lb.State = true, "deleted"
		b.nodes = newNodes(lb)
	}
	l.noteReferences(tx, s, lb)
	if !there {
		delete(s.balancers, lb.ARN)
	}
	for _, arn := range b.usedGroups {
		l.placeTargets(tx, s, s.groupAt(arn))
	}
	b.emitListeners(tx)
	s.publish.add(b)
}

// emitListeners reports the listeners to the data plane if their ports changed.
func (b *nodeState) emitListeners(tx *world.Tx) {
	ports := map[int32]string{}
	if b.lb.State == "active" {
		for _, ls := range b.lb.Listeners {
			ports[ls.Port] = ls.ARN
		}
	}
	if maps.Equal(ports, b.emittedPorts) {
		return
	}
	b.emittedPorts = maps.Clone(ports)
	tx.Emit(world.ListenersChanged{Key: tx.Key, Balancer: b.lb.ARN, Network: b.lb.Type == "network",
		Address: b.lb.Address, Ports: ports})
}
