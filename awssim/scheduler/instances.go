package scheduler

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// AddInstances registers one container instance in each zone of the default network, unless the
// cluster has instances. A cluster gets them when a task of launch type EC2 needs them, as an Auto
// Scaling group would start them.
func AddInstances(tx *world.Tx, c *world.Cluster) {
	if len(c.Instances) > 0 {
		return
	}
	for _, sub := range zoneSubnets(tx) {
		addInstance(tx, c, sub, world.Size{})
	}
}

// RegisterInstances registers n container instances of a size, spread over the zones of the default
// network. The zero size is without limit.
func (s *Scheduler) RegisterInstances(tx *world.Tx, c *world.Cluster, n int, size world.Size) {
	subnets := zoneSubnets(tx)
	for i := range n {
		addInstance(tx, c, subnets[i%len(subnets)], size)
	}
}

// zoneSubnets returns the first subnet of each zone, by zone.
func zoneSubnets(tx *world.Tx) []*world.Subnet {
	all := tx.Subnets.Values()
	slices.SortStableFunc(all, func(a, b *world.Subnet) int { return cmp.Compare(a.Zone, b.Zone) })
	return slices.CompactFunc(all, func(a, b *world.Subnet) bool { return a.Zone == b.Zone })
}

func addInstance(tx *world.Tx, c *world.Cluster, sub *world.Subnet, size world.Size) {
	seed := c.Name + " " + sub.Zone
	if n := countInZone(c, sub.Zone); n > 0 {
		seed += fmt.Sprint(" ", n)
	}
	sum := sha256.Sum256([]byte(seed))
	id := hex.EncodeToString(sum[:])
	i := &world.ContainerInstance{
		ARN: tx.ARN("ecs", "container-instance/"+c.Name+"/"+id[32:]), ID: "i-" + id[:17], Cluster: c,
		Zone: sub.Zone, Subnet: sub, RegisteredAt: tx.Now(), Size: size,
	}
	c.Instances = append(c.Instances, i)
	tx.Log("container instance", i.ID, "registered in %s, %s", c.Name, i.Zone)
}

func countInZone(c *world.Cluster, zone string) (n int) {
	for _, i := range c.Instances {
		if i.Zone == zone {
			n++
		}
	}
	return n
}

// NextProvider returns the capacity provider of the next task: the first whose base is not reached,
// otherwise the one that is furthest below its weight's share. have counts the tasks by provider. It
// returns "" without a strategy.
func NextProvider(strategy []world.Provider, have map[string]int) string {
	best := -1
	for i, p := range strategy {
		if have[p.Name] < int(p.Base) {
			return p.Name
		}
		if p.Weight > 0 && (best < 0 || above(p, have) < above(strategy[best], have)) {
			best = i
		}
	}
	switch {
	case best >= 0:
		return strategy[best].Name
	case len(strategy) > 0:
		return strategy[0].Name
	}
	return ""
}

// above returns how many tasks per weight a provider would have with one task more.
func above(p world.Provider, have map[string]int) float64 {
	return float64(have[p.Name]-int(p.Base)+1) / float64(p.Weight)
}

func countByProvider(ts *world.TaskSet) map[string]int {
	n := map[string]int{}
	for _, t := range ts.Tasks {
		if t.DesiredStatus == "RUNNING" {
			n[t.Provider]++
		}
	}
	return n
}
