package rehearse

import (
	"fmt"
	"time"
)

// Draw is the case of a seed: a world, a valid pipeline, a version that is good or
// bad, and what goes wrong.
func Draw(seed uint64) Case {
	d := &draws{(&draws{seed}).next()}
	c := Case{Seed: seed, World: d.world()}
	c.Old = d.one("", "", "latency=200ms", "latency=1500ms", "latency=1s&term=3s")
	c.New = d.version()
	if d.chance(50) {
		c.World.Grace = 3 * time.Minute
	}
	if c.World.Controller == "EXTERNAL" {
		c.Pipeline = d.pipeline()
	} else {
		c.Breaker = d.chance(60)
	}
	c.Deadline = 10 * time.Minute
	for range d.upTo(2) {
		c.Faults = append(c.Faults, d.callFault())
	}
	if d.chance(20) {
		c.Faults = append(c.Faults, d.worldFault())
	}
	if d.chance(25) {
		c.Hands = append(c.Hands, d.hand(c))
	}
	if d.chance(45) {
		for range 1 + d.upTo(1) {
			c.Kills = append(c.Kills, d.kill())
		}
	}
	if d.chance(8) {
		c.Full = Full{Row: 1 + d.upTo(120), For: 1 + d.upTo(4)}
	}
	return c
}

// draws are numbers that follow from a seed (splitmix64).
type draws struct{ state uint64 }

func (d *draws) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	x := d.state
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// upTo is a number from 0 to n.
func (d *draws) upTo(n int) int { return int(d.next() % uint64(n+1)) }

func (d *draws) chance(percent int) bool { return d.upTo(99) < percent }

func (d *draws) one(words ...string) string { return words[d.upTo(len(words)-1)] }

func (d *draws) span(spans ...time.Duration) time.Duration { return spans[d.upTo(len(spans)-1)] }

func (d *draws) world() World {
	w := Plain()
	if d.chance(20) {
		w.Controller = "ECS"
	}
	w.Tasks = 1 + d.upTo(5)
	w.Subnets = subnets(1 + d.upTo(2))
	for _, g := range []*Group{&w.Primary, &w.Canary} {
		g.Interval = 5 * time.Second
		g.Drain = 20 * time.Second
	}
	interval, drain, healthy := d.span(5*time.Second, 5*time.Second, 10*time.Second, 30*time.Second), d.span(5*time.Second, 20*time.Second, 60*time.Second), 2+d.upTo(3)
	for _, g := range []*Group{&w.Primary, &w.Canary} {
		g.Interval, g.Drain, g.Healthy = interval, drain, healthy
	}
	if w.Controller == "EXTERNAL" {
		d.rules(&w)
	}
	if d.chance(30) {
		w.Nodes = 9 * time.Second
	}
	w.Others = d.chance(50)
	return w
}

func (d *draws) rules(w *World) {
	if d.chance(30) {
		w.spread(2 + d.upTo(1))
	}
	r := &w.Listeners[0].Rules[0]
	r.Primary = []int{100, 100, 100, 1, 50}[d.upTo(4)]
	r.Alone = d.chance(15)
	if d.chance(20) {
		r.Sticky = d.span(time.Minute, time.Hour)
	}
}

func (d *draws) version() string {
	if d.chance(70) {
		return d.one("", "", "healthy-after=7s", "latency=1s", "start-delay=20s", "latency=200ms&term=5s", "healthy-after=45s", "ignores-term=true")
	}
	return d.one("healthy-after=1h&crash-after=2s&exit=3", "never-healthy=true", "noboot=true", "crash-after=40s", "unhealthy-after=30s", "healthy-after=1h&crash-after=20s&exit=137", "errors=5%", "no-secret=true")
}

func (d *draws) pipeline() (stages []string) {
	if d.chance(15) {
		return nil
	}
	add := func(format string, args ...any) { stages = append(stages, fmt.Sprintf(format, args...)) }
	if d.chance(25) { // blue/green
		add("ECS_CANARY_ROLLOUT scale=100")
		add("ECS_TRAFFIC_ROUTING canary=100")
		d.wait(add)
		add("ECS_PRIMARY_ROLLOUT keepOld=%t", d.chance(60))
		add("ECS_TRAFFIC_ROUTING primary=100")
		add("ECS_CANARY_CLEAN")
		return stages
	}
	add("ECS_CANARY_ROLLOUT scale=%d", 1+d.upTo(99))
	share := 0
	for range d.upTo(3) {
		share = min(100, share+1+d.upTo(40))
		add("ECS_TRAFFIC_ROUTING canary=%d", share)
		d.wait(add)
	}
	if share > 0 && d.chance(15) { // looked at, and taken away again before the rollout
		add("ECS_TRAFFIC_ROUTING primary=100")
		add("ECS_CANARY_CLEAN")
		if d.chance(50) {
			add("ECS_CANARY_ROLLOUT scale=%d", 1+d.upTo(99))
			add("ECS_TRAFFIC_ROUTING canary=%d", 1+d.upTo(50))
		}
	}
	add("ECS_PRIMARY_ROLLOUT keepOld=%t", d.chance(25))
	if d.chance(85) {
		add("ECS_TRAFFIC_ROUTING primary=100")
	}
	add("ECS_CANARY_CLEAN")
	return stages
}

func (d *draws) wait(add func(string, ...any)) {
	if d.chance(35) {
		add("WAIT duration=%s", d.span(10*time.Second, 3*time.Minute, 40*time.Minute))
	}
}

var operations = []string{"*:*", "ecs:*", "ecs:CreateTaskSet", "ecs:UpdateTaskSet", "ecs:DeleteTaskSet", "ecs:UpdateServicePrimaryTaskSet", "ecs:RegisterTaskDefinition",
	"ecs:UpdateService", "ecs:TagResource", "ecs:UntagResource", "ecs:DescribeServices", "elasticloadbalancing:*", "elasticloadbalancing:ModifyListener",
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

func (d *draws) hand(c Case) Hand {
	h := Hand{At: time.Duration(1+d.upTo(300)) * time.Second}
	if n := len(c.Pipeline); n > 0 && d.chance(40) {
		h = Hand{Stage: 1 + d.upTo(n-1)}
	}
	switch d.upTo(9) {
	case 0, 1, 2:
		h.Does = Rollback
	case 3:
		h.Does = Abort
	case 4:
		h.Does = Pause
	case 5:
		h.Does = EditRule + d.one(" 100 0", " 999 1")
		if c.World.Controller == "ECS" {
			h.Does = Rollback
		}
	case 6:
		h.Does = fmt.Sprintf("%s %d", Scale, 1+d.upTo(7))
	case 7:
		h.Does = DeleteService
	case 8:
		h.Does = TakeClaim
	default:
		h.Does = Second
	}
	return h
}

func (d *draws) kill() Kill {
	if d.chance(50) {
		return Kill{N: 1 + d.upTo(20), After: d.chance(50)}
	}
	return Kill{Row: true, N: 1 + d.upTo(170), After: d.chance(50)}
}
