package mode

import (
	"slices"
	"strings"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// RecordTags returns the application with the record of the tags of its definitions, so that comparisons show the tags
// that an earlier file set and this one does not have. Files of PipeCD have no record: piped knows
// their earlier commits. A standalone task has none.
func RecordTags(app *appfile.Application) *appfile.Application {
	if !resetsLeftOut(app.Format) || app.Service == nil || app.Task == nil {
		return app
	}
	a := *app
	a.Service = a.Service.WithTagRecord()
	if app.Registered == "" { // otherwise the revision is not registered from the files
		a.Task = a.Task.WithTagRecord()
	}
	return &a
}

// withTagRecords returns the application with the records of its tags that the deployment writes: no record if there
// are no tags, and AWS has none. The record of the service has the tags of an earlier file until a success removes them.
func withTagRecords(app *appfile.Application, live plan.AWSState) *appfile.Application {
	recorded := RecordTags(app)
	if recorded == app {
		return app
	}
	a := *app
	if len(app.Task.Input.Tags) > 0 || definition.HasTagRecord(live.DefinitionTags) {
		a.Task = recorded.Task
	}
	var have []ecstypes.Tag
	if live.ServiceStatus() == "ACTIVE" {
		have = live.Service.Tags
	}
	if len(app.Service.Input.Tags) > 0 || definition.HasTagRecord(have) {
		a.Service = app.Service.WithTagRecord(recorded.Service.DroppedTags(have)...)
	}
	return &a
}

// withKeptTags returns the application with the tags of the serving revision that its task definition does not have and
// no earlier file set: a new revision would lose them. Others may have added them, for cost allocation.
func withKeptTags(app *appfile.Application, live plan.AWSState) *appfile.Application {
	if live.Identical != "" || live.Definition == nil {
		return app
	}
	task, keys := app.Task.WithOtherTags(live.DefinitionTags)
	if len(keys) == 0 {
		return app
	}
	a := *app
	a.Task = task
	a.Notes = append(slices.Clone(app.Notes), "the new task definition keeps tags of "+live.ServingRevision()+
		" that the file does not have: "+strings.Join(keys, ", ")+". To remove one, use aws ecs untag-resource")
	return &a
}

// planTags plans the removal of tags of the service that an earlier file set, after a success. A note of a deployment
// names those that stay.
func planTags(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	if live.ServiceStatus() != "ACTIVE" || !resetsLeftOut(app.Format) {
		return
	}
	have := live.Service.Tags
	if p.DropTags = app.Service.DroppedTags(have); len(p.DropTags) > 0 {
		write := sluice.Write{Operation: "ecs:TagResource", Resource: p.ServiceResource()}
		if !slices.Contains(p.Finish, write) {
			p.Finish = append([]sluice.Write{write}, p.Finish...)
		}
	}
	if others := app.Service.OtherTags(have); len(others) > 0 && len(p.Changes) > 0 {
		p.Notes = append(p.Notes, "the service keeps tags that the file does not have: "+strings.Join(others, ", ")+
			". To remove one, use aws ecs untag-resource")
	}
}
