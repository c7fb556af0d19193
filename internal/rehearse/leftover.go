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
	canaryRulePriority = 1
	leftoverImage      = "sim/rehearsal:left"
	leftoverID         = plan.IDPrefix + "earlier/canary/task set"
	otherToolID        = "another-tool/1"
	leftoverFamily     = "others" // not counted as a revision of the service
)

// shiftsWeights reports whether the case shifts weights between the two target groups.
func (c Case) shiftsWeights() bool {
	return !c.World.usesCloudMap() && (c.World.Controller == "EXTERNAL" || c.hasCanaryService()) &&
		c.World.Canary.ARN != ""
}

// hasOnlyCommands reports whether people only give commands to sluice.
func (c Case) hasOnlyCommands() bool {
	return !slices.ContainsFunc(c.Interventions, func(h Intervention) bool {
		return h.Does != Rollback &&
			h.Does != Abort && h.Does != Pause
	})
}

// buildLeftovers creates the resources next to the service and waits until they are healthy.
func (f *rehearsal) buildLeftovers() {
	if !f.World.LeftoverCanary && !f.World.OtherToolSet {
		return
	}
	w := f.World
	network := map[string]any{"awsvpcConfiguration": map[string]any{"subnets": w.Subnets}}
	f.callECS("RegisterTaskDefinition", map[string]any{"family": leftoverFamily, "networkMode": "awsvpc",
		"requiresCompatibilities": []string{"FARGATE"}, "cpu": "256", "memory": "512",
		"containerDefinitions": []any{map[string]any{"name": "web", "image": leftoverImage,
			"portMappings": []any{map[string]any{"containerPort": w.Port}}}}})
	group := []any{map[string]any{"targetGroupArn": w.Canary.ARN, "containerName": "web", "containerPort": w.Port}}
	set := func(by string, groups []any) {
		f.callECS("CreateTaskSet", map[string]any{"cluster": w.Cluster, "service": w.Service,
			"taskDefinition": leftoverFamily, "externalId": by, "launchType": "FARGATE",
			"networkConfiguration": network, "scale": map[string]any{"unit": "PERCENT", "value": 50},
			"loadBalancers": groups})
	}
	switch {
	case w.LeftoverCanary && w.Controller == "EXTERNAL":
		set(leftoverID, group)
	case w.LeftoverCanary:
		f.callECS("CreateService", map[string]any{"cluster": w.Cluster,
			"serviceName": plan.CanaryServiceName(w.Service), "taskDefinition": leftoverFamily, "desiredCount": 1,
			"launchType":           "FARGATE",
			"networkConfiguration": network, "loadBalancers": group,
			"tags": []any{map[string]any{"key": plan.CanaryTag, "value": leftoverID}}})
	}
	if w.OtherToolSet {
		set(otherToolID, nil)
	}
	f.sleep(5 * time.Minute)
	f.inWorld(func(tx *world.Tx) { // the first call on them may be refused before they change
		if s := f.findService(tx); s != nil {
			for _, ts := range s.TaskSets {
				f.checkUnique(ts)
			}
		}
	})
}

// countOtherToolSets returns how many task sets of another tool the service has.
func (f *rehearsal) countOtherToolSets(s *world.Service) (n int) {
	for _, ts := range s.TaskSets {
		if ts.ExternalID == otherToolID {
			n++
		}
	}
	return n
}

// otherToolSetsText returns the task sets of another tool. Sluice must not change them.
func (f *rehearsal) otherToolSetsText(tx *world.Tx) string {
	var b strings.Builder
	if s := f.findService(tx); s != nil {
		for _, ts := range s.TaskSets {
			if ts.ExternalID == otherToolID {
				fmt.Fprintf(&b, "%s %s %g%%\n", ts.ID, ts.Status, ts.Scale)
			}
		}
	}
	return b.String()
}

// checkNoLeftoverTraffic checks that a leftover canary gets no request of the next deployment.
func (f *rehearsal) checkNoLeftoverTraffic() {
	for _, r := range f.callerReports() {
		if n := r.AnsweredBy("left"); n > 0 {
			f.addViolation("P1", "%.1f requests were answered by the leftover canary of an earlier deployment", n)
		}
	}
}
