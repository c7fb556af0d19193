package show

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/plan"
)

func changesOfAllKinds() []plan.Change {
	return []plan.Change{
		{Of: "service", Path: "networkMode", Have: "none", Want: "host", Kind: plan.Alters},
		{Of: "service", Path: "tags[team]", Have: "none", Want: "{key: team, value: shop}", Kind: plan.Adds},
		{Of: "service", Path: "role", Have: "deploy", Want: "none", Kind: plan.Removes},
		{Of: "task sets", Path: "ecs-svc/1", Have: "of web:1", Want: "none", Kind: plan.Removes},
		{Of: "task sets", Path: strings.Repeat("p", 50), Have: "a former value", Want: "another value",
			Kind: plan.Alters},
	}
}

// Each change has its sign, and the color of the sign if colors are on.
func TestChangesHaveSigns(t *testing.T) {
	for paint, want := range map[Paint]string{
		{}: "  service\n    ~ networkMode: none -> host\n    + tags[team]: {key: team, value: shop}\n" +
			"    - role: deploy\n  task sets\n    - ecs-svc/1: of web:1\n    ~ " + strings.Repeat("p", 50) +
			"\n        have  a former value\n        want  another value\n",
		{on: true}: "[32m+",
	} {
		var b bytes.Buffer
		planView{paint}.writeChanges(&b, &plan.Plan{Changes: changesOfAllKinds()})
		if !strings.Contains(b.String(), want) || strings.Contains(b.String(), "[32m") != paint.on {
			t.Errorf("got\n%q\nwithout\n%q", b.String(), want)
		}
	}
}

// The summary counts the members of a new object and lists those of an existing one.
func TestSummaryCountsManyAddedMembers(t *testing.T) {
	p := &plan.Plan{Changes: changesOfAllKinds()}
	for range maxAdded {
		p.Changes = append(p.Changes, plan.Change{Of: "service", Path: "x", Want: "y", Kind: plan.Adds})
	}
	var b bytes.Buffer
	Changes(&b, Paint{}, p)
	if got := b.String(); strings.Count(got, "+") != 1 ||
		!strings.Contains(got, "  + service: 6 members (sluice plan lists them)\n") ||
		!strings.Contains(got, "  ~ service networkMode: none -> host\n") {
		t.Errorf("got\n%s", got)
	}
}
