package piped

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/autoscaling"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// driftState compares the running service with the files, field by field, with AWS's defaults. It
// ignores the commit: a commit that changes other files causes no difference here.
func (p *plugin) driftState(ctx context.Context, pl *activeTarget, app *appfile.Application, live *ecs.ServiceState,
	application string, addresses map[string]bool) (*contract.ApplicationSyncState, error) {
	if running := p.runningDeployment(ctx, application, live.ClaimValue()); running != "" {
		return syncState(contract.ApplicationSyncStatus_DEPLOYING, "A deployment is in progress",
			"deployment "+running+" has the claim on the service"), nil
	}
	diffs, err := findDifferences(ctx, pl, p.clock, app, live, addresses)
	if err != nil {
		return nil, err
	}
	if len(diffs) == 0 {
		return syncedState(), nil
	}
	return syncState(contract.ApplicationSyncStatus_OUT_OF_SYNC, shortReason(diffs), driftReason(pl.name, diffs)), nil
}

// runningDeployment returns the deployment that has the claim, if a process still runs it. piped knows which of its own
// deployments run; a process of another tool renews its claim.
func (p *plugin) runningDeployment(ctx context.Context, application, claim string) string {
	k, err := plan.ParseClaim(claim)
	left := k.Until.Sub(p.clock.Now())
	if err != nil || left <= 0 {
		return ""
	}
	if id, own := strings.CutPrefix(k.Deployment, deploymentIDOf(application, "")); own {
		if !p.isHandled(ctx, id) {
			return ""
		}
		return k.Deployment
	}
	if left < stage.RenewedClaimLeft {
		return ""
	}
	return k.Deployment
}

// isHandled reports whether piped plans or runs a deployment. piped has no metadata of any other one. If piped gives
// no answer, the deployment counts as handled.
func (p *plugin) isHandled(ctx context.Context, deployment string) bool {
	ctx, cancel := context.WithTimeout(ctx, pipedCallTimeout)
	defer cancel()
	_, err := p.piped.GetDeploymentPluginMetadata(ctx, &contract.GetDeploymentPluginMetadataRequest{
		DeploymentId: deployment, PluginName: p.entry.Name, Key: keyBaseline})
	return status.Code(err) != codes.Unknown && status.Code(err) != codes.NotFound
}

func findDifferences(ctx context.Context, pl *activeTarget, c clock.Clock, app *appfile.Application,
	live *ecs.ServiceState, addresses map[string]bool) ([]plan.Change, error) {
	all, err := taskDifferences(ctx, pl, app, live.Serving())
	if err != nil {
		return nil, err
	}
	service, err := scaledService(ctx, pl, app, live)
	if err != nil {
		return nil, err
	}
	all = append(all, plan.ChangesOf("service", definition.CompareService(service, &live.Raw))...)
	all = append(all, plan.ChangesOf("task set", definition.ComparePrimarySet(app.Service, &live.Raw))...)
	beside, err := additionalChanges(ctx, pl, c, app, live, addresses)
	return slices.DeleteFunc(append(all, beside...), func(c plan.Change) bool {
		return slices.ContainsFunc(app.IgnoredDrift, func(f appfile.IgnoredField) bool { return f.Covers(c.Of, c.Path) })
	}), err
}

// taskDifferences compares the task definition of the file with the revision that serves. The tags of a revision can
// change, so they are read each time, if the file has any.
func taskDifferences(ctx context.Context, pl *activeTarget, app *appfile.Application, serving string) ([]plan.Change,
	error) {
	if serving == "" {
		return []plan.Change{{Of: "task definition", Path: "family", Have: "no running version",
			Want: aws.ToString(app.Task.Input.Family), Kind: plan.Alters}}, nil
	}
	td, err := pl.definitions.Read(ctx, serving)
	if err != nil {
		return nil, err
	}
	diffs := definition.CompareTask(app.Task, td)
	if len(app.Task.Input.Tags) > 0 {
		tagged, err := ecs.ReadTagged(ctx, pl.account.ECS(), serving)
		if err != nil {
			return nil, err
		}
		diffs = append(diffs, definition.CompareTags(app.Task, tagged.Tags)...)
	}
	return plan.ChangesOf("task definition", diffs), nil
}

// scaledService returns the service definition, without a desired count that differs if Application Auto Scaling sets
// the count. A user who may not read the scalable targets sees the difference.
func scaledService(ctx context.Context, pl *activeTarget, app *appfile.Application,
	live *ecs.ServiceState) (*definition.Service, error) {
	count := app.Service.Input.DesiredCount
	if count == nil || int(*count) == live.Desired {
		return app.Service, nil
	}
	targets, err := autoscaling.Service{API: pl.account.Scaling(), Cluster: app.ClusterName(),
		Name: aws.ToString(app.Service.Input.ServiceName)}.Observe(ctx)
	switch {
	case errors.Is(err, sluice.ErrNoPermission):
		return app.Service, nil
	case err != nil || plan.FindScaling(targets, live.Desired) == nil:
		return app.Service, err
	}
	return app.Service.WithAnyCount(), nil
}

// additionalChanges returns what gets requests, or is left over, in addition to what the files
// describe: task sets, a canary service, targets, weights.
func additionalChanges(ctx context.Context, pl *activeTarget, c clock.Clock, app *appfile.Application,
	live *ecs.ServiceState, addresses map[string]bool) ([]plan.Change, error) {
	seen := plan.AWSState{Service: &live.Raw, TaskSets: live.TaskSets}
	for _, ts := range live.TaskSets {
		if slices.Contains(managedByValues, ts.Tags[tagManagedBy]) {
			seen.Left = append(seen.Left, ts.ID)
		}
	}
	if mode.Of(app).HasCanaryService() {
		canary, err := pl.services.Service(ctx, app.ClusterName(),
			plan.CanaryServiceName(aws.ToString(app.Service.Input.ServiceName)))
		if err != nil {
			return nil, err
		}
		if canary.IsActive() {
			seen.Beside = &canary.Raw
		}
	}
	traffic, err := pl.trafficOf(ctx, c, app)
	if err != nil {
		return nil, err
	}
	if err := survey.AddRequests(ctx, pl.account, c, app, traffic, addresses, &seen); err != nil {
		return nil, err
	}
	seen.Foreign = pl.seenTwice(live.ARN, seen.Foreign)
	return mode.ChangesOutsideFiles(app, seen), nil
}

func shortReason(diffs []plan.Change) string {
	if len(diffs) == 1 {
		return "There is 1 difference"
	}
	return fmt.Sprintf("There are %d differences", len(diffs))
}

// driftReason returns one line for each difference, with the value in AWS and in the files.
func driftReason(target string, diffs []plan.Change) string {
	lines := []string{"The state on " + target + " differs from the files:"}
	for _, d := range diffs {
		lines = append(lines, fmt.Sprintf("- %s %s: is %s, should be %s", d.Of, d.Path, d.Have, d.Want))
	}
	return strings.Join(lines, "\n")
}

func syncedState() *contract.ApplicationSyncState {
	return syncState(contract.ApplicationSyncStatus_SYNCED, "", "")
}

func syncState(status contract.ApplicationSyncStatus, short, reason string) *contract.ApplicationSyncState {
	return &contract.ApplicationSyncState{Status: status, ShortReason: short, Reason: reason,
		Timestamp: time.Now().Unix()}
}

// worseState joins the states of two deploy targets, as piped joins those of plugins.
func worseState(a, b *contract.ApplicationSyncState) *contract.ApplicationSyncState {
	order := []contract.ApplicationSyncStatus{contract.ApplicationSyncStatus_DEPLOYING,
		contract.ApplicationSyncStatus_INVALID_CONFIG,
		contract.ApplicationSyncStatus_OUT_OF_SYNC, contract.ApplicationSyncStatus_UNKNOWN,
		contract.ApplicationSyncStatus_SYNCED}
	switch x, y := slices.Index(order, a.GetStatus()), slices.Index(order, b.GetStatus()); {
	case x < y:
		return a
	case y < x:
		return b
	}
	if a.GetReason() != "" {
		b.Reason = a.GetReason() + "\n" + b.GetReason()
	}
	return b
}
