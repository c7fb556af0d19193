package piped

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

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
	add("task definition", definition.CompareTaskFiles(target.Task, running.Task)...)
	switch a, b := running.Service, target.Service; {
	case a == nil && b == nil:
	case a == nil || b == nil:
		add("service", definition.Difference{Path: "serviceName", Have: serviceNameOf(a), Want: serviceNameOf(b)})
	default:
		add("service", definition.CompareServiceFiles(b, a)...)
	}
	add("target group", compareGroups("primary", running.Primary, target.Primary)...)
	add("target group", compareGroups("canary", running.Canary, target.Canary)...)
	return uniqueChanges(all)
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
