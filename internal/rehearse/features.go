package rehearse

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice/awssim/fault"
)

// feature is a property that a generated case may have in addition to its kind.
type feature struct {
	name    string          // also the purpose of its random numbers
	percent int             // of the cases to which it applies
	of      func(Case) bool // nil: it applies to every case
	draw    func(*draws, *Case)
}

// allFeatures returns all features in the order of generation. A new one is added at the end; it
// has its own random numbers, so that the other features of a seed stay unchanged.
func features() []feature {
	return []feature{
		{"versions", 100, served, func(d *draws, c *Case) {
			c.Old = d.one("", "", "latency=200ms", "latency=1500ms", "latency=1s&term=3s")
			c.New = d.version()
			c.Deadline = 10 * time.Minute
		}},
		{"grace", 50, nil, func(_ *draws, c *Case) { c.World.Grace = 3 * time.Minute }},
		{"late nodes", 30, nil, func(_ *draws, c *Case) { c.World.Nodes = 9 * time.Second }},
		{"others", 50, nil, func(_ *draws, c *Case) { c.World.Others = true }},
		{"a fault of calls", 67, nil, func(d *draws, c *Case) { c.Faults = append(c.Faults, d.callFault()) }},
		{"another fault of calls", 33, nil, func(d *draws, c *Case) { c.Faults = append(c.Faults, d.callFault()) }},
		{"a fault of the world", 20, served, func(d *draws, c *Case) { c.Faults = append(c.Faults, d.worldFault()) }},
		{"a hand", 25, nil, func(d *draws, c *Case) { c.Hands = append(c.Hands, d.hand(*c)) }},
		{"a kill", 45, nil, func(d *draws, c *Case) { c.Kills = append(c.Kills, d.kill()) }},
		{"another kill", 50, func(c Case) bool { return len(c.Kills) > 0 }, func(d *draws, c *Case) { c.Kills = append(c.Kills, d.kill()) }},
		{"a fault of the map", 40, func(c Case) bool { return c.World.byName() }, func(d *draws, c *Case) { c.Faults = append(c.Faults, d.mapFault()) }},
		{"a full disk", 8, nil, func(d *draws, c *Case) { c.Full = Full{Row: 1 + d.upTo(120), For: 1 + d.upTo(4)} }},
		{"a task before", 15, nil, func(d *draws, c *Case) { c.Before = d.step() }},
		{"a task after", 12, nil, func(d *draws, c *Case) { c.After = d.one("", "rollback&") + d.step() }},
		{"auto scaling", 35, served, (*draws).drawScaling},
		{"a fault of auto scaling", 35, func(c Case) bool { return c.World.Scaling.Max > 0 }, func(d *draws, c *Case) { c.Faults = append(c.Faults, d.scalingFault()) }},
		{"a hand on auto scaling", 15, func(c Case) bool { return c.World.Scaling.Max > 0 && len(c.Hands) == 0 }, func(d *draws, c *Case) {
			h := d.hand(*c)
			h.Does = ResumeScaling
			c.Hands = append(c.Hands, h)
		}},
		{"what follows a change of others", 50, served, func(d *draws, c *Case) { c.Outside = d.one("reassert", "adopt") }},
		{"a hand on what is steered", 20, func(c Case) bool { return len(c.Hands) == 0 && len(c.Pipeline) > 0 && !c.World.byName() }, (*draws).steeredHand},
		{"batches", 40, func(c Case) bool { return c.World.Controller == "ECS" && !c.World.byName() && c.World.Tasks > 1 }, func(d *draws, c *Case) {
			c.World.Percents = []Percents{{50, 100}, {50, 200}, {100, 150}, {50, 150}}[d.upTo(3)]
		}},
		{"a hand in the middle of a stage", 50, func(c Case) bool { return len(c.Hands) == 1 && c.Hands[0].Stage > 0 }, func(d *draws, c *Case) {
			c.Hands[0].At = time.Duration(5+d.upTo(85)) * time.Second
		}},
		{"a fault of CodeDeploy", 45, func(c Case) bool { return c.World.byCodeDeploy() }, func(d *draws, c *Case) { c.Faults = append(c.Faults, d.shiftFault()) }},
		{"what CodeDeploy asks before it goes on", 60, func(c Case) bool { return c.World.byCodeDeploy() }, (*draws).asks},
		{"a kill at a write of CodeDeploy's", 25, func(c Case) bool { return c.World.byCodeDeploy() && len(c.Kills) == 0 }, func(d *draws, c *Case) { c.Kills = append(c.Kills, Kill{N: 1 + d.upTo(8), After: d.chance(50)}) }},
		{"a hand on CodeDeploy", 30, func(c Case) bool { return c.World.byCodeDeploy() && len(c.Hands) == 0 }, (*draws).shiftHand},
		{"how a name is found", 35, func(c Case) bool { return c.World.byName() }, (*draws).naming},
		{"versions that serve on", 60, func(c Case) bool { return c.World.byName() }, func(_ *draws, c *Case) { c.World.Stop = 110 * time.Second }},
		{"records that ECS puts back", 12, func(c Case) bool { return c.World.byName() && len(c.Pipeline) > 0 }, func(_ *draws, c *Case) { c.World.Naming.Restores = true }},
		{"more tasks than DNS answers", 12, func(c Case) bool { return c.World.byName() && c.World.Scaling.Max == 0 }, func(d *draws, c *Case) { c.World.Tasks = 9 + d.upTo(3) }},
		{"an exact share", 25, func(c Case) bool { return c.World.byName() && c.World.Scaling.Max == 0 }, (*draws).exact},
		{"a rule that always sends to the canary", 20, Case.steersGroups, func(_ *draws, c *Case) { c.World.Marked = true }},
		{"a canary that was left", 25, func(c Case) bool { return c.steersGroups() && len(c.Pipeline) > 0 && c.onlyCommands() }, func(_ *draws, c *Case) { c.World.Left = true }},
		{"a task set of another tool", 15, func(c Case) bool {
			return c.steersGroups() && c.World.Controller == "EXTERNAL" && c.onlyCommands()
		}, func(_ *draws, c *Case) { c.World.Strange = true }},
		{"a hand on what is found", 40, func(c Case) bool { return c.World.byName() && len(c.Hands) == 0 && len(c.Pipeline) > 0 }, (*draws).foundHand},
		{"late targets", 40, func(c Case) bool { return !c.World.byName() }, func(d *draws, c *Case) {
			c.World.Lags.Targets = min(d.span(2*time.Second, 3*time.Second, 4*time.Second), c.World.Primary.Drain-3*time.Second) // sluice waits for the drain
		}},
		{"late stability", 35, nil, func(d *draws, c *Case) { c.World.Lags.Stability = d.span(3*time.Second, 10*time.Second) }},
		{"late health of instances", 40, func(c Case) bool { return c.World.byName() }, func(d *draws, c *Case) { c.World.Lags.Health = 10 * time.Second }},
		{"late names", 50, func(c Case) bool { return c.World.byName() }, func(d *draws, c *Case) {
			c.World.Lags.Names = d.span(5*time.Second, 20*time.Second, 60*time.Second)
		}},
		{"tokens that are forgotten", 20, served, func(d *draws, c *Case) { c.World.Lags.Tokens = d.span(20*time.Second, time.Minute, 5*time.Minute) }},
		{"few task starts", 15, served, func(d *draws, c *Case) { c.World.Lags.Starts = 3 + d.upTo(9) }},
		{"stale reads of everything", 25, nil, func(d *draws, c *Case) {
			c.Faults = append(c.Faults, fmt.Sprintf("stale %s by=%ds p=0.%d", d.one("*:*", "ecs:*", "codedeploy:*", "servicediscovery:*"), 1+d.upTo(4), 2+d.upTo(4)))
		}},
		{"a rollback right after a write", 25, func(c Case) bool { return served(c) && len(c.Hands) == 0 }, (*draws).rollbackAfterWrite},
		{"an outage of AWS", 8, func(c Case) bool { return true }, func(d *draws, c *Case) { c.Faults = append(c.Faults, d.outage()) }},
	}
}

// outageFault returns a fault in which AWS does not answer for a time, or a proxy answers in its
// place.
func (d *draws) outage() string {
	return fmt.Sprintf("outage %s as=%s after=%ds for=%ds", d.one("*:*", "*:*", "ecs:*", "elasticloadbalancing:*"), d.one(fault.Outages...), 1+d.upTo(240), 1+d.upTo(180))
}

var operations = []string{"*:*", "ecs:*", "ecs:CreateTaskSet", "ecs:UpdateTaskSet", "ecs:DeleteTaskSet", "ecs:UpdateServicePrimaryTaskSet", "ecs:RegisterTaskDefinition",
	"ecs:UpdateService", "ecs:CreateService", "ecs:DeleteService", "ecs:TagResource", "ecs:UntagResource", "ecs:DescribeServices", "elasticloadbalancing:*", "elasticloadbalancing:ModifyListener",
	"elasticloadbalancing:ModifyRule", "elasticloadbalancing:DescribeTargetHealth", "elasticloadbalancing:DescribeRules"}

func (d *draws) callFault() string {
	on := operations[d.upTo(len(operations)-1)]
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
		return fmt.Sprintf("stale %s by=%ds p=0.5", d.one("ecs:*", "ecs:DescribeServices", "elasticloadbalancing:DescribeTargetHealth"), 1+d.upTo(4))
	case 5:
		return fmt.Sprintf("latency %s by=%dms", on, 100*(1+d.upTo(20)))
	case 6:
		return fmt.Sprintf("expired-credentials after=%ds for=%ds", 1+d.upTo(150), 60*(1+d.upTo(60)))
	}
	return fmt.Sprintf("throttle %s for=%ds", on, 1+d.upTo(90))
}

func (d *draws) worldFault() string {
	after := 1 + d.upTo(240)
	switch d.upTo(3) {
	case 0:
		return fmt.Sprintf("task-crash web count=%d exit=137 after=%ds", 1+d.upTo(2), after)
	case 1:
		return fmt.Sprintf("zone-lost us-east-1%s after=%ds for=%ds", d.one("a", "b"), after, 60*(1+d.upTo(20)))
	case 2:
		return fmt.Sprintf("no-capacity prod after=%ds for=%ds", after, 60*(1+d.upTo(20)))
	}
	return fmt.Sprintf("slow-start web by=%ds", 30*(1+d.upTo(5)))
}

// interventionKind is a possible intervention, with its share of all interventions.
type drawnHand struct {
	share int
	of    func(Case) bool // nil: it applies to every case
	does  func(*draws) string
}

func always(does string) func(*draws) string { return func(*draws) string { return does } }

func drawnHands() []drawnHand {
	return []drawnHand{
		{3, nil, always(Rollback)},
		{1, nil, always(Abort)},
		{1, nil, always(Pause)},
		{1, func(c Case) bool {
			return served(c) && (c.World.Controller == "EXTERNAL" || c.hostsBeside()) && !c.World.byName()
		}, func(d *draws) string { return EditRule + d.one(" 100 0", " 999 1") }},
		{1, served, func(d *draws) string { return fmt.Sprintf("%s %d", Scale, 1+d.upTo(7)) }},
		{1, served, always(DeleteService)},
		{1, served, always(TakeClaim)},
		{1, nil, always(Second)},
		{1, func(c Case) bool { return c.World.byName() }, func(d *draws) string { return fmt.Sprintf("%s %d", TakeOut, d.upTo(7)) }},
		{1, func(c Case) bool { return c.World.byName() }, always(PutIn)},
	}
}

// addTrafficIntervention adds another actor who changes rules, the canary or the PRIMARY during the
// deployment.
func (d *draws) steeredHand(c *Case) {
	h := d.hand(*c)
	switch d.upTo(6) {
	case 0, 1:
		h.Does = EditRule + " 999 1"
	case 2:
		h.Does = EditRule + " 100 0"
	case 3:
		h.Does = fmt.Sprintf("%s %d", ScaleCanary, 1+d.upTo(99))
	case 4:
		h.Does = DeleteCanary
	case 5:
		h.Does = PromoteCanary
	default:
		h.Does = TakeOver
	}
	c.Hands = append(c.Hands, h)
}

func (d *draws) hand(c Case) Hand {
	h := Hand{At: time.Duration(1+d.upTo(300)) * time.Second}
	if n := len(c.Pipeline); n > 0 && d.chance(40) {
		h = Hand{Stage: 1 + d.upTo(n-1)}
	}
	var lots []drawnHand
	for _, x := range drawnHands() {
		for range x.share {
			if x.of == nil || x.of(c) {
				lots = append(lots, x)
			}
		}
	}
	h.Does = lots[d.upTo(len(lots)-1)].does(d)
	return h
}

func (d *draws) kill() Kill {
	if d.chance(50) {
		return Kill{N: 1 + d.upTo(20), After: d.chance(50)}
	}
	return Kill{Row: true, N: 1 + d.upTo(170), After: d.chance(50)}
}
