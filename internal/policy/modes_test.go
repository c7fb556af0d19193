package policy

import (
	"slices"
	"testing"

	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode/modetest"
)

// The policy knows the reads and the writes of every mode with every access type.
func TestEveryModeHasAPolicy(t *testing.T) {
	for _, m := range plan.Modes() {
		if modeReads[m] == nil {
			t.Errorf("mode %q has no reads in modeReads", m)
		}
	}
	for _, a := range plan.AccessTypes() {
		if accessReads[a] == nil {
			t.Errorf("access type %q has no reads in accessReads", a)
		}
	}
	modetest.Each(t, func(t *testing.T, s modetest.Sample) {
		p := s.Plan(t)
		d, err := ForPlan(p, s.Live)
		if err != nil {
			t.Fatal(err)
		}
		allowed := actionsOf(d)
		for _, stage := range append(slices.Clone(p.Stages), p.Rollback) {
			for _, w := range stage.Writes {
				if !slices.Contains(allowed, w.Operation) {
					t.Errorf("stage %s may not call %s", stage.Name, w.Operation)
				}
			}
		}
	})
}
