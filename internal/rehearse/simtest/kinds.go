package simtest

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// kind is a way of deploying in generated cases: how the service is created, how requests reach it,
// and who shifts traffic. A seed has exactly one.
type kind struct {
	name     string
	share    int // of a hundred seeds
	generate func(*random, *rehearse.Case)
}

// allKinds returns all kinds; their shares add up to a hundred. A new way of deploying is added
// here, see the package comment.
func allKinds() []kind {
	return []kind{
		{"task sets", 35, (*random).generateTaskSets},
		{"a task by itself", 5, (*random).generateJob},
		{"by name", 15, (*random).generateCloudMap},
		{"rolling", 15, (*random).generateRolling},
		{"a service beside", 15, (*random).generateServices},
		{"by CodeDeploy", 8, (*random).generateCodeDeploy},
		{"by ECS itself", 7, (*random).generateNative},
	}
}

// kindOf returns the kind of the n-th of a hundred seeds.
func kindOf(n int) kind {
	for _, k := range allKinds() {
		if n -= k.share; n < 0 {
			return k
		}
	}
	return allKinds()[0]
}

func kindOfSeed(seed uint64) kind { return kindOf(newRandom(seed, "kind").upTo(99)) }

func (d *random) generateTaskSets(c *rehearse.Case) {
	d.generateRules(&c.World)
	c.Pipeline = d.generatePipeline()
}

func (d *random) generateRolling(c *rehearse.Case) {
	c.World.Controller = "ECS"
	c.Breaker = d.chance(60)
}

func (d *random) generateServices(c *rehearse.Case) {
	d.generateRolling(c)
	d.generateRules(&c.World)
	c.Pipeline = withoutKeepOld(d.generatePipeline())
	c.World.HostingServices = len(c.Pipeline) == 0 || d.chance(50)
}

func (d *random) generateRules(w *shape.World) {
	if d.chance(30) {
		setRuleCount(w, 2+d.upTo(1))
	}
	r := &w.Listeners[0].Rules[0]
	r.Primary = []int{100, 100, 100, 1, 50}[d.upTo(4)]
	r.Alone = d.chance(15)
	if d.chance(20) {
		r.Sticky = d.oneDuration(time.Minute, time.Hour)
	}
}

func (d *random) generatePipeline() (stages []string) {
	if d.chance(15) {
		return nil
	}
	add := func(format string, args ...any) { stages = append(stages, fmt.Sprintf(format, args...)) }
	if d.chance(25) { // blue/green
		add("ECS_CANARY_ROLLOUT scale=100")
		add("ECS_TRAFFIC_ROUTING canary=100")
		d.addWait(add)
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
		d.addWait(add)
	}
	if share > 0 && d.chance(15) { // a canary that is deleted before the rollout
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

func (d *random) addWait(add func(string, ...any)) {
	if d.chance(35) {
		add("WAIT duration=%s", d.oneDuration(10*time.Second, 3*time.Minute, 40*time.Minute))
	}
}
