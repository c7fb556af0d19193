package piped

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// compareApplications returns the differences between the files of two commits that matter to AWS.
// AWS's defaults are known, so an explicit default is no difference.
func compareApplications(running, target *appfile.Application) []fileChange {
	var all []fileChange
	add := func(of string, diffs ...definition.Difference) {
		for _, d := range diffs {
			all = append(all, fileChange{of, d})
		}
	}
	add("task definition", definition.CompareTask(target.Task, asTask(running.Task))...)
	if a, b := aws.ToString(running.Task.Input.Family), aws.ToString(target.Task.Input.Family); a != b {
		add("task definition", definition.Difference{Path: "family", Have: a, Want: b})
	}
	switch a, b := running.Service, target.Service; {
	case a == nil && b == nil:
	case a == nil || b == nil:
		add("service", definition.Difference{Path: "serviceName", Have: serviceNameOf(a), Want: serviceNameOf(b)})
	default:
		add("service", compareServices(a, b)...)
	}
	add("target group", compareGroups("primary", running.Primary, target.Primary)...)
	add("target group", compareGroups("canary", running.Canary, target.Canary)...)
	return uniqueChanges(all)
}

// compareServices compares the fields that the target sets, and those that it no longer sets.
func compareServices(running, target *definition.Service) []definition.Difference {
	diffs := append(definition.CompareService(target, asService(running)),
		definition.CompareTaskSet(target, asTaskSet(running))...)
	back := append(definition.CompareService(running, asService(target)),
		definition.CompareTaskSet(running, asTaskSet(target))...)
	for _, d := range back {
		name := d.Path
		if i := strings.IndexAny(name, ".["); i >= 0 {
			name = name[:i]
		}
		if !target.Given[name] || name == "tags" {
			diffs = append(diffs, definition.Difference{Path: d.Path, Have: d.Want, Want: "not given"})
		}
	}
	return diffs
}

func uniqueChanges(all []fileChange) []fileChange {
	var out []fileChange
	for _, c := range all {
		if !slices.ContainsFunc(out, func(x fileChange) bool { return x.subject == c.subject && x.Path == c.Path }) {
			out = append(out, c)
		}
	}
	return out
}

func compareGroups(side string, a, b *appfile.TargetGroup) []definition.Difference {
	if text, other := groupText(a), groupText(b); text != other {
		return []definition.Difference{{Path: side, Have: text, Want: other}}
	}
	return nil
}

func groupText(g *appfile.TargetGroup) string {
	if g == nil {
		return "none"
	}
	return fmt.Sprintf("%s %s:%d", g.ARN, g.Container, g.Port)
}

func serviceNameOf(s *definition.Service) string {
	if s == nil {
		return "none"
	}
	return aws.ToString(s.Input.ServiceName)
}

// asTask converts a file to AWS's response type: requests and responses have the same names. A part
// that does not fit is omitted, and so counts as a difference.
func asTask(t *definition.Task) *ecstypes.TaskDefinition {
	td := &ecstypes.TaskDefinition{}
	if data, err := t.JSON(); err == nil {
		_ = json.Unmarshal(data, td)
	}
	return td
}

func asService(s *definition.Service) *ecstypes.Service {
	live, primary := &ecstypes.Service{}, ecstypes.Deployment{}
	if data, err := s.JSON(); err == nil {
		_ = json.Unmarshal(data, live)
		_ = json.Unmarshal(data, &primary)
	}
	live.ClusterArn, live.RoleArn = s.Input.Cluster, s.Input.Role
	primary.Status = aws.String("PRIMARY")
	live.Deployments = []ecstypes.Deployment{primary}
	return live
}

func asTaskSet(s *definition.Service) *ecstypes.TaskSet {
	set := &ecstypes.TaskSet{}
	if data, err := s.JSON(); err == nil {
		_ = json.Unmarshal(data, set)
	}
	return set
}
