package mode

import (
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// leftoverChanges returns the changes that an adoption makes.
func leftoverChanges(p *plan.Plan, app *appfile.Application, live plan.AWSState, o Options) (all []plan.Change) {
	if live.Claim != "" && o.Adopt {
		all = append(all, plan.Change{Of: plan.LeftoverKind, Path: plan.ClaimTag, Have: live.Claim,
			Want: "this deployment's", Kind: plan.Alters})
	}
	if !p.Mode().HasVariants() {
		return all
	}
	for _, c := range listLeftovers(live, "-") {
		all = append(all, leftoverChange(c))
	}
	if app.OnOtherTargets == sluice.RemoveTargets {
		for _, ts := range externalSets(live, app) {
			all = append(all, plan.Change{Of: plan.LeftoverKind, Path: "task set " + ts.ID,
				Have: fmt.Sprintf("of %s, not created by sluice, %d running", ts.Revision, ts.Running), Want: "-",
				Kind: plan.Removes})
		}
	}
	for _, c := range weightedRules(app, live) {
		all = append(all, leftoverChange(c))
	}
	return all
}

// leftoverChange returns a change of a resource as a change of the leftovers.
func leftoverChange(c plan.Change) plan.Change {
	c.Of, c.Path = plan.LeftoverKind, c.Of+" "+c.Path
	return c
}

// withAdoptStage puts a stage before the others that removes leftovers of earlier deployments. It
// does so if there are leftovers or if a user asks for it.
func (o Options) withAdoptStage(stages []appfile.Stage, app *appfile.Application, live plan.AWSState) []appfile.Stage {
	says := "clean up after a deployment whose journal is lost"
	if !o.Adopt {
		changesVariants := slices.ContainsFunc(stages, isVariantStage) && !o.keepsCanary(app, live)
		if !changesVariants && !o.Only || !rulesOf(Of(app)).hasLeftovers(app, live) {
			return stages
		}
		says = "remove leftovers of earlier deployments"
	}
	adopt := adoptStage(app, says)
	if o.Only {
		return []appfile.Stage{adopt}
	}
	return append([]appfile.Stage{adopt}, stages...)
}
