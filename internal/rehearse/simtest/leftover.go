package simtest

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// Resources next to a service before its deployment: a canary that an earlier deployment left over,
// a task set of another tool, a rule that sends all its requests to the canary group.

const (
	leftoverImage  = "sim/rehearsal:left"
	leftoverID     = plan.IDPrefix + "earlier/canary/task set"
	leftoverFamily = "others" // not counted as a revision of the service
)

// shiftsWeights reports whether the case shifts weights between the two target groups.
func shiftsWeights(c rehearse.Case) bool {
	return !c.World.UsesCloudMap() && (c.World.Controller == "EXTERNAL" || c.HasCanaryService()) &&
		c.World.Canary.ARN != ""
}

// hasOnlyCommands reports whether people only give commands to sluice.
func hasOnlyCommands(c rehearse.Case) bool {
	return !slices.ContainsFunc(c.Interventions, func(h rehearse.Intervention) bool {
		return h.Does != rehearse.Rollback &&
			h.Does != rehearse.Abort && h.Does != rehearse.Pause
	})
}

// addLeftovers creates the resources next to the service and waits until they are healthy.
func (f *simulation) addLeftovers() {
	if !f.env.Case.World.LeftoverCanary && !f.env.Case.World.OtherToolSet {
		return
	}
	w := f.env.Case.World
	network := map[string]any{"awsvpcConfiguration": map[string]any{"subnets": w.Subnets}}
	f.env.CallECS("RegisterTaskDefinition", map[string]any{"family": leftoverFamily, "networkMode": "awsvpc",
		"requiresCompatibilities": []string{"FARGATE"}, "cpu": "256", "memory": "512",
		"containerDefinitions": []any{map[string]any{"name": "web", "image": leftoverImage,
			"portMappings": []any{map[string]any{"containerPort": w.Port}}}}})
	group := []any{map[string]any{"targetGroupArn": w.Canary.ARN, "containerName": "web", "containerPort": w.Port}}
	set := func(by string, groups []any) {
		f.env.CallECS("CreateTaskSet", map[string]any{"cluster": w.Cluster, "service": w.Service,
			"taskDefinition": leftoverFamily, "externalId": by, "launchType": "FARGATE",
			"networkConfiguration": network, "scale": map[string]any{"unit": "PERCENT", "value": 50},
			"loadBalancers": groups})
	}
	switch {
	case w.LeftoverCanary && w.Controller == "EXTERNAL":
		set(leftoverID, group)
	case w.LeftoverCanary:
		f.env.CallECS("CreateService", map[string]any{"cluster": w.Cluster,
			"serviceName": plan.CanaryServiceName(w.Service), "taskDefinition": leftoverFamily, "desiredCount": 1,
			"launchType":           "FARGATE",
			"networkConfiguration": network, "loadBalancers": group,
			"tags": []any{map[string]any{"key": plan.CanaryTag, "value": leftoverID}}})
	}
	if w.OtherToolSet {
		set(rehearse.OtherToolID, nil)
	}
	f.env.Sleep(5 * time.Minute)
}
