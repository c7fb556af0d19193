package simtest

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// Generate returns the case of a seed: a world, a valid pipeline, a good or bad version, and
// faults. [allKinds] and [allFeatures] list what a case may have.
func Generate(seed uint64) rehearse.Case {
	c := rehearse.Case{Seed: seed, World: PlainWorld()}
	newRandom(seed, "world").generateWorld(&c.World)
	k := kindOfSeed(seed)
	k.generate(newRandom(seed, k.name), &c)
	for _, f := range allFeatures() {
		d := newRandom(seed, f.name)
		if (f.appliesTo == nil || f.appliesTo(c)) && d.chance(f.percent) {
			f.apply(d, &c)
		}
	}
	return c
}

// random generates numbers from a seed (splitmix64).
type random struct{ state uint64 }

// newRandom returns the random numbers of one purpose. They do not depend on those of other
// purposes, so a new feature changes no other feature of a seed.
func newRandom(seed uint64, purpose string) *random {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", seed, purpose)
	return &random{(&random{h.Sum64()}).nextUint()}
}

func (d *random) nextUint() uint64 {
	d.state += 0x9e3779b97f4a7c15
	x := d.state
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// upTo returns a number from 0 to n.
func (d *random) upTo(n int) int { return int(d.nextUint() % uint64(n+1)) }

func (d *random) chance(percent int) bool { return d.upTo(99) < percent }

func (d *random) oneOf(words ...string) string { return words[d.upTo(len(words)-1)] }

func (d *random) oneDuration(spans ...time.Duration) time.Duration {
	return spans[d.upTo(len(spans)-1)]
}

// generateWorld generates what every kind has.
func (d *random) generateWorld(w *shape.World) {
	w.Tasks = 1 + d.upTo(5)
	w.Subnets = shape.SubnetIDs(1 + d.upTo(2))
	interval, drain, healthy := d.oneDuration(5*time.Second, 5*time.Second, 10*time.Second, 30*time.Second),
		d.oneDuration(5*time.Second, 20*time.Second, 60*time.Second), 2+d.upTo(3)
	for _, g := range []*shape.Group{&w.Primary, &w.Canary} {
		g.Interval, g.Drain, g.Healthy = interval, drain, healthy
	}
}

func (d *random) versionOptions() string {
	if d.chance(70) {
		return d.oneOf("", "", "healthy-after=7s", "latency=1s", "start-delay=20s", "latency=200ms&term=5s",
			"healthy-after=45s", "ignores-term=true")
	}
	return d.oneOf("healthy-after=1h&crash-after=2s&exit=3", "never-healthy=true", "noboot=true", "crash-after=40s",
		"unhealthy-after=30s", "healthy-after=1h&crash-after=20s&exit=137", "errors=5%", "no-secret=true")
}

// addRollbackAfterWrite adds a person who requests a rollback shortly after a write, most often
// while AWS's answers are still stale.
func (d *random) addRollbackAfterWrite(c *rehearse.Case) {
	c.Interventions = append(
		c.Interventions,
		rehearse.Intervention{
			Write: 1 + d.upTo(11),
			At:    time.Duration(d.upTo(12)) * time.Second,
			Does:  rehearse.Rollback,
		},
	)
	if d.chance(60) {
		c.Faults = append(c.Faults, fmt.Sprintf("stale %s by=%ds p=0.5", d.oneOf("ecs:*", "ecs:DescribeServices"),
			1+d.upTo(13)))
	}
}
