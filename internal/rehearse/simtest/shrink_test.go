package simtest

import (
	"testing"

	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// A case of which everything may go ends as the plain one with a single task.
func TestShrinkEnds(t *testing.T) {
	tried := 0
	small := Shrink(Generate(7), func(rehearse.Case) string {
		if tried++; tried > 10_000 {
			t.Fatal("it goes on for ever")
		}
		return "P1"
	})
	if len(small.Faults)+len(small.Kills)+len(small.Interventions) > 0 || small.World.Tasks != 1 {
		t.Errorf("left over:\n%s", Format(small))
	}
}
