package rehearse

import (
	"time"

	"github.com/sluice-ecs/sluice/internal/appfile"
)

// applyOverrides sets the values that the application file gives for the world.
func (w *World) say(r *appfile.Rehearsal) {
	if r == nil {
		return
	}
	put(r.Tasks, &w.Tasks)
	if r.Zones != nil {
		w.Subnets = subnets(*r.Zones)
	}
	put(r.Start, &w.Start)
	put(r.Boot, &w.Boot)
	put(r.Stop, &w.Stop)
	if w.byName() {
		put(r.TTL, &w.TTL)
	}
	put(r.Propagation, &w.Nodes)
	put(r.Rate, &w.Rate)
	put(r.Duration, &w.Lasts)
	put(r.MinTasks, &w.Scaling.Min)
	put(r.MaxTasks, &w.Scaling.Max)
	for _, g := range []*Group{&w.Primary, &w.Canary} {
		if g.ARN != "" {
			g.say(r)
		}
	}
}

func (g *Group) say(r *appfile.Rehearsal) {
	put(r.Interval, &g.Interval)
	put(r.Timeout, &g.Timeout)
	if r.Timeout == nil && g.Timeout >= g.Interval {
		g.Timeout = g.Interval - time.Second // AWS requires a shorter timeout
	}
	put(r.Healthy, &g.Healthy)
	put(r.Unhealthy, &g.Unhealthy)
	put(r.Drain, &g.Drain)
}

// setIfGiven sets a value if the file gives it.
func put[T any](said *T, to *T) {
	if said != nil {
		*to = *said
	}
}
