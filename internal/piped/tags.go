package piped

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Tags that PipeCD's ECS plugins put on services and task sets.
const (
	tagManagedBy   = "pipecd-dev-managed-by"
	tagPiped       = "pipecd-dev-piped"
	tagApplication = "pipecd-dev-application"
	tagCommit      = "pipecd-dev-commit-hash"
)

// managedByValues are the values of tagManagedBy: v0's and v1's. This plugin writes v1's, so the
// official plugin takes over its resources, and the other way round.
var managedByValues = []string{"piped", "piped-ecs-plugin"}

// ownTags returns the tags of the resources that a deployment creates. commit is the one that
// serves when the deployment is done.
func ownTags(d *contract.Deployment, commit string) map[string]string {
	tags := map[string]string{tagManagedBy: "piped-ecs-plugin"}
	for key, value := range map[string]string{tagPiped: d.GetPipedId(), tagApplication: d.GetApplicationId(),
		tagCommit: commit} {
		if value != "" {
			tags[key] = value
		}
	}
	return tags
}

// withDeploymentTags returns the application with more tags on its service, and so on its task
// sets; without a service, on the tasks that it runs.
func withDeploymentTags(app *appfile.Application, tags map[string]string) *appfile.Application {
	a := *app
	if app.Service == nil {
		a.Standalone.RunTask = app.Standalone.RunTask.WithTags(tags)
		return &a
	}
	a.Service = app.Service.WithTags(tags)
	return &a
}

// withLiveTags returns the application with the values that PipeCD's tags have on the service now: another commit with
// equal files is no change.
func withLiveTags(app *appfile.Application, live plan.AWSState) *appfile.Application {
	if app.Service == nil || live.Service == nil {
		return app
	}
	tags := map[string]string{}
	for _, t := range live.Service.Tags {
		if key := aws.ToString(t.Key); slices.Contains([]string{tagManagedBy, tagPiped, tagApplication, tagCommit}, key) {
			tags[key] = aws.ToString(t.Value)
		}
	}
	return withDeploymentTags(app, tags)
}

// madeByPlugin returns a function that reports whether tags are those of a resource that a PipeCD
// plugin made for the application.
func madeByPlugin(application string) func(map[string]string) bool {
	return func(tags map[string]string) bool {
		return slices.Contains(managedByValues, tags[tagManagedBy]) && application != "" &&
			tags[tagApplication] == application
	}
}

// checkOwner refuses a service that belongs to another application of PipeCD. The two would undo
// each other's changes for ever.
func checkOwner(live *ecs.ServiceState, d *contract.Deployment, service string) error {
	if live == nil || live.Status != "ACTIVE" {
		return nil
	}
	other := live.Tags[tagApplication]
	if other == "" || other == d.GetApplicationId() || !slices.Contains(managedByValues, live.Tags[tagManagedBy]) {
		return nil
	}
	return &sluice.Error{Op: "use the service", Resource: service, Kind: sluice.Overtaken,
		Err: fmt.Errorf("it belongs to another application of PipeCD: its tag %s is %s, this one is %s",
			tagApplication, other, d.GetApplicationId()),
		Next: "choose another service; or, if the other application no longer exists, remove that tag from the service"}
}

// tagWriter writes tags of the service before and after stages, through the gate.
type tagWriter struct {
	service    ecs.Service
	deployment string
	report     func(sluice.Event)
}

// writeTags makes a write of tags. It needs no claim, as the tag writes of stages do not.
func (w tagWriter) writeTags(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
	id := sluice.NewActionID(w.deployment, "tags", a.Action)
	result, err := call(account.Permit(context.WithoutCancel(ctx),
		account.Action{ID: id, Writes: []sluice.Write{a.Actual}}))
	wrote := sluice.Wrote{Action: id, Write: a.Actual, Result: result}
	if err != nil {
		err = sluice.Inner(err)
		wrote.Cause = err.Error()
	}
	w.report(wrote)
	return err
}

// removeDropped removes the tags that the running commit's file sets and the target's no longer
// sets, if they still have that value. It does not change other tags.
func (w tagWriter) removeDropped(ctx context.Context, running, target *appfile.Application) error {
	if running == nil || running.Service == nil || target.Service == nil {
		return nil
	}
	want, had := target.Service.Tags(), running.Service.Tags()
	live, err := w.service.Observe(ctx)
	if err != nil || live == nil || live.Status != "ACTIVE" {
		return err
	}
	var drop []string
	for _, key := range slices.Sorted(maps.Keys(had)) {
		_, kept := want[key]
		if now, there := live.Tags[key]; !kept && there && now == had[key] {
			drop = append(drop, key)
		}
	}
	if len(drop) == 0 {
		return nil
	}
	return w.service.Untag(ctx, w.writeTags, "remove dropped tags", live.ARN, drop...)
}

// restoreTags restores the service's tags of the commit that serves again.
func (w tagWriter) restoreTags(ctx context.Context, tags map[string]string) error {
	live, err := w.service.Observe(ctx)
	if err != nil || live == nil || live.Status != "ACTIVE" || tags[tagCommit] == "" {
		return err
	}
	differing := map[string]string{}
	for key, value := range tags {
		if live.Tags[key] != value {
			differing[key] = value
		}
	}
	if _, ours := live.Tags[tagCommit]; !ours || len(differing) == 0 {
		return nil // the service was never tagged, so there is no tag to restore
	}
	return w.service.Tag(ctx, w.writeTags, "restore tags", live.ARN, differing)
}
