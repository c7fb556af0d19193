package simtest

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// Services whose requests ECS shifts itself, with its strategies BLUE_GREEN, LINEAR and CANARY.

// generateNative generates a strategy. Its times may be longer than a deployment may be without progress.
func (d *random) generateNative(c *rehearse.Case) {
	c.World.Controller = "ECS"
	minutes := []int{0, 0, 1, 3, 12, 25}
	s := shape.Generated{Percent: 5 + d.upTo(90), StepBake: minutes[d.upTo(4)], Bake: minutes[d.upTo(5)]}
	if d.chance(20) {
		s.Pause = d.oneOf("PRE_SCALE_UP", "POST_SCALE_UP", "PRE_PRODUCTION_TRAFFIC_SHIFT", "POST_PRODUCTION_TRAFFIC_SHIFT")
	}
	if d.chance(15) {
		d.setNetworkBalancer(c)
	}
	setNative(&c.World, d.oneOf("BLUE_GREEN", "LINEAR", "CANARY"), s)
	if d.chance(30) {
		c.Breaker = true // ECS ignores it
	}
}

// productionRule is the rule whose weights ECS changes.
const productionRule = arnBase + "listener-rule/app/web/" + hexID + "/" + hexID + "/" + hexID

func setNative(w *shape.World, kind string, s shape.Generated) {
	w.Strategy = shape.Strategy{Kind: kind, Generated: s}
	if w.UsesNetworkBalancer() { // its listener takes the place of the rule
		return
	}
	w.Listeners[0].Rules = []shape.Rule{{ARN: productionRule, Priority: 10, Path: "/rule1", Primary: 100}}
}

// rolling is the strategy of a service whose requests ECS does not shift. It may have a bake time.
const rolling = "ROLLING"

// nativeTrait is the trait of ECS's own strategies: kind/percent/step bake/bake/pause, in minutes.
func nativeTrait() trait {
	return trait{"strategy", func(w shape.World) string {
		g := w.Strategy.Generated
		if w.Strategy.Kind == "" && g.Bake == 0 {
			return rolling
		}
		return fmt.Sprintf("%s/%d/%d/%d/%s", cmp.Or(w.Strategy.Kind, rolling), g.Percent, g.StepBake, g.Bake, g.Pause)
	}, func(w *shape.World, v string) error {
		w.Strategy = shape.Strategy{}
		if v == rolling {
			return nil
		}
		var g shape.Generated
		words := strings.Split(v, "/")
		if len(words) != 5 {
			return fmt.Errorf("%q is no strategy", v)
		}
		g.Pause = words[4]
		_, err := fmt.Sscanf(strings.Join(words[1:4], "/"), "%d/%d/%d", &g.Percent, &g.StepBake, &g.Bake)
		if words[0] == rolling {
			w.Strategy.Generated = g
			return err
		}
		setNative(w, words[0], g)
		return err
	}}
}

func usesNative(c rehearse.Case) bool { return c.World.Strategy.Kind != "" }

// writeNative writes the strategy and its second target group to the service definition.
func (d *draft) writeNative(c rehearse.Case) {
	if !usesNative(c) {
		return
	}
	w, g, steps := c.World, c.World.Strategy.Generated, ""
	switch w.Strategy.Kind {
	case "LINEAR":
		steps = fmt.Sprintf(", linearConfiguration: {stepPercent: %d, stepBakeTimeInMinutes: %d}", g.Percent, g.StepBake)
	case "CANARY":
		steps = fmt.Sprintf(", canaryConfiguration: {canaryPercent: %d, canaryBakeTimeInMinutes: %d}", g.Percent, g.StepBake)
	}
	rule := productionRule
	if w.UsesNetworkBalancer() {
		rule = w.Listeners[0].ARN
	}
	if g.Pause != "" {
		steps += fmt.Sprintf(", lifecycleHooks: [{targetType: PAUSE, lifecycleStages: [%s]}]", g.Pause)
	}
	writeLine(&d.service, "loadBalancers: [{targetGroupArn: %q, containerName: web, containerPort: %d, "+
		"advancedConfiguration: {alternateTargetGroupArn: %q, productionListenerRule: %q, "+
		"roleArn: \"arn:aws:iam::%s:role/shifts\"}}]", w.Primary.ARN, w.Port, w.Canary.ARN, rule, w.Account)
	writeLine(&d.service, "deploymentConfiguration: {strategy: %s, bakeTimeInMinutes: %d%s, %s"+
		"deploymentCircuitBreaker: {enable: %t, rollback: %t}}", w.Strategy.Kind, g.Bake, steps, alarmText(c),
		c.Breaker, c.Breaker)
}

// bakeText returns the bake time of a rolling update, as a part of a deployment configuration.
func bakeText(c rehearse.Case) string {
	if c.World.Strategy.Generated.Bake == 0 {
		return ""
	}
	return fmt.Sprintf("bakeTimeInMinutes: %d, ", c.World.Strategy.Generated.Bake)
}

// alarmText returns the alarm that ECS monitors, as a part of a deployment configuration.
func alarmText(c rehearse.Case) string {
	if !c.World.Alarm {
		return ""
	}
	return "alarms: {alarmNames: [" + shape.AlarmName + "], enable: true, rollback: true}, "
}

// addDefinitions gives the world of a service with ECS's own strategy the definitions of its files.
func addDefinitions(c *rehearse.Case) {
	if !usesNative(*c) {
		return
	}
	app, err := c.LoadApplication()
	if err == nil {
		err = c.World.SetStrategy(app)
	}
	if err != nil {
		panic(err) // the generator writes files that cannot be read
	}
}

// nativeFlows returns the flows of services with ECS's own strategies.
func nativeFlows(with func(...func(*rehearse.Case)) rehearse.Case, bad func(*rehearse.Case)) []Flow {
	by := func(kind string, g shape.Generated) func(*rehearse.Case) {
		return func(c *rehearse.Case) {
			c.World.Controller = "ECS"
			setNative(&c.World, kind, g)
		}
	}
	rollBackAt := func(at time.Duration) func(*rehearse.Case) {
		return func(c *rehearse.Case) {
			c.Interventions = []rehearse.Intervention{{At: at, Does: rehearse.Rollback}}
		}
	}
	canary := by("CANARY", shape.Generated{Percent: 20, StepBake: 1, Bake: 1})
	return []Flow{
		{"BLUE_GREEN", with(by("BLUE_GREEN", shape.Generated{Bake: 1}))},
		{"LINEAR", with(by("LINEAR", shape.Generated{Percent: 50}))},
		{"CANARY", with(canary)},
		{"CANARY of a bad version", with(canary, bad)},
		{"CANARY, rolled back with a share moved", with(canary, rollBackAt(100*time.Second))},
		{"BLUE_GREEN, rolled back while ECS cleans up", with(by("BLUE_GREEN", shape.Generated{}), rollBackAt(130*time.Second))},
		{"BLUE_GREEN, rolled back on request", with(by("BLUE_GREEN", shape.Generated{}), rollbackAfter(1))},
	}
}
