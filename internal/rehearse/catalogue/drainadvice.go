package catalogue

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// slowRequest is the minimum request time in tests for requests that are cut off.
const slowRequest = 1500 * time.Millisecond

// minSaving is the smallest saving of a stage that is reported.
const minSaving = 15 * time.Second

// MeasureDrain returns what a shorter deregistration delay would save, or nil. It runs a good
// release under slow requests twice; the shorter delay must lose no request.
func MeasureDrain(base rehearse.Case) []string {
	shorter := max(30*time.Second, (2 * base.World.Lasts).Round(time.Second))
	if base.World.UsesNetworkBalancer() {
		shorter = max(shorter, plan.NetworkDrain)
	}
	if base.World.Primary.ARN == "" || base.World.Primary.Drain <= shorter {
		return nil
	}
	base.New, base.Old, base.Seed = "", "", 1
	base.World.Lasts = max(base.World.Lasts, slowRequest)
	other := base
	other.World.Primary.Drain, other.World.Canary.Drain = shorter, shorter
	now, then := rehearse.Run(base), rehearse.Run(other)
	was, is, saved := largestSaving(now.Stages, then.Stages)
	if now.Outcome != sluice.Succeeded || then.Outcome != now.Outcome || len(then.Violations) > 0 ||
		then.Failed > now.Failed || saved < minSaving {
		return nil
	}
	return []string{fmt.Sprintf("with deregistration delay %s, step %s takes %s and the deployment %s; with %s "+
		"they take %s and %s, and no request is lost if requests last %s",
		shape.ShortDuration(base.World.Primary.Drain), was.Stage, shape.ShortDuration(was.For),
		shape.ShortDuration(now.Took),
		shape.ShortDuration(shorter), shape.ShortDuration(is.For), shape.ShortDuration(then.Took), base.World.Lasts)}
}

// largestSaving returns the stage whose length differs the most.
func largestSaving(now, then []rehearse.StageTime) (was, is rehearse.StageTime, saved time.Duration) {
	for _, n := range now {
		i := slices.IndexFunc(then, func(t rehearse.StageTime) bool { return t.Stage == n.Stage })
		if i >= 0 && n.For-then[i].For > saved {
			was, is, saved = n, then[i], n.For-then[i].For
		}
	}
	return was, is, saved
}
