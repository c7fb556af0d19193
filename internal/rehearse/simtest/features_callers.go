package simtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// callerFeatures returns what other actors do with the way of the requests, versions that stop after they were
// healthy, and a claim that another tool removes.
func callerFeatures() []feature {
	return []feature{
		{"a route that is edited", 22, func(c rehearse.Case) bool {
			return hasService(c) && !c.World.UsesCloudMap() && hasOnlyCommands(c) && !c.World.LeftoverCanary &&
				!c.World.OtherToolSet
		}, (*random).addRouteEdit},
		{"a version that dies after it was healthy", 12, hasService, (*random).setLateDeath},
		{"waves of deaths", 6, hasService, (*random).addDeathWaves},
		{"a claim that is removed", 6, hasService, func(d *random, c *rehearse.Case) {
			h := d.randomIntervention(*c)
			h.Does = rehearse.RemoveClaim
			c.Interventions = append(c.Interventions, h)
		}},
		{"rules that cannot serve are allowed", 50, isEditedBefore, allowRoute},
		{"rules that cannot serve would be allowed", 4, func(c rehearse.Case) bool {
			return hasService(c) && !c.World.UsesCloudMap() && !isEditedBefore(c)
		}, allowRoute},
		{"a bake time", 20, hasService, func(d *random, c *rehearse.Case) {
			c.Bake = d.oneDuration(20*time.Second, time.Minute, 4*time.Minute, 20*time.Minute)
		}},
		{"a bake time of a rolling update", 20, func(c rehearse.Case) bool { return monitorsAlarm(c) && !usesNative(c) },
			func(d *random, c *rehearse.Case) { c.World.Strategy.Generated.Bake = []int{1, 4, 12, 25}[d.upTo(3)] }},
		{"an alarm that ECS monitors", 25, monitorsAlarm, func(d *random, c *rehearse.Case) {
			if c.World.Alarm = true; len(c.Interventions) == 0 && d.chance(60) {
				c.Interventions = append(c.Interventions, rehearse.Intervention{
					At: time.Duration(10+d.upTo(500)) * time.Second, Does: rehearse.RaiseAlarm})
			}
		}},
		{"a gate by a provider", 30, func(c rehearse.Case) bool {
			return slices.ContainsFunc(c.Pipeline, givesCanaryRequests) &&
				!c.HasIntervention(rehearse.SecondSluice) && !c.HasIntervention(rehearse.TakeOver) // which no person approves
		}, (*random).addGate},
		{"a rule that gets other requests", 6, func(c rehearse.Case) bool {
			return hasService(c) && !c.World.UsesCloudMap() && hasOnlyCommands(c) && !c.World.UsesNetworkBalancer()
		}, (*random).addOtherRequests},
		{"target groups that the files exchange", 4, shiftsWeights, func(_ *random, c *rehearse.Case) { c.Exchanged = true }},
	}
}

// monitorsAlarm reports whether ECS deploys the service itself, and ends a deployment because of an alarm.
func monitorsAlarm(c rehearse.Case) bool {
	return c.World.Controller == "ECS" && !c.World.UsesCloudMap()
}

// isEditedBefore reports whether another actor edits a rule before the deployment.
func isEditedBefore(c rehearse.Case) bool {
	return slices.ContainsFunc(c.Interventions, func(h rehearse.Intervention) bool {
		return h.When == rehearse.Before && strings.HasPrefix(h.Does, rehearse.EditRule)
	})
}

func allowRoute(_ *random, c *rehearse.Case) { c.AllowRoute = true }

// addRouteEdit adds an edit of the first rule before, during or right after the deployment.
func (d *random) addRouteEdit(c *rehearse.Case) {
	h := d.randomIntervention(*c)
	switch d.upTo(5) {
	case 0, 1:
		h = rehearse.Intervention{When: rehearse.Before}
	case 2:
		h = rehearse.Intervention{When: rehearse.AfterEnd, At: time.Duration(d.upTo(40)) * time.Second}
	}
	does := []string{rehearse.EditRule + " 0 0", rehearse.EditRule + " 0 100"}
	if c.World.OtherService {
		does = append(does, rehearse.EditRuleElsewhere)
	}
	if !c.World.UsesNetworkBalancer() {
		does = append(does, rehearse.EditRuleFixed, rehearse.EditRuleDelete)
	}
	if h.When != rehearse.Before { // a listener without which the files cannot be deployed
		does = append(does, rehearse.EditRuleListener, rehearse.EditRuleGroup)
	}
	h.Does = does[d.upTo(len(does)-1)]
	c.Interventions = append(c.Interventions, h)
}

// addOtherRequests adds another actor by whom the rule of callers gets other requests. A port is known only if it changes
// during the deployment.
func (d *random) addOtherRequests(c *rehearse.Case) {
	h := d.randomIntervention(*c)
	if d.chance(30) {
		h = rehearse.Intervention{When: rehearse.Before}
	}
	if h.Does = d.oneOf(rehearse.EditRuleFront, rehearse.EditRulePort, rehearse.EditRuleConditions); h.When != "" {
		h.Does = rehearse.EditRuleFront
	}
	c.Interventions = append(c.Interventions, h)
}

// setLateDeath makes each task of the new version stop or fail some time after it was healthy.
func (d *random) setLateDeath(c *rehearse.Case) {
	after := 10 + d.upTo(110)
	c.New = []string{
		fmt.Sprintf("crash-after=%ds&exit=1", after),
		fmt.Sprintf("crash-after=%ds&exit=137", after),
		fmt.Sprintf("unhealthy-after=%ds", after),
		fmt.Sprintf("healthy-after=7s&crash-after=%ds&exit=1", after+7),
	}[d.upTo(3)]
}

// addDeathWaves makes tasks of the service stop at one to four times.
func (d *random) addDeathWaves(c *rehearse.Case) {
	at := 0
	for range 1 + d.upTo(3) {
		at += 10 + d.upTo(110)
		c.Faults = append(c.Faults, fmt.Sprintf("task-crash web count=%d exit=%s after=%ds", 1+d.upTo(3),
			d.oneOf("1", "137"), at))
	}
}
