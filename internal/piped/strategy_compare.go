package piped

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// compareApplications returns the differences between the files of two commits that matter to AWS.
// AWS's defaults are known, so an explicit default is no difference.
func compareApplications(running, target *appfile.Application) []plan.Change {
	all := plan.ChangesOf("task definition", definition.CompareTaskFiles(target.Task, running.Task))
	switch a, b := running.Service, target.Service; {
	case a == nil && b == nil:
	case a == nil || b == nil:
		all = append(all, plan.Change{Of: "service", Path: "serviceName", Have: serviceNameOf(a), Want: serviceNameOf(b),
			Kind: plan.Alters})
	default:
		all = append(all, plan.ChangesOf("service", definition.CompareServiceFiles(b, a))...)
	}
	all = append(all, compareGroups("primary", running.Primary, target.Primary)...)
	return uniqueChanges(append(all, compareGroups("canary", running.Canary, target.Canary)...))
}

func uniqueChanges(all []plan.Change) []plan.Change {
	var out []plan.Change
	for _, c := range all {
		if !slices.ContainsFunc(out, func(x plan.Change) bool { return x.Of == c.Of && x.Path == c.Path }) {
			out = append(out, c)
		}
	}
	return out
}

func compareGroups(side string, a, b *appfile.TargetGroup) []plan.Change {
	if text, other := groupText(a), groupText(b); text != other {
		return []plan.Change{{Of: "target group", Path: side, Have: text, Want: other, Kind: plan.Alters}}
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
