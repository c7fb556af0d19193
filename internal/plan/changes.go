package plan

import (
	"fmt"
	"strconv"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// changes are the differences between the files and what runs, with AWS's
// defaults known, so that no change shows as none.
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
	if controllerOf(app) == controllerCodeDeploy {
		return all
	}
	return append(all, leftovers(app, live)...)
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

// leftovers are a canary that an earlier deployment left, and weights on it.
func leftovers(app *appfile.Application, live Live) []Change {
	all := besideLeft(live)
	for _, ts := range live.TaskSets {
		if Ours(ts.ExternalID) && ts.Status == "ACTIVE" {
			all = append(all, Change{Of: "task sets", Path: ts.ID, Have: fmt.Sprintf("%s of %s, %d running", ts.Status, ts.Revision, ts.Running), Want: "none"})
		}
	}
	if app.Canary == nil || HostingOf(app) == "" {
		return all
	}
	for _, r := range live.Steered {
		if w, _ := r.Weight(app.Canary.ARN); w > 0 {
			all = append(all, Change{Of: "traffic", Path: ruleName(r), Have: "canary weight " + strconv.Itoa(w), Want: "canary weight 0"})
		}
	}
	return all
}
