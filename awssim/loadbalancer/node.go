package loadbalancer

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// networkNodes is how many nodes a Network Load Balancer has: it has at least one in each zone, and
// they learn of a change one after the other.
const networkNodes = 3

// node is a part of a load balancer that routes by what it knows. An Application Load Balancer is
// modelled as one node.
type node struct {
	listeners     []*listenerView // by port
	reachedWrites map[string]int  // listener ARN -> number of the write that the node has
}

func newNodes(lb *world.LoadBalancer) []*node {
	n := 1
	if lb.Type == "network" {
		n = networkNodes
	}
	all := make([]*node, n)
	for i := range all {
		all[i] = &node{reachedWrites: map[string]int{}}
	}
	return all
}

// knownListener returns the listener as the node knows it, or nil.
func (n *node) knownListener(arn string) *listenerView {
	for _, v := range n.listeners {
		if v.arn == arn {
			return v
		}
	}
	return nil
}

// allListeners returns what the nodes know, node after node.
func (b *nodeState) allListeners() (all []*listenerView) {
	for _, at := range b.nodes {
		all = append(all, at.listeners...)
	}
	return all
}

// nodeListeners returns the listeners of each node, for a table.
func (b *nodeState) nodeListeners() [][]*listenerView {
	all := make([][]*listenerView, len(b.nodes))
	for i, at := range b.nodes {
		all[i] = at.listeners
	}
	return all
}

// nodeDelay returns how long a changed rule takes to reach a node. n counts the writes of the
// listener.
func nodeDelay(tx *world.Tx, lb *world.LoadBalancer, listener string, at, n int) time.Duration {
	if lb.Type != "network" {
		k := tx.Settings().WeightPropagation
		return tx.RandomBetween(k.Min, k.Max, "weight propagation", listener, n)
	}
	k := tx.Settings().NetworkWeightPropagation
	return tx.RandomBetween(k.Min, k.Max, "weight propagation of a node", listener, n*networkNodes+at)
}

// targetDelay returns how long the nodes take to learn of a registered or deregistered target.
func targetDelay(tx *world.Tx, g *groupNote) world.Range {
	for _, b := range g.usedBy {
		if b.lb.Type == "network" {
			return tx.Settings().NetworkTargetPropagation
		}
	}
	return tx.Settings().TargetPropagation
}

// weightedSlots returns the groups to which the node sends new connections.
func (n *node) weightedSlots() (all []int) {
	for _, v := range n.listeners {
		for _, r := range v.rules {
			if r.forward == nil {
				continue
			}
			for _, s := range r.forward.shares {
				if s.weight > 0 && !slices.Contains(all, s.slot) {
					all = append(all, s.slot)
				}
			}
		}
	}
	return all
}

// closeWithoutWeight closes, after a while, the open connections of groups whose weight at a node
// of a Network Load Balancer became 0 with write n. A group that gets weight again before keeps them.
func (l *Controller) closeWithoutWeight(tx *world.Tx, b *nodeState, i, n int, before []int) {
	k := tx.Settings().NetworkConnectionClose
	if b.lb.Type != "network" || k.Max == 0 {
		return
	}
	for _, slot := range before {
		if slices.Contains(b.nodes[i].weightedSlots(), slot) {
			continue
		}
		group := b.views[slot].ARN
		tx.After(tx.RandomBetween(k.Min, k.Max, "connections close", group, n*networkNodes+i), func(tx *world.Tx) {
			if !b.deleted && !slices.Contains(b.nodes[i].weightedSlots(), slot) {
				l.closeConnections(tx, b, i, group)
			}
		})
	}
}

func (l *Controller) closeConnections(tx *world.Tx, b *nodeState, i int, group string) {
	tx.Log("balancer", b.lb.Name, "node %d closes the connections to a group of weight 0", i)
	tx.Emit(world.ConnectionsClosed{Key: tx.Key, Balancer: b.lb.ARN, Group: group, Node: i})
	for _, f := range stateOf(tx).followers[b.lb.ARN] {
		f.ConnectionsClosed(tx, group, i)
	}
}
