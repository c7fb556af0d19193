package cloudmap_test

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
)

// What somebody else did is told in a sentence that holds for one and for many, and
// what to do next is possible: the deployment ends of it.
func TestExternalChangesAreReported(t *testing.T) {
	r := plan.Registry{ID: "srv-1", Name: "api", Namespace: "shop.local"}
	for want, o := range map[string]cloudmap.OutsideChange{
		"1 instance of the primary registered again (a) under api.shop.local": {Registry: r,
			Returned: []string{"a"}},
		"2 instances of the canary deregistered (a, b) under api.shop.local": {Registry: r,
			MissingCanary: []string{"a", "b"}},
		"1 instance of the primary deregistered (a) under api.shop.local": {Registry: r,
			MissingPrimary: []string{"a"}},
	} {
		if o.String() != want {
			t.Errorf("%q\nwant %q", o, want)
		}
		err := o.Err()
		if !strings.Contains(err.Error(), want) || sluice.KindOf(err) != sluice.OutsideChange {
			t.Errorf("%v", err)
		}
		if next := sluice.NextStep(err); next == "" || strings.Contains(next, "resume") {
			t.Errorf("next %q", next)
		}
	}
}
