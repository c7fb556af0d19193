package mode

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// batchLimits are how many tasks ECS keeps and allows while it replaces the tasks of a service: the minimum is rounded
// up, the maximum down (ECS Developer Guide, "Deployment configuration").
type batchLimits struct {
	tasks, least, most int32 // the desired count, minimumHealthyPercent, maximumPercent
	floor, ceiling     int32 // in tasks
}

// batchLimitsOf returns the limits of a rolling update that replaces tasks; ok is false if there is none.
func batchLimitsOf(p *plan.Plan, app *appfile.Application, live plan.AWSState) (l batchLimits, ok bool) {
	in := app.Service.Input
	if live.Service == nil || live.IsFirstDeployment() || p.Strategy != "" || !p.HasChanges() ||
		in.SchedulingStrategy == ecstypes.SchedulingStrategyDaemon {
		return l, false
	}
	l = batchLimits{tasks: *cmp.Or(in.DesiredCount, &live.Service.DesiredCount)}
	l.least, l.most = batchPercents(app, live)
	l.floor, l.ceiling = (l.tasks*l.least+99)/100, l.tasks*l.most/100
	return l, l.tasks > 0
}

// batchPercents returns minimumHealthyPercent and maximumPercent of the files, else of the service, else AWS's default.
func batchPercents(app *appfile.Application, live plan.AWSState) (least, most int32) {
	least, most = 100, 200
	all := []*ecstypes.DeploymentConfiguration{app.Service.Input.DeploymentConfiguration}
	if live.Service != nil {
		all = append([]*ecstypes.DeploymentConfiguration{live.Service.DeploymentConfiguration}, all...)
	}
	for _, c := range all {
		if c != nil {
			least, most = *cmp.Or(c.MinimumHealthyPercent, &least), *cmp.Or(c.MaximumPercent, &most)
		}
	}
	return least, most
}

// refuseEarlySuccess rejects early success criteria that AWS refuses together with minimumHealthyPercent.
func refuseEarlySuccess(app *appfile.Application, live plan.AWSState) error {
	least, _ := batchPercents(app, live)
	problem, next := definition.EarlySuccessProblem(app.Service.Input.DeploymentConfiguration, least)
	if problem == "" {
		return nil
	}
	return appfile.LocateAt(app.PlaceOfKey("healthyPercent"),
		&sluice.Error{Op: "plan", Kind: sluice.Conflict, Err: errors.New(problem), Next: next})
}

// refuseRebalancing rejects a maximum with which AWS cannot rebalance tasks across Availability Zones, for a service that it
// rebalances: AWS refuses the update (Developer Guide, "Balancing an Amazon ECS service across Availability Zones").
func refuseRebalancing(app *appfile.Application, live plan.AWSState) error {
	setting := app.Service.Input.AvailabilityZoneRebalancing
	if setting == "" && live.Service != nil {
		setting = live.Service.AvailabilityZoneRebalancing
	}
	_, most := batchPercents(app, live)
	if setting != ecstypes.AvailabilityZoneRebalancingEnabled || most > 100 {
		return nil
	}
	return appfile.LocateAt(cmp.Or(app.PlaceOfKey("maximumPercent"), app.PlaceOfKey("availabilityZoneRebalancing")),
		&sluice.Error{Op: "plan", Kind: sluice.Conflict,
			Err: fmt.Errorf("maximumPercent is %d, and AWS refuses that for a service with availabilityZoneRebalancing ENABLED",
				most),
			Next: "set availabilityZoneRebalancing to DISABLED in the service definition, or raise maximumPercent"})
}

// warnBlocked warns about limits that AWS accepts, and with which ECS can replace no task.
func warnBlocked(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	l, ok := batchLimitsOf(p, app, live)
	if ok && l.floor >= l.tasks && l.ceiling <= l.tasks {
		addWarning(p, "ECS can replace no task, and the deployment makes no progress: of %s, minimumHealthyPercent %d "+
			"requires %d, and maximumPercent %d allows %d. Raise maximumPercent, or lower minimumHealthyPercent",
			sluice.Plural(int(l.tasks), "task"), l.least, l.floor, l.most, l.ceiling)
	}
}

// warnFewKept warns that ECS may stop more than half of the tasks, or all, before new ones are healthy.
func warnFewKept(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	l, ok := batchLimitsOf(p, app, live)
	if !ok || l.least >= 50 || 2*l.floor >= l.tasks {
		return
	}
	advice := "set minimumHealthyPercent to 100 and maximumPercent to 200"
	if l.most > 100 {
		advice = "set minimumHealthyPercent to 100"
	}
	stage, share := "ECS", ""
	for i, s := range p.Stages {
		if s.ReplacesPrimary() && p.Mode().HasVariants() && !p.QuickSync {
			stage = fmt.Sprintf("stage %d: ECS", s.Index+1)
			share = fmt.Sprintf(", while they get %d%% of the requests", 100-p.StateBefore(i).CanaryShare())
		}
	}
	what := "no task works until the new ones run"
	if w := accessPathsOf(app, live); w.balancer || w.discovery || w.connect {
		what = "callers get errors until the new ones are healthy"
	}
	tasks := "the only task"
	if l.tasks > 1 {
		tasks = fmt.Sprintf("all %d tasks at once", l.tasks)
	}
	if l.floor > 0 {
		tasks = fmt.Sprintf("%d of %d tasks at once", l.tasks-l.floor, l.tasks)
		do := "do"
		if l.floor == 1 {
			do = "does"
		}
		what = fmt.Sprintf("%d of the %d %s all the work until new ones are healthy", l.floor, l.tasks, do)
	}
	addWarning(p, "%s may stop %s%s, because minimumHealthyPercent is %d: %s. To avoid that, %s", stage, tasks, share,
		l.least, what, advice)
}

// longestStopTimeout is the longest stopTimeout of a container on Fargate, in seconds.
const longestStopTimeout = 120

// defaultStopTimeout is how long a container without stopTimeout runs after SIGTERM, in seconds.
const defaultStopTimeout = 30

// warnNames warns about Cloud Map names that callers cache for longer than a stopping task runs. ECS deregisters the
// task and sends SIGTERM without a wait for the caches.
func warnNames(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	if p.CountsShares() || !p.HasChanges() || live.IsFirstDeployment() {
		return
	}
	names := live.Names
	if live.Registry != nil {
		names = append(names[:len(names):len(names)], *live.Registry)
	}
	container, life := stopTimeoutOf(app)
	for _, r := range names {
		if !r.HasDNS() || r.TTL() <= life {
			continue
		}
		longer := ""
		if seconds := int(r.TTL().Seconds()); seconds <= longestStopTimeout || !isFargateApp(app) {
			longer = fmt.Sprintf(", or set stopTimeout of the container to %d or more and let the program serve until then",
				seconds)
		}
		addWarning(p, "callers may cache an address of %s for %s (TTL), but ECS kills a stopping task %s after SIGTERM "+
			"(stopTimeout of container %s): callers of stopped tasks get errors. Set the TTL of service %s in Cloud Map to "+
			"%d or less%s", r.FullName(), plan.FormatDuration(r.TTL()), plan.FormatDuration(life), container, r.ID,
			int(life.Seconds()), longer)
	}
}

// stopTimeoutOf returns the container that callers reach and how long it runs at most after SIGTERM: the one of the
// service registry, otherwise the first essential one.
func stopTimeoutOf(app *appfile.Application) (name string, life time.Duration) {
	name = plan.FirstEssential(app.Task)
	for _, r := range app.Service.Input.ServiceRegistries {
		name = cmp.Or(aws.ToString(r.ContainerName), name)
	}
	life = defaultStopTimeout * time.Second
	for _, c := range app.Task.Input.ContainerDefinitions {
		if aws.ToString(c.Name) == name && c.StopTimeout != nil {
			life = time.Duration(*c.StopTimeout) * time.Second
		}
	}
	return name, life
}

func isFargateApp(app *appfile.Application) bool {
	return app.Service.Input.LaunchType == ecstypes.LaunchTypeFargate || len(app.Task.Input.RequiresCompatibilities) == 1 &&
		app.Task.Input.RequiresCompatibilities[0] == ecstypes.CompatibilityFargate
}
