package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Resources next to a service before its deployment: a canary that an earlier deployment left over,
// a task set of another tool, a rule that sends all its requests to the canary group.

const (
	markedPriority = 1
	leftImage      = "sim/rehearsal:left"
	leftBy         = plan.IDPrefix + "earlier/canary/task set"
	strangeBy      = "another-tool/1"
	leftFamily     = "others" // not counted as a revision of the service
)

// shiftsWeights reports whether the case shifts weights between the two target groups.
func (c Case) steersGroups() bool {
	return !c.World.byName() && (c.World.Controller == "EXTERNAL" || c.hostsBeside()) && c.World.Canary.ARN != ""
}

// hasOnlyCommands reports whether people only give commands to sluice.
func (c Case) onlyCommands() bool {
	return !slices.ContainsFunc(c.Hands, func(h Hand) bool { return h.Does != Rollback && h.Does != Abort && h.Does != Pause })
}

// buildLeftovers creates the resources next to the service and waits until they are healthy.
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
	f.inWorld(func(tx *world.Tx) { // the first call on them may be refused before they change
		if s := f.service(tx); s != nil {
			for _, ts := range s.TaskSets {
				f.unique(ts)
			}
		}
	})
}

// countOtherToolSets returns how many task sets of another tool the service has.
func (f *field) strangers(s *world.Service) (n int) {
	for _, ts := range s.TaskSets {
		if ts.ExternalID == strangeBy {
			n++
		}
	}
	return n
}

// otherToolSetsText returns the task sets of another tool. Sluice must not change them.
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

// checkNoLeftoverTraffic checks that a leftover canary gets no request of the next deployment.
func (f *field) neverLeft() {
	for _, r := range f.reports() {
		if n := r.Version("left"); n > 0 {
			f.violate("P1", "%.1f requests were answered by a canary that an earlier deployment left", n)
		}
	}
}
