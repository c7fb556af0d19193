package rehearse

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

var everyKill = flag.Bool("kills", false, "kill at every point, not at a sample of them")

// canary and blueGreen are the flows of task sets; a rollback is asked for after
// each of their stages.
var (
	canary = []string{"ECS_CANARY_ROLLOUT scale=50", "ECS_TRAFFIC_ROUTING canary=10", "ECS_TRAFFIC_ROUTING canary=50",
		"ECS_PRIMARY_ROLLOUT", "ECS_TRAFFIC_ROUTING primary=100", "ECS_CANARY_CLEAN"}
	blueGreen = []string{"ECS_CANARY_ROLLOUT scale=100", "ECS_TRAFFIC_ROUTING canary=100", "ECS_PRIMARY_ROLLOUT keepOld=true",
		"ECS_TRAFFIC_ROUTING primary=100", "ECS_CANARY_CLEAN"}
)

const crashes = "healthy-after=1h&crash-after=2s&exit=3"

// flows are all that a deployment can be, by name. A later flow joins here.
func flows() map[string]Case {
	plain := func(change func(*Case)) Case {
		c := Case{World: Plain()}
		c.World.Others = true
		change(&c)
		return c
	}
	rolling := func(c *Case) { c.World.Controller = "ECS" }
	all := map[string]Case{
		"canary":                     plain(func(c *Case) { c.Pipeline = canary }),
		"canary of an extended rule": plain(func(c *Case) { c.Pipeline = canary; c.World.Listeners[0].Rules[0].Alone = true }),
		"canary that crashes":        plain(func(c *Case) { c.Pipeline = canary; c.New = crashes }),
		"blue/green":                 plain(func(c *Case) { c.Pipeline = blueGreen }),
		"quick sync":                 plain(func(c *Case) {}),
		"quick sync that crashes":    plain(func(c *Case) { c.New = crashes }),
		"rolling":                    plain(func(c *Case) { rolling(c); c.Breaker = true }),
		"rolling, back by ECS":       plain(func(c *Case) { rolling(c); c.Breaker = true; c.New = crashes }),
		"rolling, back by us":        plain(func(c *Case) { rolling(c); c.New = crashes }),
		"rolling, back on demand":    plain(func(c *Case) { rolling(c); c.Hands = []Hand{{Stage: 1, Does: Rollback}} }),
	}
	for i := range canary {
		all[fmt.Sprintf("canary, back after stage %d", i+1)] = plain(func(c *Case) { c.Pipeline, c.Hands = canary, []Hand{{Stage: i + 1, Does: Rollback}} })
	}
	for i := range blueGreen {
		all[fmt.Sprintf("blue/green, back after stage %d", i+1)] = plain(func(c *Case) { c.Pipeline, c.Hands = blueGreen, []Hand{{Stage: i + 1, Does: Rollback}} })
	}
	return all
}

// sampled is the step between kill points outside of make kill.
const sampled = 61 * lighter

// Killed before and after each write and each row of the journal, and started
// again, a deployment ends as the one that was not killed, no request is lost and
// nothing is made twice (P5).
func TestKilledAnywhere(t *testing.T) {
	points, slots := 0, make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for name, c := range flows() {
		unbroken := Run(c)
		if len(unbroken.Violations) > 0 {
			t.Errorf("%s, not killed: %v\n%s", name, unbroken.Violations, unbroken.Log)
			continue
		}
		kills := killsOf(unbroken)
		points += len(kills)
		for _, k := range kills {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				killed := c
				killed.Kills = []Kill{k}
				sameEnd(t, name, killed, unbroken)
			})
		}
	}
	all.Wait()
	t.Logf("%d kill points", points)
	if points < 150 {
		t.Errorf("only %d kill points", points)
	}
}

func killsOf(r Result) (all []Kill) {
	step := sampled
	if *everyKill {
		step = 1
	}
	for n := 1; n <= r.Writes; n++ {
		all = append(all, Kill{N: n}, Kill{N: n, After: true})
	}
	for n := 1; n <= r.Rows; n += step {
		all = append(all, Kill{Row: true, N: n}, Kill{Row: true, N: n, After: true})
	}
	return all
}

func sameEnd(t *testing.T, name string, c Case, unbroken Result) {
	r := Run(c)
	if len(r.Violations) == 0 && r.Outcome == unbroken.Outcome && r.State == unbroken.State && r.Failed == unbroken.Failed {
		return
	}
	t.Errorf("%s, %s: %s: %s; %s; %.1f failed; %v\nnot killed: %s: %s; %.1f failed\n%s", name, c.Kills[0], r.Outcome, r.Cause, r.State, r.Failed, r.Violations,
		unbroken.Outcome, unbroken.State, unbroken.Failed, r.Log)
}
