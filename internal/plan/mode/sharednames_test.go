package mode

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/plan"
)

// Other services under the name are told of: no share counts them.
func TestOtherServicesUnderTheName(t *testing.T) {
	edits := []string{steersName, awsvpc, registered, ungrouped}
	for want, others := range map[string][]string{
		"1 other service also registered under web.shop.local (prod/shop): their tasks get": {"prod/shop"},
		"2 other services also registered under web.shop.local (other/web, prod/shop): their tasks get": {"other/web",
			"prod/shop"},
	} {
		p, err := Make(app(t, threeSteps, edits...), foundLive(func(l *plan.AWSState) { l.Neighbours = others }),
			Options{})
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(p.Warnings, "\n"); !strings.Contains(all, want) ||
			!strings.Contains(all, "shares count only tasks of web") {
			t.Errorf("no warning says %q:\n%s", want, all)
		}
	}
}

// How long callers keep what DiscoverInstances told them is theirs: no time is
// named, and none is 0.
func TestWithoutDNSNoTimeIsNamed(t *testing.T) {
	onECS := func(l *plan.AWSState) {
		l.Service.DeploymentController.Type, l.TaskSets = "ECS", nil
	}
	for kind, want := range map[string]string{
		"HTTP":        "continues to serve for as long as callers cache the result, after SIGTERM",
		"DNS_PRIVATE": "continues to serve for 1m10s after SIGTERM",
	} {
		p, err := Make(app(t, threeSteps, steersName, awsvpc, registered, ungrouped, "EXTERNAL|ECS"),
			foundLive(onECS, func(l *plan.AWSState) { l.Registry.Kind = kind }), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(p.Warnings, "\n"); !strings.Contains(all, want) {
			t.Errorf("no warning says %q:\n%s", want, all)
		}
	}
}
