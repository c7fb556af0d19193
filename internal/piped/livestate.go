package piped

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// Types of resources on PipeCD's page.
const (
	typeService = "ECS:Service"
	typeTaskSet = "ECS:TaskSet"
	typeTask    = "ECS:Task"
)

// GetLivestate returns what runs, and whether it matches the files. A problem is returned as a
// state with its reason, not as an error: with an error, PipeCD's page would keep the previous
// state.
func (p *plugin) GetLivestate(ctx context.Context, r *contract.GetLivestateRequest) (*contract.GetLivestateResponse,
	error) {
	answer := &contract.GetLivestateResponse{ApplicationLiveState: &contract.ApplicationLiveState{},
		SyncState: syncedState()}
	app, err := p.entry.loadApplication(r.GetDeploySource())
	switch {
	case err != nil:
		answer.SyncState = syncState(contract.ApplicationSyncStatus_INVALID_CONFIG, "The files cannot be read",
			err.Error())
		return answer, nil
	case len(r.GetDeployTargets()) == 0:
		answer.SyncState = syncState(contract.ApplicationSyncStatus_INVALID_CONFIG, "No deploy target",
			"the application has no deploy target of plugin "+p.entry.Name)
		return answer, nil
	case app.app.Service == nil:
		answer.SyncState = syncState(contract.ApplicationSyncStatus_UNKNOWN, "A standalone task",
			"a standalone task has no live state: it runs and ends")
		return answer, nil
	}
	for _, name := range r.GetDeployTargets() {
		resources, now := p.targetState(ctx, name, r.GetApplicationId(), app.app)
		answer.ApplicationLiveState.Resources = append(answer.ApplicationLiveState.Resources, resources...)
		answer.SyncState = worseState(answer.SyncState, now)
	}
	answer.ApplicationLiveState.HealthStatus = overallHealth(answer.ApplicationLiveState.Resources)
	return answer, nil
}

// targetState returns the state on one deploy target.
func (p *plugin) targetState(ctx context.Context, target, application string,
	app *appfile.Application) ([]*contract.ResourceState,
	*contract.ApplicationSyncState) {
	unknown := func(err error) *contract.ApplicationSyncState {
		return syncState(contract.ApplicationSyncStatus_UNKNOWN, "AWS cannot be read", target+": "+explainError(err))
	}
	pl, err := p.targets.openTarget(ctx, target)
	if err != nil {
		return nil, unknown(err)
	}
	cluster, name := app.ClusterName(), aws.ToString(app.Service.Input.ServiceName)
	live, err := pl.services.Service(ctx, cluster, name)
	if err != nil {
		return nil, unknown(err)
	}
	if live == nil || live.Status == "INACTIVE" {
		return nil, syncState(contract.ApplicationSyncStatus_OUT_OF_SYNC, "The service does not exist",
			fmt.Sprintf("%s: there is no service %s in cluster %s", target, name, cluster))
	}
	tasks, err := ecs.Service{API: pl.account.ECS(), Cluster: cluster, Name: name}.Tasks(ctx)
	if err != nil {
		return nil, unknown(err)
	}
	now, err := p.driftState(ctx, pl, app, live, application, addressesOf(tasks))
	if err != nil {
		now = unknown(err)
	}
	return resourcesOf(target, p.entry.Name, live, tasks), now
}

// addressesOf returns the addresses of tasks.
func addressesOf(tasks []ecs.Task) map[string]bool {
	all := map[string]bool{}
	for _, t := range tasks {
		all[t.Address] = true
	}
	return all
}

// resourcesOf returns the service, its task sets and its tasks.
func resourcesOf(target, plugin string, live *ecs.ServiceState, tasks []ecs.Task) []*contract.ResourceState {
	now := time.Now()
	born := aws.ToTime(live.Raw.CreatedAt)
	b := resourceBuilder{target: target, plugin: plugin, now: now, serviceCreated: born}
	health, why := serviceHealth(live)
	all := []*contract.ResourceState{b.newResource(live.ARN, aws.ToString(live.Raw.ServiceName), typeService, born,
		health, why, map[string]string{
			"status": live.Status, "controller": live.Controller, "desired": fmt.Sprint(live.Desired),
			"running": fmt.Sprint(live.Running),
			"pending": fmt.Sprint(live.Pending), "commit": live.Tags[tagCommit]})}
	parents := map[string]string{}
	for _, ts := range live.TaskSets {
		parents[ts.ID] = ts.ARN
		health, why := setHealth(ts)
		all = append(all, b.newResource(ts.ARN, ts.ID, typeTaskSet, ts.CreatedAt, health, why, map[string]string{
			"status": ts.Status, "taskDefinition": ts.Revision, "scale": fmt.Sprintf("%g%%", ts.Scale),
			"desired": fmt.Sprint(ts.Desired),
			"running": fmt.Sprint(ts.Running), "commit": ts.Tags[tagCommit]}, live.ARN))
	}
	for _, t := range tasks {
		parent, ok := parents[t.StartedBy]
		if !ok {
			parent = live.ARN
		}
		health, why := taskHealth(t)
		all = append(all, b.newResource(t.ARN, t.ID, typeTask, t.CreatedAt, health, why, map[string]string{
			"status": t.Status, "taskDefinition": t.Revision, "address": t.Address}, parent))
	}
	return all
}

// resourceBuilder makes resources that piped's control plane accepts: it refuses all resources of
// an application if one has no creation time.
type resourceBuilder struct {
	target, plugin      string
	now, serviceCreated time.Time
}

func (b resourceBuilder) newResource(arn, name, kind string, created time.Time,
	health contract.ResourceState_HealthStatus, why string, about map[string]string,
	parents ...string) *contract.ResourceState {
	for _, t := range []time.Time{b.serviceCreated, b.now} {
		if created.Unix() <= 0 {
			created = t
		}
	}
	for key, value := range about {
		if value == "" {
			delete(about, key)
		}
	}
	return &contract.ResourceState{Id: arn, Name: name, ResourceType: kind, ParentIds: parents, ResourceMetadata: about,
		HealthStatus: health, HealthDescription: why, DeployTarget: b.target, PluginName: b.plugin,
		CreatedAt: created.Unix(), UpdatedAt: b.now.Unix()}
}

const (
	healthHealthy   = contract.ResourceState_HEALTHY
	healthUnhealthy = contract.ResourceState_UNHEALTHY
	healthUnknown   = contract.ResourceState_UNKNOWN
)

func serviceHealth(l *ecs.ServiceState) (contract.ResourceState_HealthStatus, string) {
	switch {
	case l.Status != "ACTIVE":
		return healthUnhealthy, "the service is " + l.Status
	case l.Running < l.Desired:
		return healthUnhealthy, fmt.Sprintf("%d of %d tasks running, %d pending", l.Running, l.Desired, l.Pending)
	}
	return healthHealthy, fmt.Sprintf("%s running", sluice.Plural(l.Running, "task"))
}

func setHealth(ts sluice.TaskSet) (contract.ResourceState_HealthStatus, string) {
	switch {
	case ts.Status == "DRAINING":
		return healthUnknown, "being removed"
	case ts.Running < ts.Desired:
		return healthUnhealthy, fmt.Sprintf("%d of %d tasks running, %d pending", ts.Running, ts.Desired, ts.Pending)
	case !ts.Steady:
		return healthUnknown, "stabilizing"
	}
	return healthHealthy, fmt.Sprintf("%s running", sluice.Plural(ts.Running, "task"))
}

func taskHealth(t ecs.Task) (contract.ResourceState_HealthStatus, string) {
	switch {
	case t.Health == "UNHEALTHY":
		return healthUnhealthy, "its container health check fails"
	case t.Status == "RUNNING":
		return healthHealthy, ""
	case t.Status == "STOPPED":
		return healthUnhealthy, "stopped"
	}
	return healthUnknown, strings.ToLower(t.Status)
}

func overallHealth(all []*contract.ResourceState) contract.ApplicationLiveState_Status {
	out := contract.ApplicationLiveState_HEALTHY
	if len(all) == 0 {
		return contract.ApplicationLiveState_UNKNOWN
	}
	for _, r := range all {
		if r.GetHealthStatus() == healthUnhealthy {
			return contract.ApplicationLiveState_OTHER
		}
		if r.GetHealthStatus() == healthUnknown {
			out = contract.ApplicationLiveState_UNKNOWN
		}
	}
	return out
}
