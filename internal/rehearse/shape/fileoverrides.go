package shape

import (
	"time"

	"github.com/sluice-ecs/sluice/internal/appfile"
)

// applyOverrides sets the values that the application file gives for the world.
func (w *World) applyOverrides(r *appfile.Rehearsal) {
	if r == nil {
		return
	}
	setIfGiven(r.Tasks, &w.Tasks)
	if r.Zones != nil {
		w.Subnets = SubnetIDs(*r.Zones)
	}
	setIfGiven(r.Start, &w.Start)
	setIfGiven(r.Boot, &w.Boot)
	setIfGiven(r.Stop, &w.Stop)
	if w.UsesCloudMap() {
		setIfGiven(r.TTL, &w.TTL)
	}
	setIfGiven(r.Propagation, &w.Nodes)
	setIfGiven(r.Rate, &w.Rate)
	setIfGiven(r.Duration, &w.Lasts)
	setIfGiven(r.MinTasks, &w.Scaling.Min)
	setIfGiven(r.MaxTasks, &w.Scaling.Max)
	for _, g := range w.allGroups() {
		g.applyOverrides(r)
	}
}

func (g *Group) applyOverrides(r *appfile.Rehearsal) {
	setIfGiven(r.Interval, &g.Interval)
	setIfGiven(r.Timeout, &g.Timeout)
	if r.Timeout == nil && g.Timeout >= g.Interval {
		g.Timeout = g.Interval - time.Second // AWS requires a shorter timeout
	}
	if r.Check != "" {
		g.TCP = r.Check == "TCP"
	}
	setIfGiven(r.Healthy, &g.Healthy)
	setIfGiven(r.Unhealthy, &g.Unhealthy)
	setIfGiven(r.Drain, &g.Drain)
}

// setIfGiven sets a value if the file gives it.
func setIfGiven[T any](said *T, to *T) {
	if said != nil {
		*to = *said
	}
}
