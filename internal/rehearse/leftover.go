package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// What stands beside a service before its deployment: a canary that an earlier
// deployment left, a task set of another tool, a rule that sends marked requests to the
// canary group.

const (
	markedPriority = 1
	leftImage      = "sim/rehearsal:left"
	leftBy         = plan.IDPrefix + "earlier/canary/task set"
	strangeBy      = "another-tool/1"
	leftFamily     = "others" // it counts as none of the service's revisions
)

// steersGroups reports whether the case moves weights of the two target groups.
func (c Case) steersGroups() bool {
	return !c.World.byName() && (c.World.Controller == "EXTERNAL" || c.hostsBeside()) && c.World.Canary.ARN != ""
}

// onlyCommands reports whether people do nothing but give commands to sluice.
func (c Case) onlyCommands() bool {
	return !slices.ContainsFunc(c.Hands, func(h Hand) bool { return h.Does != Rollback && h.Does != Abort && h.Does != Pause })
}

// layLeft makes what stands beside the service and lets it get healthy.
func (f *field) layLeft() {
	if !f.World.Left && !f.World.Strange {
		return
	}
	w := f.World
	network := map[string]any{"awsvpcConfiguration": map[string]any{"subnets": w.Subnets}}
	f.ask("RegisterTaskDefinition", map[string]any{"family": leftFamily, "networkMode": "awsvpc", "requiresCompatibilities": []string{"FARGATE"}, "cpu": "256", "memory": "512",
		"containerDefinitions": []any{map[string]any{"name": "web", "image": leftImage, "portMappings": []any{map[string]any{"containerPort": w.Port}}}}})
	group := []any{map[string]any{"targetGroupArn": w.Canary.ARN, "containerName": "web", "containerPort": w.Port}}
	set := func(by string, groups []any) {
		f.ask("CreateTaskSet", map[string]any{"cluster": w.Cluster, "service": w.Service, "taskDefinition": leftFamily, "externalId": by, "launchType": "FARGATE",
			"networkConfiguration": network, "scale": map[string]any{"unit": "PERCENT", "value": 50}, "loadBalancers": groups})
	}
	switch {
	case w.Left && w.Controller == "EXTERNAL":
		set(leftBy, group)
	case w.Left:
		f.ask("CreateService", map[string]any{"cluster": w.Cluster, "serviceName": plan.BesideName(w.Service), "taskDefinition": leftFamily, "desiredCount": 1, "launchType": "FARGATE",
			"networkConfiguration": network, "loadBalancers": group, "tags": []any{map[string]any{"key": plan.CanaryTag, "value": leftBy}}})
	}
	if w.Strange {
		set(strangeBy, nil)
	}
	f.sleep(5 * time.Minute)
	f.inWorld(func(tx *world.Tx) { // a refused first call on them comes before any change of them
		if s := f.service(tx); s != nil {
			for _, ts := range s.TaskSets {
				f.unique(ts)
			}
		}
	})
}

// strangers is how many task sets of another tool the service has.
func (f *field) strangers(s *world.Service) (n int) {
	for _, ts := range s.TaskSets {
		if ts.ExternalID == strangeBy {
			n++
		}
	}
	return n
}

// strangeSets are the task sets of another tool, as text: they are not ours to touch.
func (f *field) strangeSets(tx *world.Tx) string {
	var b strings.Builder
	if s := f.service(tx); s != nil {
		for _, ts := range s.TaskSets {
			if ts.ExternalID == strangeBy {
				fmt.Fprintf(&b, "%s %s %g%%\n", ts.ID, ts.Status, ts.Scale)
			}
		}
	}
	return b.String()
}

// neverLeft: what an earlier deployment left gets none of the requests of the next one.
func (f *field) neverLeft() {
	for _, r := range f.reports() {
		if n := r.Version("left"); n > 0 {
			f.violate("P1", "%.1f requests were answered by a canary that an earlier deployment left", n)
		}
	}
}
