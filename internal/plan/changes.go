package plan

import (
	"slices"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// findChanges returns the differences between the files and the running service. It applies the
// defaults of AWS, so an omitted default is no difference.
func changes(app *appfile.Application, live Live) []Change {
	var all []Change
	if live.Definition == nil {
		all = append(all, Change{Of: "task definition", Path: "family", Have: "nothing runs", Want: *app.Task.Input.Family})
	} else {
		all = appendDifferences(all, "task definition", definition.CompareTask(app.Task, live.Definition))
	}
	if live.Service == nil || live.status() == "INACTIVE" {
		all = append(all, Change{Of: "service", Path: "serviceName", Have: "does not exist", Want: *app.Service.Input.ServiceName})
	} else if controllerOf(app) == controllerCodeDeploy {
		all = appendDifferences(all, "service", definition.CompareBlueGreen(app.Service, live.Service))
	} else {
		all = appendDifferences(all, "service", definition.CompareService(app.Service, live.Service))
		all = appendDifferences(all, "service", taskSetDifferences(app, live))
	}
	return all
}

func taskSetDifferences(app *appfile.Application, live Live) []definition.Difference {
	for i := range live.Service.TaskSets {
		ts := &live.Service.TaskSets[i]
		if ts.Status != nil && *ts.Status == "PRIMARY" {
			return definition.CompareTaskSet(app.Service, ts)
		}
	}
	return nil
}

func appendDifferences(all []Change, of string, diffs []definition.Difference) []Change {
	for _, d := range diffs {
		all = append(all, Change{Of: of, Path: d.Path, Have: d.Have, Want: d.Want})
	}
	return all
}

// listChanges lists the changes of the deployment: leftovers that it removes, and the differences
// between the files and the running service.
func (p *Plan) changed(app *appfile.Application, live Live, o Options) {
	if p.Changes = changes(app, live); o.Only {
		p.Changes, p.To = nil, p.From
	}
	switch {
	case p.Adopts():
		p.adopt(&p.Rollback, live)
		p.Changes = append(p.left(app, live, o), p.Changes...)
	case p.ByCodeDeploy(), p.Hosting == "":
	case p.syncs():
		p.Changes = append(append(p.Changes, leftOf(live, "none")...), weighted(app, live)...)
	case p.takesAllBack():
		p.Changes = append(p.Changes, weighted(app, live)...)
	}
}

// hasSync reports whether a stage removes everything except the new primary.
func (p *Plan) syncs() bool {
	return slices.ContainsFunc(p.Stages, func(s Stage) bool { return s.Name == appfile.StageSync })
}

// endsAllPrimary reports whether the primary has all traffic when the pipeline ends.
func (p *Plan) takesAllBack() bool {
	all := false
	for _, s := range p.Stages {
		switch {
		case s.Weights != nil:
			all = s.Weights.Canary() == 0
		case s.Name == appfile.StageCanaryClean:
			all = true
		}
	}
	return all
}
