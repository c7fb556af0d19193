package mode

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// HostingOf returns where the canary of an application runs. It is empty if the files want no
// canary: ECS rolls the service, and there are no variants.
func HostingOf(app *appfile.Application) appfile.Hosting {
	if app.Service == nil {
		return ""
	}
	switch controllerOf(app) {
	case plan.ControllerExternal:
		return appfile.TaskSets
	case plan.ControllerECS:
		if app.Hosting == appfile.Services || slices.ContainsFunc(app.Pipeline, isVariantStage) {
			return appfile.Services
		}
	}
	return ""
}

// isVariantStage reports whether a stage works on primary and canary instead of on the whole
// service.
func isVariantStage(s appfile.Stage) bool {
	switch s.With.(type) {
	case appfile.CanaryRollout, appfile.TrafficRouting, appfile.PrimaryRollout, appfile.CanaryClean:
		return true
	}
	return false
}

func addCanaryServiceWrites(p *plan.Plan, s *plan.Stage) {
	s.AddWrite("ecs:CreateService", p.CanaryResource())
	s.AddWrite("ecs:UpdateService", p.CanaryResource())
	s.AddWrite("ecs:TagResource", p.CanaryResource())
}

// addCanaryServiceDeletes adds the writes that delete the canary service.
func addCanaryServiceDeletes(p *plan.Plan, s *plan.Stage) {
	s.AddWrite("ecs:UpdateService", p.CanaryResource())
	s.AddWrite("ecs:DeleteService", p.CanaryResource())
}

// addCanaryServiceReturn adds the writes of a rollback to the canary service. A rollback deletes
// the service, or creates it again if an earlier deployment had left it. A leftover may appear or
// disappear until the first write. Before the deletion the canary service may have to serve.
func addCanaryServiceReturn(p *plan.Plan, s *plan.Stage) {
	addCanaryServiceWrites(p, s)
	addCanaryServiceDeletes(p, s)
}

// refuseHosting rejects a hosting that the deployment controller does not support.
func refuseHosting(app *appfile.Application, live plan.AWSState, o Options) error {
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: app.File, Err: fmt.Errorf(format, args...), Next: next}
	}
	controller := controllerOf(app)
	switch {
	case app.Hosting == appfile.Services && controller != plan.ControllerECS:
		return problem("set hosting: taskSets, or remove hosting",
			"hosting services needs deployment controller ECS, but the service has %s", controller)
	case app.Hosting == appfile.TaskSets && controller != plan.ControllerExternal:
		return problem("set hosting: services for a canary service, or remove hosting",
			"hosting taskSets needs deployment controller EXTERNAL, but the service has %s", controller)
	case HostingOf(app) == appfile.Services:
		return refuseCanaryService(app, live, o)
	}
	return nil
}

// refuseCanaryService rejects a service that cannot have a canary service.
func refuseCanaryService(app *appfile.Application, live plan.AWSState, o Options) error {
	in := app.Service.Input
	name := aws.ToString(in.ServiceName)
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: app.File, Kind: sluice.Conflict, Err: fmt.Errorf(format, args...),
			Next: next}
	}
	strategy := strategyOf(app, live)
	switch {
	case len(plan.CanaryServiceName(name)) > plan.MaxServiceName:
		return problem("choose a shorter service name",
			"the name of the canary service %s has %d characters; AWS allows %d", plan.CanaryServiceName(name),
			len(plan.CanaryServiceName(name)), plan.MaxServiceName)
	case in.SchedulingStrategy == ecstypes.SchedulingStrategyDaemon || live.Service != nil &&
		live.Service.SchedulingStrategy == ecstypes.SchedulingStrategyDaemon:
		return problem("use --quick-sync, or remove the pipeline",
			"the service is a DAEMON with one task on each instance, so it cannot have a canary")
	case strategy != "" && strategy != ecstypes.DeploymentStrategyRolling:
		return problem("remove the canary and primary stages, or use strategy ROLLING",
			"with deployment strategy %s, ECS shifts the traffic itself, between target groups that it chooses",
			strategy)
	case live.IsFirstDeployment() && o.Pipeline && !o.QuickSync:
		return problem("remove --pipeline", "no version is running: a canary needs a running primary")
	}
	for i, s := range app.Pipeline {
		if with, ok := s.With.(appfile.PrimaryRollout); ok && with.KeepOld {
			return problem("remove keepOld; a rollback starts the previous revision again",
				"stage %d keeps the old primary, but ECS rolls the service and keeps no old tasks", i+1)
		}
	}
	return refuseTakenName(name, live)
}

// refuseTakenName rejects a deployment if a service that sluice did not create has the name of the
// canary service.
func refuseTakenName(name string, live plan.AWSState) error {
	made, stands := live.FindCanaryService()
	if !stands || plan.IsSluiceID(made) {
		return nil
	}
	return &sluice.Error{Op: "plan", Resource: aws.ToString(live.Beside.ServiceArn), Kind: sluice.Conflict,
		Err: fmt.Errorf("the canary of %s needs the name %s, but another service has it: sluice did not create that "+
			"service (no tag %s)", name, plan.CanaryServiceName(name), plan.CanaryTag),
		Next: "choose another name for one of the two services"}
}

// strategyOf returns the deployment strategy that the service will have.
func strategyOf(app *appfile.Application, live plan.AWSState) ecstypes.DeploymentStrategy {
	if c := app.Service.Input.DeploymentConfiguration; c != nil && c.Strategy != "" {
		return c.Strategy
	}
	if live.Service != nil && live.ServiceStatus() == "ACTIVE" && live.Service.DeploymentConfiguration != nil {
		return live.Service.DeploymentConfiguration.Strategy
	}
	return ""
}

// usesTargetGroup reports whether the current service registers its tasks in the target group.
func usesTargetGroup(l plan.AWSState, group string) bool {
	return slices.ContainsFunc(l.Service.LoadBalancers,
		func(lb ecstypes.LoadBalancer) bool { return aws.ToString(lb.TargetGroupArn) == group })
}

// refuseServiceGroups checks that the service is in the primary target group and not in the canary
// target group.
func refuseServiceGroups(app *appfile.Application, live plan.AWSState) error {
	if live.IsFirstDeployment() || live.Service == nil {
		return nil
	}
	problem := func(group, next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: group, Kind: sluice.Conflict, Err: fmt.Errorf(format, args...),
			Next: next}
	}
	switch {
	case !usesTargetGroup(live, app.Primary.ARN):
		return problem(app.Primary.ARN,
			"name the target group of the service under input.targetGroups.primary.targetGroupArn",
			"the tasks of the service are not in the primary target group")
	case app.Canary != nil && usesTargetGroup(live, app.Canary.ARN):
		return problem(app.Canary.ARN, "create a target group for the canary",
			"the tasks of the service are in the canary target group")
	}
	return nil
}

// withTargetGroup returns the application with its new service in the primary target group. It
// changes a service definition that names no load balancer.
func withTargetGroup(app *appfile.Application, live plan.AWSState) *appfile.Application {
	if HostingOf(app) != appfile.Services || !live.IsFirstDeployment() || app.Primary == nil ||
		app.Primary.Container == "" || len(app.Service.Input.LoadBalancers) > 0 {
		return app
	}
	a, s, in := *app, *app.Service, *app.Service.Input
	in.LoadBalancers = []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(app.Primary.ARN),
		ContainerName: aws.String(app.Primary.Container), ContainerPort: aws.Int32(app.Primary.Port)}}
	s.Input = &in
	a.Service = &s
	return &a
}

// warnCanaryService warns about settings of the service that the canary service lacks.
func warnCanaryService(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	if !slices.ContainsFunc(p.Stages, func(s plan.Stage) bool { return s.StartsCanary() }) ||
		live.Service == nil {
		return
	}
	_, dropped := definition.NewCanaryService(app.Service, live.Service)
	for _, d := range dropped {
		addWarning(p, "the canary service is created without %s", d)
	}
	if made, stands := live.FindCanaryService(); stands && p.Adopts() {
		addWarning(p, "canary service %s was left by an earlier deployment (%s): sluice removes it before the first "+
			"stage",
			plan.CanaryServiceName(p.Service), sluice.ActionID(made).Deployment())
	}
}

// leftoverCanaryService returns the canary service as a change if an earlier deployment left it.
func leftoverCanaryService(live plan.AWSState) []plan.Change {
	made, stands := live.FindCanaryService()
	if !stands || !plan.IsSluiceID(made) {
		return nil
	}
	return []plan.Change{{Of: "canary service", Path: aws.ToString(live.Beside.ServiceName),
		Have: fmt.Sprintf("%s, %d running", sluice.RevisionOf(aws.ToString(live.Beside.TaskDefinition)),
			live.Beside.RunningCount), Want: "none"}}
}
