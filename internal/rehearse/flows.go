package rehearse

import (
	"fmt"
	"strings"
	"time"
)

// Flow is one sequence that a deployment can take from its start to its end.
type Flow struct {
	Name string
	Case Case
}

// canaryPipeline and blueGreenPipeline are pipelines of task sets.
func canary() []string {
	return []string{"ECS_CANARY_ROLLOUT scale=50", "ECS_TRAFFIC_ROUTING canary=10", "ECS_TRAFFIC_ROUTING canary=50",
		"ECS_PRIMARY_ROLLOUT", "ECS_TRAFFIC_ROUTING primary=100", "ECS_CANARY_CLEAN"}
}

func blueGreen() []string {
	return []string{"ECS_CANARY_ROLLOUT scale=100", "ECS_TRAFFIC_ROUTING canary=100", "ECS_PRIMARY_ROLLOUT keepOld=true",
		"ECS_TRAFFIC_ROUTING primary=100", "ECS_CANARY_CLEAN"}
}

// withoutKeepOld returns a pipeline for a rolling service, which keeps no old primary.
func rolled(stages []string) (all []string) {
	for _, s := range stages {
		s, _, _ = strings.Cut(s, " keepOld=")
		all = append(all, s)
	}
	return all
}

// crashOptions is a version that never gets healthy.
const crashes = "healthy-after=1h&crash-after=2s&exit=3"

// Flows returns all flows. A test kills each before and after every one of its writes and rows,
// simulated and as a real process. A new way of deploying needs its flows here, with its rollback
// from each stage: see the package comment.
func Flows() []Flow {
	with := func(changes ...func(*Case)) Case {
		c := Case{World: Plain()}
		c.World.Others = true
		for _, change := range changes {
			change(&c)
		}
		return c
	}
	of := func(stages []string) func(*Case) { return func(c *Case) { c.Pipeline = stages } }
	bad := func(c *Case) { c.New = crashes }
	alone := func(c *Case) { c.World.Listeners[0].Rules[0].Alone = true }
	rolling := func(c *Case) { c.World.Controller = "ECS" }
	suspends := func(c *Case) {
		c.Suspend, c.World.Scaling = true, Scaling{Min: 2, Max: 8, Was: "scheduled"}
	}
	beside := func(c *Case) { rolling(c); c.World.Beside = true }
	breaker := func(c *Case) { c.Breaker = true }
	steps := func(before, after string) func(*Case) {
		return func(c *Case) { c.Before, c.After = before, after }
	}
	all := []Flow{
		{"canary", with(of(canary()))},
		{"canary of an extended rule", with(of(canary()), alone)},
		{"canary that crashes", with(of(canary()), bad)},
		{"blue/green", with(of(blueGreen()))},
		{"quick sync", with()},
		{"quick sync that crashes", with(bad)},
		{"rolling", with(rolling, breaker)},
		{"rolling, back by ECS", with(rolling, breaker, bad)},
		{"rolling, back by us", with(rolling, bad)},
		{"canary that suspends auto scaling", with(of(canary()), suspends)},
		{"canary that suspends auto scaling and crashes", with(of(canary()), suspends, bad)},
		{"canary that suspends auto scaling, back after stage 4", with(of(canary()), suspends, backAfter(4))},
		{"rolling that suspends auto scaling", with(rolling, breaker, suspends)},
		{"rolling that suspends auto scaling, back by us", with(rolling, bad, suspends)},
		{"beside: canary that suspends auto scaling", with(rolling, of(canary()), suspends)},
		{"rolling, back on demand", with(rolling, backAfter(1))},
		{"beside: canary", with(rolling, of(canary()))},
		{"beside: canary of an extended rule", with(rolling, of(canary()), alone)},
		{"beside: canary that crashes", with(rolling, of(canary()), bad)},
		{"beside: blue/green", with(beside, breaker, of(rolled(blueGreen())))},
		{"beside: quick sync", with(beside)},
		{"beside: quick sync that crashes", with(beside, breaker, bad)},
		{"steps before and after", with(steps(ends0, ends0))},
		{"steps, the first fails", with(rolling, steps(ends3, ends0))},
		{"steps, the last fails and stays", with(steps(ends0, ends3))},
		{"steps, the last fails and rolls back", with(rolling, breaker, steps("", "rollback&"+ends3))},
		{"steps, back during the first", with(steps("crash-after=45m&exit=0", ""), func(c *Case) { c.Hands = []Hand{{At: 3 * time.Minute, Does: Rollback}} })},
	}
	for _, x := range []Flow{{"canary", with(of(canary()))}, {"blue/green", with(of(blueGreen()))},
		{"beside: canary", with(rolling, of(canary()))}, {"beside: blue/green", with(rolling, of(rolled(blueGreen())))}} {
		all = append(all, backFromEach(x.Name, x.Case)...)
	}
	all = append(all, jobFlows(with)...)
	all = append(all, shiftedFlows(with, bad, suspends)...)
	return append(all, namedFlows(with)...)
}

// OutsideFlows returns flows in which another actor changes what sluice manages, and the deployment
// continues. A separate process cannot repeat such changes, so these flows are killed only in the
// simulation.
func OutsideFlows() []Flow {
	with := func(policy, does string) Case {
		c := Case{World: Plain(), Outside: policy, Hands: []Hand{{Stage: 2, Does: does}}}
		c.Pipeline = append(canary()[:2:2], append([]string{"WAIT duration=2m"}, canary()[2:]...)...)
		return c
	}
	named := func(policy string) Case {
		c := with(policy, TakeOut+" 1")
		c.World.TTL, c.World.Check = 10*time.Second, 5*time.Second
		return c
	}
	within := func(stage int, policy, does string) Case { // during a stage
		return Case{World: Plain(), Outside: policy, Pipeline: canary(), Hands: []Hand{{Stage: stage - 1, At: 15 * time.Second, Does: does}}}
	}
	return []Flow{
		{"by name, a record taken out and put back", named("reassert")},
		{"by name, a record taken out, and adopted", named("adopt")},
		{"by name, a record taken out, rolled back", named("")},
		{"canary, a rule edited in the primary rollout and written again", within(4, "reassert", EditRule+" 999 1")},
		{"canary, a rule edited in the primary rollout and adopted", within(4, "adopt", EditRule+" 999 1")},
		{"canary, a rule edited in the primary rollout, rolled back", within(4, "", EditRule+" 100 0")},
		{"canary, promoted by others in the primary rollout, and back", within(4, "reassert", PromoteCanary)},
		{"canary, a rule edited and written again", with("reassert", EditRule+" 999 1")},
		{"canary, a rule edited and adopted", with("adopt", EditRule+" 999 1")},
		{"canary promoted by others, and back", with("reassert", PromoteCanary)},
		{"canary scaled by others, and back", with("reassert", ScaleCanary+" 80")},
		{"canary scaled by others, and adopted", with("adopt", ScaleCanary+" 80")},
		{"canary promoted by others, rolled back", with("", PromoteCanary)},
	}
}

// rollbackAfter adds a person who requests a rollback as soon as the n-th stage has ended.
func backAfter(n int) func(*Case) {
	return func(c *Case) { c.Hands = []Hand{{Stage: n, Does: Rollback}} }
}

// rollbackFromEach returns the rollbacks from each stage of a pipeline.
func backFromEach(name string, c Case) (all []Flow) {
	for i := range c.Pipeline {
		back := c
		backAfter(i + 1)(&back)
		all = append(all, Flow{fmt.Sprintf("%s, back after stage %d", name, i+1), back})
	}
	return all
}
