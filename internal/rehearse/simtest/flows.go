package simtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// Flow is one sequence that a deployment can take from its start to its end.
type Flow struct {
	Name string
	Case rehearse.Case
}

// CanaryPipeline and BlueGreenPipeline are pipelines of task sets.
func CanaryPipeline() []string {
	return []string{"ECS_CANARY_ROLLOUT scale=50", "ECS_TRAFFIC_ROUTING canary=10", "ECS_TRAFFIC_ROUTING canary=50",
		"ECS_PRIMARY_ROLLOUT", "ECS_TRAFFIC_ROUTING primary=100", "ECS_CANARY_CLEAN"}
}

func BlueGreenPipeline() []string {
	return []string{"ECS_CANARY_ROLLOUT scale=100", "ECS_TRAFFIC_ROUTING canary=100",
		"ECS_PRIMARY_ROLLOUT keepOld=true",
		"ECS_TRAFFIC_ROUTING primary=100", "ECS_CANARY_CLEAN"}
}

// GatedPipeline returns a canary pipeline whose wait has a gate: on the counts of both versions, and on the
// share of the canary's failures.
func GatedPipeline() []string {
	return []string{"ECS_CANARY_ROLLOUT scale=50", "ECS_TRAFFIC_ROUTING canary=20",
		`ANALYSIS duration=15m metrics=[{"signal":"errors","worse":1.5},{"name":"limit","signal":"errors","max":"1%"}] ` +
			"onUndecided=pass",
		"ECS_PRIMARY_ROLLOUT", "ECS_TRAFFIC_ROUTING primary=100", "ECS_CANARY_CLEAN"}
}

// withoutKeepOld returns a pipeline for a rolling service, which keeps no old primary.
func withoutKeepOld(stages []string) (all []string) {
	for _, s := range stages {
		s, _, _ = strings.Cut(s, " keepOld=")
		all = append(all, s)
	}
	return all
}

// crashOptions is a version that never gets healthy.
const crashOptions = "healthy-after=1h&crash-after=2s&exit=3"

// Flows returns all flows. A test kills each before and after every one of its writes and rows,
// simulated and as a real process. A new way of deploying needs its flows here, with its rollback
// from each stage: see the package comment.
func Flows() []Flow {
	with := func(changes ...func(*rehearse.Case)) rehearse.Case {
		c := rehearse.Case{World: PlainWorld()}
		c.World.OtherService = true
		for _, change := range changes {
			change(&c)
		}
		return c
	}
	of := func(stages []string) func(*rehearse.Case) { return func(c *rehearse.Case) { c.Pipeline = stages } }
	bad := func(c *rehearse.Case) { c.New = crashOptions }
	alone := func(c *rehearse.Case) { c.World.Listeners[0].Rules[0].Alone = true }
	rolling := func(c *rehearse.Case) { c.World.Controller = "ECS" }
	suspends := func(c *rehearse.Case) {
		c.Suspend, c.World.Scaling = true, shape.Scaling{Min: 2, Max: 8, SuspendedBefore: "scheduled"}
	}
	beside := func(c *rehearse.Case) { rolling(c); c.World.HostingServices = true }
	breaker := func(c *rehearse.Case) { c.Breaker = true }
	steps := func(before, after string) func(*rehearse.Case) {
		return func(c *rehearse.Case) { c.Before, c.After = before, after }
	}
	all := []Flow{
		{"canary", with(of(CanaryPipeline()))},
		{"canary of an extended rule", with(of(CanaryPipeline()), alone)},
		{"canary that crashes", with(of(CanaryPipeline()), bad)},
		{"blue/green", with(of(BlueGreenPipeline()))},
		{"quick sync", with()},
		{"quick sync that crashes", with(bad)},
		{"canary with gates", with(of(GatedPipeline()))},
		{"canary that its gate refuses", with(of(GatedPipeline()), func(c *rehearse.Case) { c.New = "errors=5%" })},
		{"canary service: canary that its gate refuses", with(rolling, of(GatedPipeline()),
			func(c *rehearse.Case) { c.New = "errors=5%" })},
		{"rolling", with(rolling, breaker)},
		{"rolling, rolled back by ECS", with(rolling, breaker, bad)},
		{"rolling, rolled back by sluice", with(rolling, bad)},
		{"canary that suspends auto scaling", with(of(CanaryPipeline()), suspends)},
		{"canary that suspends auto scaling and crashes", with(of(CanaryPipeline()), suspends, bad)},
		{"canary that suspends auto scaling, rolled back after stage 4",
			with(of(CanaryPipeline()), suspends, rollbackAfter(4))},
		{"rolling that suspends auto scaling", with(rolling, breaker, suspends)},
		{"rolling that suspends auto scaling, rolled back by sluice", with(rolling, bad, suspends)},
		{"canary service: canary that suspends auto scaling", with(rolling, of(CanaryPipeline()), suspends)},
		{"rolling, rolled back on request", with(rolling, rollbackAfter(1))},
		{"canary service: canary", with(rolling, of(CanaryPipeline()))},
		{"canary service: canary of an extended rule", with(rolling, of(CanaryPipeline()), alone)},
		{"canary service: canary that crashes", with(rolling, of(CanaryPipeline()), bad)},
		{"canary service: blue/green", with(beside, breaker, of(withoutKeepOld(BlueGreenPipeline())))},
		{"canary service: quick sync", with(beside)},
		{"canary service: quick sync that crashes", with(beside, breaker, bad)},
		{"steps before and after", with(steps(exits0, exits0))},
		{"steps, the first fails", with(rolling, steps(exits3, exits0))},
		{"steps, the last fails and stays", with(steps(exits0, exits3))},
		{"steps, the last fails and rolls back", with(rolling, breaker, steps("", "rollback&"+exits3))},
		{"steps, rolled back during the first", with(steps("crash-after=45m&exit=0", ""),
			func(c *rehearse.Case) {
				c.Interventions = []rehearse.Intervention{{At: 3 * time.Minute, Does: rehearse.Rollback}}
			})},
	}
	for _, x := range []Flow{{"canary", with(of(CanaryPipeline()))}, {"blue/green", with(of(BlueGreenPipeline()))},
		{"canary service: canary", with(rolling, of(CanaryPipeline()))},
		{"canary service: blue/green", with(rolling, of(withoutKeepOld(BlueGreenPipeline())))}} {
		all = append(all, rollbackFromEach(x.Name, x.Case)...)
	}
	all = append(all, jobFlows(with)...)
	all = append(all, codeDeployFlows(with, bad, suspends)...)
	all = append(all, nativeFlows(with, bad)...)
	return append(all, cloudMapFlows(with)...)
}

// OutsideFlows returns flows in which another actor changes what sluice manages, and the deployment
// continues. A separate process cannot repeat such changes, so these flows are killed only in the
// simulation.
func OutsideFlows() []Flow {
	with := func(policy, does string) rehearse.Case {
		c := rehearse.Case{
			World:         PlainWorld(),
			OutsidePolicy: policy,
			Interventions: []rehearse.Intervention{{Stage: 2, Does: does}},
		}
		c.Pipeline = append(CanaryPipeline()[:2:2], append([]string{"WAIT duration=2m"}, CanaryPipeline()[2:]...)...)
		return c
	}
	named := func(policy string) rehearse.Case {
		c := with(policy, rehearse.DeregisterInstance+" 1")
		c.World.TTL, c.World.Check = 10*time.Second, 5*time.Second
		return c
	}
	within := func(stage int, policy, does string) rehearse.Case { // during a stage
		return rehearse.Case{World: PlainWorld(), OutsidePolicy: policy, Pipeline: CanaryPipeline(),
			Interventions: []rehearse.Intervention{{Stage: stage - 1, At: 15 * time.Second, Does: does}}}
	}
	return []Flow{
		{"by name, an instance deregistered and registered again", named("reassert")},
		{"by name, an instance deregistered, and adopted", named("adopt")},
		{"by name, an instance deregistered, rolled back", named("")},
		{
			"canary, a rule edited in the primary rollout and written again",
			within(4, "reassert", rehearse.EditRule+" 999 1"),
		},
		{"canary, a rule edited in the primary rollout and adopted", within(4, "adopt", rehearse.EditRule+" 999 1")},
		{"canary, a rule edited in the primary rollout, rolled back", within(4, "", rehearse.EditRule+" 100 0")},
		{"canary, promoted by others in the primary rollout, and back", within(4, "reassert", rehearse.PromoteCanary)},
		{"canary, a rule edited and written again", with("reassert", rehearse.EditRule+" 999 1")},
		{"canary, a rule edited and adopted", with("adopt", rehearse.EditRule+" 999 1")},
		{"canary promoted by others, and back", with("reassert", rehearse.PromoteCanary)},
		{"canary scaled by others, and back", with("reassert", rehearse.ScaleCanary+" 80")},
		{"canary scaled by others, and adopted", with("adopt", rehearse.ScaleCanary+" 80")},
		{"canary promoted by others, rolled back", with("", rehearse.PromoteCanary)},
	}
}

// rollbackAfter adds a person who requests a rollback as soon as the n-th stage has ended.
func rollbackAfter(n int) func(*rehearse.Case) {
	return func(c *rehearse.Case) { c.Interventions = []rehearse.Intervention{{Stage: n, Does: rehearse.Rollback}} }
}

// rollbackFromEach returns the rollbacks from each stage of a pipeline.
func rollbackFromEach(name string, c rehearse.Case) (all []Flow) {
	for i := range c.Pipeline {
		back := c
		rollbackAfter(i + 1)(&back)
		all = append(all, Flow{fmt.Sprintf("%s, rolled back after stage %d", name, i+1), back})
	}
	return all
}
