package simtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/fault"
	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// feature is a property that a generated case may have in addition to its kind.
type feature struct {
	name      string                   // also the purpose of its random numbers
	percent   int                      // of the cases to which it applies
	appliesTo func(rehearse.Case) bool // nil: it applies to every case
	apply     func(*random, *rehearse.Case)
}

// allFeatures returns all features in the order of generation. A new one is added at the end; it
// has its own random numbers, so that the other features of a seed stay unchanged.
func allFeatures() []feature {
	return slices.Concat(generalFeatures(), codeDeployFeatures(), neighbourFeatures(), lagFeatures(), balancerFeatures(),
		pipelineFeatures(), callerFeatures())
}

func usesCodeDeploy(c rehearse.Case) bool { return c.World.UsesCodeDeploy() }

func usesCloudMap(c rehearse.Case) bool { return c.World.UsesCloudMap() }

// generalFeatures returns steps, faults, kills, interventions and auto scaling.
func generalFeatures() []feature {
	return []feature{
		{"versions", 100, hasService, func(d *random, c *rehearse.Case) {
			c.Old = d.oneOf("", "", "latency=200ms", "latency=1500ms", "latency=1s&term=3s")
			c.New = d.versionOptions()
			c.Deadline = 10 * time.Minute
		}},
		{"grace", 50, nil, func(_ *random, c *rehearse.Case) { c.World.Grace = 3 * time.Minute }},
		{"late nodes", 30, nil, func(_ *random, c *rehearse.Case) { c.World.Nodes = 9 * time.Second }},
		{"others", 50, nil, func(_ *random, c *rehearse.Case) { c.World.OtherService = true }},
		{"a fault of calls", 67, nil, func(d *random, c *rehearse.Case) { c.Faults = append(c.Faults, d.callFault()) }},
		{"another fault of calls", 33, nil,
			func(d *random, c *rehearse.Case) { c.Faults = append(c.Faults, d.callFault()) }},
		{"a fault of the world", 20, hasService,
			func(d *random, c *rehearse.Case) { c.Faults = append(c.Faults, d.worldFault()) }},
		{"a hand", 25, nil, func(d *random, c *rehearse.Case) {
			c.Interventions = append(c.Interventions,
				d.randomIntervention(*c))
		}},
		{"a kill", 45, nil, func(d *random, c *rehearse.Case) { c.Kills = append(c.Kills, d.randomKill()) }},
		{"another kill", 50, func(c rehearse.Case) bool { return len(c.Kills) > 0 },
			func(d *random, c *rehearse.Case) { c.Kills = append(c.Kills, d.randomKill()) }},
		{"a fault of the map", 40, usesCloudMap,
			func(d *random, c *rehearse.Case) { c.Faults = append(c.Faults, d.cloudMapFault()) }},
		{"a full disk", 8, nil, func(d *random, c *rehearse.Case) {
			c.FullDisk = rehearse.FullDisk{Row: 1 + d.upTo(120), For: 1 +
				d.upTo(4)}
		}},
		{"a task before", 15, nil, func(d *random, c *rehearse.Case) { c.Before = d.stepOptions() }},
		{"a task after", 12, nil,
			func(d *random, c *rehearse.Case) { c.After = d.oneOf("", "rollback&") + d.stepOptions() }},
		{"auto scaling", 35, hasService, (*random).generateScaling},
		{"a fault of auto scaling", 35, func(c rehearse.Case) bool { return c.World.Scaling.Max > 0 },
			func(d *random, c *rehearse.Case) { c.Faults = append(c.Faults, d.scalingFault()) }},
		{"a hand on auto scaling", 15, func(c rehearse.Case) bool {
			return c.World.Scaling.Max > 0 &&
				len(c.Interventions) == 0
		}, func(d *random, c *rehearse.Case) {
			h := d.randomIntervention(*c)
			h.Does = rehearse.ResumeScaling
			c.Interventions = append(c.Interventions, h)
		}},
		{"what follows a change of others", 50, hasService,
			func(d *random, c *rehearse.Case) { c.OutsidePolicy = d.oneOf("reassert", "adopt") }},
		{"a hand on what is steered", 20, func(c rehearse.Case) bool {
			return len(c.Interventions) == 0 && len(c.Pipeline) > 0 &&
				!c.World.UsesCloudMap()
		}, (*random).addTrafficIntervention},
		{"batches", 40, func(c rehearse.Case) bool {
			return c.World.Controller == "ECS" && !c.World.UsesCloudMap() && !usesNative(c) &&
				c.World.Tasks > 1
		}, func(d *random, c *rehearse.Case) {
			c.World.Percents = []shape.Percents{{Least: 50, Most: 100}, {Least: 50, Most: 200}, {Least: 100, Most: 150},
				{Least: 50, Most: 150}}[d.upTo(3)]
		}},
		{"a hand in the middle of a stage", 50, func(c rehearse.Case) bool {
			return len(c.Interventions) == 1 &&
				c.Interventions[0].Stage > 0
		}, func(d *random, c *rehearse.Case) {
			c.Interventions[0].At = time.Duration(5+d.upTo(85)) * time.Second
		}},
	}
}

// codeDeployFeatures returns what may happen while CodeDeploy deploys.
func codeDeployFeatures() []feature {
	return []feature{
		{"a fault of CodeDeploy", 45, usesCodeDeploy,
			func(d *random, c *rehearse.Case) { c.Faults = append(c.Faults, d.codeDeployFault()) }},
		{"what CodeDeploy asks before it goes on", 60, usesCodeDeploy,
			(*random).generateDeployChecks},
		{"a kill at a write of CodeDeploy's", 25, func(c rehearse.Case) bool {
			return c.World.UsesCodeDeploy() &&
				len(c.Kills) == 0
		},
			func(d *random, c *rehearse.Case) {
				c.Kills = append(c.Kills, rehearse.Kill{N: 1 + d.upTo(8), After: d.chance(50)})
			}},
		{"a hand on CodeDeploy", 30,
			func(c rehearse.Case) bool { return c.World.UsesCodeDeploy() && len(c.Interventions) == 0 },
			(*random).addCodeDeployStop},
	}
}

// neighbourFeatures returns how a name is found, and what exists next to the service.
func neighbourFeatures() []feature {
	return []feature{
		{"how a name is found", 35, usesCloudMap, (*random).generateNaming},
		{"versions that serve on", 60, usesCloudMap,
			func(_ *random, c *rehearse.Case) { c.World.Stop = 110 * time.Second }},
		{"records that ECS puts back", 12,
			func(c rehearse.Case) bool { return c.World.UsesCloudMap() && len(c.Pipeline) > 0 },
			func(_ *random, c *rehearse.Case) { c.World.Naming.Restores = true }},
		{"more tasks than DNS answers", 12, func(c rehearse.Case) bool {
			return c.World.UsesCloudMap() &&
				c.World.Scaling.Max == 0
		}, func(d *random, c *rehearse.Case) { c.World.Tasks = 9 + d.upTo(3) }},
		{"an exact share", 25, func(c rehearse.Case) bool { return c.World.UsesCloudMap() && c.World.Scaling.Max == 0 },
			(*random).setExactShare},
		{"a rule that always sends to the canary", 20, shiftsWeights,
			func(_ *random, c *rehearse.Case) { c.World.CanaryOnlyRule = true }},
		{"a canary that was left", 25, func(c rehearse.Case) bool {
			return shiftsWeights(c) && len(c.Pipeline) > 0 &&
				hasOnlyCommands(c)
		}, func(_ *random, c *rehearse.Case) { c.World.LeftoverCanary = true }},
		{"a task set of another tool", 15, func(c rehearse.Case) bool {
			return shiftsWeights(c) && c.World.Controller == "EXTERNAL" && hasOnlyCommands(c)
		}, func(_ *random, c *rehearse.Case) { c.World.OtherToolSet = true }},
		{"a hand on what is found", 40, func(c rehearse.Case) bool {
			return c.World.UsesCloudMap() &&
				len(c.Interventions) == 0 && len(c.Pipeline) > 0
		}, (*random).addNameIntervention},
	}
}

// lagFeatures returns delays and outages of AWS, and what people do while its answers are stale.
func lagFeatures() []feature {
	return []feature{
		{"late targets", 40, func(c rehearse.Case) bool { return !c.World.UsesCloudMap() },
			func(d *random, c *rehearse.Case) {
				// sluice waits for the drain
				c.World.Lags.Targets = min(d.oneDuration(2*time.Second, 3*time.Second, 4*time.Second),
					c.World.Primary.Drain-3*time.Second)
			}},
		{"late stability", 35, nil, func(d *random, c *rehearse.Case) {
			c.World.Lags.Stability = d.oneDuration(3*time.Second,
				10*time.Second)
		}},
		{"late health of instances", 40, usesCloudMap,
			func(d *random, c *rehearse.Case) { c.World.Lags.Health = 10 * time.Second }},
		{"late names", 50, usesCloudMap, func(d *random, c *rehearse.Case) {
			c.World.Lags.Names = d.oneDuration(5*time.Second, 20*time.Second, 60*time.Second)
		}},
		{"tokens that are forgotten", 20, hasService, func(d *random, c *rehearse.Case) {
			c.World.Lags.Tokens = d.oneDuration(20*time.Second, time.Minute, 5*time.Minute)
		}},
		{"few task starts", 15, hasService, func(d *random, c *rehearse.Case) {
			if c.World.Lags.Starts = 3 + d.upTo(9); usesNative(*c) { // two versions whole: one that dies takes no start of the other
				c.World.Lags.Starts += 12
			}
		}},
		{"stale reads of everything", 25, nil, func(d *random, c *rehearse.Case) {
			c.Faults = append(c.Faults, fmt.Sprintf("stale %s by=%ds p=0.%d",
				d.oneOf("*:*", "ecs:*", "codedeploy:*", "servicediscovery:*"), 1+d.upTo(4), 2+d.upTo(4)))
		}},
		{"a rollback right after a write", 25,
			func(c rehearse.Case) bool { return hasService(c) && len(c.Interventions) == 0 },
			(*random).addRollbackAfterWrite},
		{"an outage of AWS", 8, nil,
			func(d *random, c *rehearse.Case) { c.Faults = append(c.Faults, d.outageFault()) }},
	}
}

// balancerFeatures returns other types of load balancers.
func balancerFeatures() []feature {
	return []feature{
		{"a Network Load Balancer", 10,
			func(c rehearse.Case) bool { return hasService(c) && shiftsWeights(c) }, (*random).setNetworkBalancer},
	}
}

// pipelineFeatures returns other forms of a pipeline.
func pipelineFeatures() []feature {
	return []feature{
		{"a canary that serves at once", 20, usesCloudMap, (*random).removeRouting},
		{"tasks that start fast", 12, hasService, (*random).setFastStarts},
		{"a canary that stays", 15, func(c rehearse.Case) bool {
			return c.World.Controller == "EXTERNAL" && shiftsWeights(c) && endsWithClean(c) && hasOnlyCommands(c)
		}, keepCanary},
	}
}

// endsWithClean reports whether the last stage deletes the canary, and the stage before gives the primary all requests.
func endsWithClean(c rehearse.Case) bool {
	n := len(c.Pipeline)
	return n > 1 && c.Pipeline[n-1] == "ECS_CANARY_CLEAN" && c.Pipeline[n-2] == "ECS_TRAFFIC_ROUTING primary=100"
}

// keepCanary takes that stage away. A kept old primary would serve on without it.
func keepCanary(_ *random, c *rehearse.Case) {
	c.Pipeline = withoutKeepOld(c.Pipeline[:len(c.Pipeline)-1])
}

// setFastStarts makes tasks start within a poll, as those of an image that their container instance has already.
func (d *random) setFastStarts(c *rehearse.Case) {
	c.World.Start = d.oneDuration(100*time.Millisecond, 100*time.Millisecond, time.Second, 3*time.Second)
}

// setNetworkBalancer puts the service behind a Network Load Balancer. Its target groups drain longer
// than nodes send new connections to a deregistered target.
func (d *random) setNetworkBalancer(c *rehearse.Case) {
	c.World.SetNetworkBalancer(true)
	drain := d.oneDuration(90*time.Second, 2*time.Minute)
	c.World.Primary.Drain, c.World.Canary.Drain = drain, drain
}

// outageFault returns a fault in which AWS does not answer for a time, or a proxy answers in its
// place.
func (d *random) outageFault() string {
	return fmt.Sprintf("outage %s as=%s after=%ds for=%ds", d.oneOf("*:*", "*:*", "ecs:*", "elasticloadbalancing:*"),
		d.oneOf(fault.Outages...), 1+d.upTo(240), 1+d.upTo(180))
}

var faultOperations = []string{"*:*", "ecs:*", "ecs:CreateTaskSet", "ecs:UpdateTaskSet", "ecs:DeleteTaskSet",
	"ecs:UpdateServicePrimaryTaskSet", "ecs:RegisterTaskDefinition",
	"ecs:UpdateService", "ecs:CreateService", "ecs:DeleteService", "ecs:TagResource", "ecs:UntagResource",
	"ecs:DescribeServices", "elasticloadbalancing:*", "elasticloadbalancing:ModifyListener",
	"elasticloadbalancing:ModifyRule", "elasticloadbalancing:DescribeTargetHealth",
	"elasticloadbalancing:DescribeRules"}

func (d *random) callFault() string {
	on := faultOperations[d.upTo(len(faultOperations)-1)]
	switch d.upTo(7) {
	case 0:
		return fmt.Sprintf("throttle %s p=0.%d", on, 1+d.upTo(3))
	case 1:
		return fmt.Sprintf("5xx %s p=0.%d", on, 1+d.upTo(1))
	case 2:
		return fmt.Sprintf("lost-reply %s times=%d", on, 1+d.upTo(1))
	case 3:
		return fmt.Sprintf("no-send %s p=0.%d", on, 1+d.upTo(1))
	case 4:
		return fmt.Sprintf("stale %s by=%ds p=0.5", d.oneOf("ecs:*", "ecs:DescribeServices",
			"elasticloadbalancing:DescribeTargetHealth"), 1+d.upTo(4))
	case 5:
		return fmt.Sprintf("latency %s by=%dms", on, 100*(1+d.upTo(20)))
	case 6:
		return fmt.Sprintf("expired-credentials after=%ds for=%ds", 1+d.upTo(150), 60*(1+d.upTo(60)))
	}
	return fmt.Sprintf("throttle %s for=%ds", on, 1+d.upTo(90))
}

func (d *random) worldFault() string {
	after := 1 + d.upTo(240)
	switch d.upTo(3) {
	case 0:
		return fmt.Sprintf("task-crash web count=%d exit=137 after=%ds", 1+d.upTo(2), after)
	case 1:
		return fmt.Sprintf("zone-lost us-east-1%s after=%ds for=%ds", d.oneOf("a", "b"), after, 60*(1+d.upTo(20)))
	case 2:
		return fmt.Sprintf("no-capacity prod after=%ds for=%ds", after, 60*(1+d.upTo(20)))
	}
	return fmt.Sprintf("slow-start web by=%ds", 30*(1+d.upTo(5)))
}

// interventionKind is a possible intervention, with its share of all interventions.
type interventionKind struct {
	share     int
	appliesTo func(rehearse.Case) bool // nil: it applies to every case
	randomAct func(*random) string
}

func alwaysDo(does string) func(*random) string { return func(*random) string { return does } }

func interventionKinds() []interventionKind {
	return []interventionKind{
		{3, nil, alwaysDo(rehearse.Rollback)},
		{1, nil, alwaysDo(rehearse.Abort)},
		{1, nil, alwaysDo(rehearse.Pause)},
		{1, func(c rehearse.Case) bool {
			return hasService(c) && (c.World.Controller == "EXTERNAL" || c.HasCanaryService()) &&
				!c.World.UsesCloudMap()
		}, func(d *random) string { return rehearse.EditRule + d.oneOf(" 100 0", " 999 1") }},
		{1, hasService, func(d *random) string { return fmt.Sprintf("%s %d", rehearse.SetDesiredCount, 1+d.upTo(7)) }},
		{1, hasService, alwaysDo(rehearse.DeleteService)},
		{1, hasService, alwaysDo(rehearse.TakeClaim)},
		{1, nil, alwaysDo(rehearse.SecondSluice)},
		{1, usesCloudMap,
			func(d *random) string { return fmt.Sprintf("%s %d", rehearse.DeregisterInstance, d.upTo(7)) }},
		{1, usesCloudMap, alwaysDo(rehearse.RegisterAddress)},
	}
}

// addTrafficIntervention adds another actor who changes rules, the canary or the PRIMARY during the
// deployment.
func (d *random) addTrafficIntervention(c *rehearse.Case) {
	h := d.randomIntervention(*c)
	switch d.upTo(6) {
	case 0, 1:
		h.Does = rehearse.EditRule + " 999 1"
	case 2:
		h.Does = rehearse.EditRule + " 100 0"
	case 3:
		h.Does = fmt.Sprintf("%s %d", rehearse.ScaleCanary, 1+d.upTo(99))
	case 4:
		h.Does = rehearse.DeleteCanary
	case 5:
		h.Does = rehearse.PromoteCanary
	default:
		h.Does = rehearse.TakeOver
	}
	c.Interventions = append(c.Interventions, h)
}

func (d *random) randomIntervention(c rehearse.Case) rehearse.Intervention {
	h := rehearse.Intervention{At: time.Duration(1+d.upTo(300)) * time.Second}
	if n := len(c.Pipeline); n > 0 && d.chance(40) {
		h = rehearse.Intervention{Stage: 1 + d.upTo(n-1)}
	}
	var lots []interventionKind
	for _, x := range interventionKinds() {
		for range x.share {
			if x.appliesTo == nil || x.appliesTo(c) {
				lots = append(lots, x)
			}
		}
	}
	h.Does = lots[d.upTo(len(lots)-1)].randomAct(d)
	return h
}

func (d *random) randomKill() rehearse.Kill {
	if d.chance(50) {
		return rehearse.Kill{N: 1 + d.upTo(20), After: d.chance(50)}
	}
	return rehearse.Kill{Row: true, N: 1 + d.upTo(170), After: d.chance(50)}
}
