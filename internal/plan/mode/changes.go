package mode

import (
	"slices"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// findChanges returns the differences between the files and the running service. It applies the
// defaults of AWS, so an omitted default is no difference.
func findChanges(app *appfile.Application, live plan.AWSState) []plan.Change {
	all := plan.ChangesOf("task definition", compareDefinition(app, live))
	if live.Service == nil || live.ServiceStatus() == "INACTIVE" {
		all = append(all, plan.ChangesOf("service", app.Service.Members())...)
	} else {
		all = append(all, rulesOf(Of(app)).listChanges(app, live)...)
	}
	return all
}

// listServiceChanges lists the changes that UpdateService and new task sets make.
func listServiceChanges(app *appfile.Application, live plan.AWSState) []plan.Change {
	changed, _ := definition.SplitFixed(definition.CompareService(app.Service, live.Service))
	return plan.ChangesOf("service", append(changed, definition.ComparePrimarySet(app.Service, live.Service)...))
}

// warnFixed warns about members that differ from the running service and that ECS sets only when it creates a service.
func warnFixed(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	if live.Service == nil || live.ServiceStatus() == "INACTIVE" {
		return
	}
	_, fixed := definition.SplitFixed(definition.CompareService(app.Service, live.Service))
	for _, d := range fixed {
		addWarningAt(p, app.PlaceOfText(d.Want, d.Path, d.Path+"Arn"), "%s stays %s, not %s: ECS sets it only when it creates a service. Correct it in "+
			"the service definition, or leave it out", d.Path, d.Have, d.Want)
	}
}

// listChanges lists the changes of the deployment: leftovers that it removes, and the differences
// between the files and the running service.
func listChanges(p *plan.Plan, app *appfile.Application, live plan.AWSState, o Options) {
	if p.Changes = findChanges(app, live); o.Only {
		p.Changes, p.To = nil, p.From
	}
	switch {
	case p.Adopts():
		addClaimWrites(p, &p.Rollback)
		rulesOf(p.Mode()).adoptWrites(p, &p.Rollback, live)
		p.Changes = append(leftoverChanges(p, app, live, o), p.Changes...)
	case !p.Mode().HasVariants():
	case hasSync(p):
		p.Changes = append(append(p.Changes, listLeftovers(live, "none")...), weightedRules(app, live)...)
	case endsAllPrimary(p):
		p.Changes = append(p.Changes, weightedRules(app, live)...)
	}
}

// hasSync reports whether a stage removes everything except the new primary.
func hasSync(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Stages, plan.Stage.ReplacesAll)
}

// endsAllPrimary reports whether the primary has all traffic when the pipeline ends.
func endsAllPrimary(p *plan.Plan) bool {
	end := p.FinalState()
	return end.Shifted && end.Weights.Canary() == 0
}
