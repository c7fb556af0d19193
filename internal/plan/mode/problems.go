package mode

import (
	"cmp"
	"errors"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// refuseProblems rejects a deployment that AWS would refuse after the first write.
func refuseProblems(live plan.AWSState) error {
	var all []error
	for _, x := range live.Problems {
		if x.Level == plan.Refuses {
			all = append(all, appfile.LocateAt(x.Place, &sluice.Error{Op: "plan", Resource: x.Resource, Kind: sluice.Conflict,
				Err: errors.New(x.Text), Next: x.Next}))
		}
	}
	return errors.Join(all...)
}

// withoutPipeline returns the problems of a deployment that does not use the pipeline.
func withoutPipeline(all []plan.Problem) []plan.Problem {
	return slices.DeleteFunc(slices.Clone(all), func(x plan.Problem) bool { return x.IsOfPipeline })
}

// warnProblems adds the other problems: warnings, and notes for what could not be checked.
func warnProblems(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	for _, x := range live.Problems {
		if x.Level == plan.Unread {
			p.Notes = append(p.Notes, "not checked: "+x.Resource+": "+x.Text)
			continue
		}
		if x.Level == plan.Moved && p.Deploys() {
			x.Next = "name the image by its digest to choose one: new tasks run the one that the tag names now, and a rollback " +
				"may too"
		}
		text := x.Resource + ": " + x.Text
		if x.Next != "" {
			text += ". Next: " + x.Next
		}
		addWarningAt(p, cmp.Or(x.Place, app.PlaceOf(x.Resource)), "%s", text)
		if x.Level == plan.Moved {
			p.MovedTags = append(p.MovedTags, text)
		}
	}
}
