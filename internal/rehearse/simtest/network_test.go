package simtest

import "testing"

// Some of the generated deployments are behind a Network Load Balancer.
func TestNetworkBalancersAreGenerated(t *testing.T) {
	const seeds = 2000
	count := map[string]int{}
	for seed := uint64(1); seed <= seeds; seed++ {
		if c := Generate(seed); c.World.UsesNetworkBalancer() {
			count[c.World.Controller]++
		}
	}
	t.Log(count)
	if n := count["EXTERNAL"] + count["ECS"]; n < seeds/40 || n > seeds/10 || count["EXTERNAL"] == 0 ||
		count["ECS"] == 0 {
		t.Errorf("%v of %d seeds", count, seeds)
	}
}
