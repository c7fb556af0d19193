package discovered

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// countSurplus counts how many tasks ECS may still stop because fewer are desired, by what started
// them: a task set or a deployment. AWS does not report which tasks it chooses.
func countSurplus(ctx context.Context, d *traffic, live *ecs.ServiceState,
	every map[sluice.Variant][]ecs.Task) (map[string]int, error) {
	all := surplusOf(live, every[sluice.Primary])
	if live.Controller == "EXTERNAL" {
		for id, n := range surplusOf(live, every[sluice.Canary]) {
			all[id] = n
		}
		return all, nil
	}
	if len(every[sluice.Canary]) == 0 {
		return all, nil
	}
	canary, err := d.step.Hosting.FindVariantIn(ctx, live, sluice.Canary)
	if err != nil || canary == nil {
		return all, err
	}
	for _, t := range every[sluice.Canary] {
		all[t.StartedBy] = max(0, len(every[sluice.Canary])-canary.Desired)
	}
	return all, nil
}

// surplusOf is countSurplus for the tasks of one service.
func surplusOf(live *ecs.ServiceState, tasks []ecs.Task) map[string]int {
	listed, running, all := map[string]int{}, 0, map[string]int{}
	for _, t := range tasks {
		listed[t.StartedBy]++
		if t.Status == "RUNNING" {
			running++
		}
	}
	newest, _ := live.PrimaryDeployment()
	for id, n := range listed {
		set := live.TaskSet(id)
		switch {
		case set != nil:
			all[id] = max(0, n-min(set.Desired, scaledCount(live.Desired, set.Scale)))
		case live.Controller == "EXTERNAL":
		case id == newest:
			all[id] = max(0, n-live.Desired)
		default: // ECS stops tasks of an earlier deployment as new tasks run in their place
			all[id] = min(n, max(0, running-live.Desired))
		}
	}
	return all
}

// scaledCount returns how many tasks a scale in percent gives of the desired count, rounded up (ECS
// API Reference, "Scale").
func scaledCount(desired int, percent float64) int {
	n := int(float64(desired) * percent / 100)
	if float64(n) < float64(desired)*percent/100 {
		n++
	}
	return n
}
