package simtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// generateCloudMap generates a service with a Cloud Map name, and its pipeline.
func (d *random) generateCloudMap(c *rehearse.Case) {
	c.World.TTL, c.World.Check = d.oneDuration(5*time.Second, 10*time.Second, time.Minute), 5*time.Second
	if d.chance(30) {
		c.World.Controller, c.Breaker = "ECS", d.chance(50)
	}
	if d.chance(10) {
		return // quick sync
	}
	add := func(format string, args ...any) { c.Pipeline = append(c.Pipeline, fmt.Sprintf(format, args...)) }
	if d.chance(40) { // blue/green
		add("ECS_CANARY_ROLLOUT scale=100")
		add("ECS_TRAFFIC_ROUTING canary=100")
		d.addWait(add)
		add("ECS_PRIMARY_ROLLOUT keepOld=%t", d.chance(30) && c.World.Controller != "ECS")
		add("ECS_TRAFFIC_ROUTING primary=100")
		add("ECS_CANARY_CLEAN")
		return
	}
	add("ECS_CANARY_ROLLOUT scale=%d", 1+d.upTo(99))
	share := 0
	for range 1 + d.upTo(2) {
		share = min(95, share+1+d.upTo(40))
		add("ECS_TRAFFIC_ROUTING canary=%d", share)
		d.addWait(add)
	}
	if d.chance(20) {
		add("ECS_CANARY_ROLLOUT scale=%d", 1+d.upTo(99))
	}
	add("ECS_PRIMARY_ROLLOUT keepOld=%t", d.chance(20) && c.World.Controller != "ECS")
	if d.chance(85) {
		add("ECS_TRAFFIC_ROUTING primary=100")
	}
	add("ECS_CANARY_CLEAN")
}

// generateNaming generates another way to resolve the name than A records.
func (d *random) generateNaming(c *rehearse.Case) {
	if d.chance(60) {
		c.World.Naming.Records = "SRV"
	} else {
		c.World.Naming.HTTP = true
	}
}

// setExactShare sets a share that the primary's tasks can make exactly.
func (d *random) setExactShare(c *rehearse.Case) {
	var all []int
	for i, s := range c.Pipeline {
		if strings.HasPrefix(s, "ECS_TRAFFIC_ROUTING canary=") && !strings.HasSuffix(s, "=100") {
			all = append(all, i)
		}
	}
	var shares []int
	pool := plan.Pool{Primary: c.World.Tasks, Desired: c.World.Tasks}
	for _, n := range []int{10, 20, 25, 40, 50, 60, 75, 80} {
		// the most that a task set can have
		if want, ok := pool.ExactSplit(sluice.CanaryShare(n)); ok &&
			(want.Canary <= c.World.Tasks || c.HasCanaryService()) {
			shares = append(shares, n)
		}
	}
	if len(all) > 0 && len(shares) > 0 {
		c.Pipeline[all[d.upTo(len(all)-1)]] = fmt.Sprintf("ECS_TRAFFIC_ROUTING canary=%d exact=true",
			shares[d.upTo(len(shares)-1)])
	}
}

// removeRouting removes the stages that shift traffic: the canary is registered once it is healthy. An
// intervention at a removed stage moves to the last stage.
func (d *random) removeRouting(c *rehearse.Case) {
	c.Pipeline = slices.DeleteFunc(slices.Clone(c.Pipeline), func(s string) bool {
		return strings.HasPrefix(s, "ECS_TRAFFIC_ROUTING")
	})
	for i := range c.Interventions {
		c.Interventions[i].Stage = min(c.Interventions[i].Stage, len(c.Pipeline))
	}
}

// addNameIntervention adds a person who changes the canary, or the registered instances, during or
// after a stage that shifts traffic.
func (d *random) addNameIntervention(c *rehearse.Case) {
	h := rehearse.Intervention{Stage: 1 + d.upTo(len(c.Pipeline)-1)}
	if d.chance(60) {
		h.At = time.Duration(5+d.upTo(145)) * time.Second
	}
	promotes := rehearse.PromoteCanary
	if c.HasCanaryService() { // a service cannot be promoted
		promotes = rehearse.DeleteCanary
	}
	h.Does = d.oneOf(
		fmt.Sprintf("%s %d", rehearse.ScaleCanary, 1+d.upTo(99)),
		rehearse.DeleteCanary,
		promotes,
		rehearse.TakeOver,
		rehearse.RegisterTask,
		rehearse.RegisterTask,
		fmt.Sprintf(
			"%s %d",
			rehearse.DeregisterInstance,
			d.upTo(7),
		),
		fmt.Sprintf("%s %d", rehearse.SetUnhealthy, d.upTo(7)),
		fmt.Sprintf("%s %d", rehearse.SetUnhealthy, d.upTo(7)),
		fmt.Sprintf("%s %d", rehearse.SetDesiredCount, 1+d.upTo(7)),
	)
	c.Interventions = append(c.Interventions, h)
	if d.chance(50) { // without other faults, sluice must detect it immediately
		c.Faults, c.Kills, c.FullDisk, c.Before, c.After = nil, nil, rehearse.FullDisk{}, "", ""
	}
}

func (d *random) cloudMapFault() string {
	on := d.oneOf("servicediscovery:*", "servicediscovery:RegisterInstance", "servicediscovery:DeregisterInstance",
		"servicediscovery:GetOperation",
		"servicediscovery:DiscoverInstances", "servicediscovery:ListInstances")
	switch d.upTo(5) {
	case 0:
		return fmt.Sprintf("throttle %s p=0.%d", on, 1+d.upTo(3))
	case 1:
		return fmt.Sprintf("5xx %s p=0.%d", on, 1+d.upTo(1))
	case 2:
		return fmt.Sprintf("lost-reply %s times=%d", on, 1+d.upTo(1))
	case 3:
		return fmt.Sprintf("stale servicediscovery:* by=%ds p=0.5", 1+d.upTo(4))
	case 4:
		return fmt.Sprintf("failed-operation servicediscovery:* times=%d", 1+d.upTo(1))
	}
	return fmt.Sprintf("latency %s by=%dms", on, 100*(1+d.upTo(20)))
}

// cloudMapFlows returns the flows of a service with a Cloud Map name.
func cloudMapFlows(with func(...func(*rehearse.Case)) rehearse.Case) []Flow {
	of := func(stages ...string) func(*rehearse.Case) { return func(c *rehearse.Case) { c.Pipeline = stages } }
	named := func(c *rehearse.Case) { c.World.TTL, c.World.Check = 10*time.Second, 5*time.Second }
	canary := of("ECS_CANARY_ROLLOUT scale=50", "ECS_TRAFFIC_ROUTING canary=25", "ECS_PRIMARY_ROLLOUT",
		"ECS_TRAFFIC_ROUTING primary=100", "ECS_CANARY_CLEAN")
	blueGreen := of("ECS_CANARY_ROLLOUT scale=100", "ECS_TRAFFIC_ROUTING canary=100", "ECS_PRIMARY_ROLLOUT",
		"ECS_TRAFFIC_ROUTING primary=100", "ECS_CANARY_CLEAN")
	atOnce := of("ECS_CANARY_ROLLOUT scale=50", "WAIT duration=2m", "ECS_PRIMARY_ROLLOUT", "ECS_CANARY_CLEAN")
	all := []Flow{
		{"canary by name", with(named, canary)},
		{"canary by name that serves at once", with(named, atOnce)},
		{
			"canary by name, without a container check",
			with(named, canary, func(c *rehearse.Case) { c.World.Check = 0 }),
		},
		{"canary by name that crashes", with(named, canary, func(c *rehearse.Case) { c.New = crashOptions })},
		{"blue/green by name", with(named, blueGreen)},
		{"quick sync by name", with(named)},
	}
	beside := func(c *rehearse.Case) { named(c); c.World.Controller = "ECS" }
	// ECS stops the tasks of a rolling service without waiting for any TTL.
	servesOn := func(c *rehearse.Case) { c.Old, c.New = "term=80s", "term=80s" }
	all = append(all, Flow{"canary service: canary by name", with(beside, servesOn, canary)},
		Flow{"canary service: canary by name that serves at once", with(beside, servesOn, atOnce)},
		Flow{"canary service: blue/green by name", with(beside, blueGreen)})
	for _, f := range []Flow{{"canary by name", with(named, canary)}, {"blue/green by name", with(named, blueGreen)},
		{"canary by name that serves at once", with(named, atOnce)},
		{"canary service: canary by name", with(beside, servesOn, canary)},
		{"canary service: canary by name that serves at once", with(beside, servesOn, atOnce)},
		{"canary service: blue/green by name", with(beside, blueGreen)}} {
		all = append(all, rollbackFromEach(f.Name, f.Case)...)
	}
	return all
}

// writeCloudMap writes the lines of the files for a service with a Cloud Map name.
func (d *draft) writeCloudMap(c rehearse.Case) {
	if !c.World.UsesCloudMap() {
		return
	}
	writeLine(&d.input, "  accessType: SERVICE_DISCOVERY")
	port := ""
	if c.World.Naming.Records == "SRV" {
		port = fmt.Sprintf(", port: %d", c.World.Port)
	}
	writeLine(&d.service, "deploymentController: {type: %s}\nserviceRegistries: [{registryArn: %q%s}]",
		c.World.Controller, c.World.RegistryARN(), port)
	writeLine(&d.task, "    stopTimeout: 120")
	if c.World.Check > 0 {
		writeLine(&d.task, "    healthCheck: {command: [CMD, 'true'], interval: %d}", int(c.World.Check.Seconds()))
	}
}
