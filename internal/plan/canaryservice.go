package plan

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// The canary service, with hosting services.
const (
	canarySuffix = "-canary"
	// CanaryTag is the tag on a canary service: the ID of the action that created it or took it
	// over.
	CanaryTag = "sluice:canary"
	// maxServiceName is the maximum length of a service name (ECS API Reference, CreateService).
	maxServiceName = 255
)

// CanaryServiceName returns the name of the canary service of a service.
func CanaryServiceName(service string) string { return service + canarySuffix }

// HostingOf returns where the canary of an application runs. It is empty if the files want no
// canary: ECS rolls the service, and there are no variants.
func HostingOf(app *appfile.Application) appfile.Hosting {
	if app.Service == nil {
		return ""
	}
	switch controllerOf(app) {
	case controllerExternal:
		return appfile.TaskSets
	case controllerECS:
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

// HasCanaryService reports whether the canary is a service of its own.
func (p *Plan) HasCanaryService() bool { return p.Hosting == appfile.Services }

// canaryResource returns the resource name of the canary service in plans.
func (p *Plan) canaryResource() string { return p.Cluster + "/" + CanaryServiceName(p.Service) }

// findCanaryService returns the value of [CanaryTag] on the canary service. stands is false if
// there is no ACTIVE canary service.
func (l AWSState) findCanaryService() (made string, stands bool) {
	if l.Beside == nil || aws.ToString(l.Beside.Status) != "ACTIVE" {
		return "", false
	}
	for _, t := range l.Beside.Tags {
		if aws.ToString(t.Key) == CanaryTag {
			return aws.ToString(t.Value), true
		}
	}
	return "", true
}

// The next methods add the writes of stages to the canary service. The writes to the primary are
// those of a rolling update.

func (p *Plan) addCanaryServiceWrites(s *Stage) {
	s.addWrite("ecs:CreateService", p.canaryResource())
	s.addWrite("ecs:UpdateService", p.canaryResource())
	s.addWrite("ecs:TagResource", p.canaryResource())
}

// addCanaryServiceDeletes adds the writes that delete the canary service.
func (p *Plan) addCanaryServiceDeletes(s *Stage) {
	s.addWrite("ecs:UpdateService", p.canaryResource())
	s.addWrite("ecs:DeleteService", p.canaryResource())
}

// addCanaryServiceReturn adds the writes of a rollback to the canary service. A rollback deletes
// the service, or creates it again if an earlier deployment had left it. A leftover may appear or
// disappear until the first write. Before the deletion the canary service may have to serve.
func (p *Plan) addCanaryServiceReturn(s *Stage) {
	p.addCanaryServiceWrites(s)
	p.addCanaryServiceDeletes(s)
}

// BridgesRollback reports whether a rollback first registers the previous revision in the canary
// service. It does so for blue/green pipelines with Cloud Map, which have all traffic on the canary
// before ECS_PRIMARY_ROLLOUT. They promise that no request is lost, and ECS stops tasks while
// callers cache their addresses.
func (p *Plan) BridgesRollback() bool {
	for i, s := range p.Stages {
		if p.StateBefore(i).CanaryShare() == 100 && s.ReplacesPrimary() && !s.ReplacesAll() {
			return p.UsesCloudMap() && p.HasCanaryService()
		}
	}
	return false
}

// refuseHosting rejects a hosting that the deployment controller does not support.
func refuseHosting(app *appfile.Application, live AWSState, o Options) error {
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: app.File, Err: fmt.Errorf(format, args...), Next: next}
	}
	controller := controllerOf(app)
	switch {
	case app.Hosting == appfile.Services && controller != controllerECS:
		return problem("set hosting: taskSets, or remove hosting",
			"hosting services needs deployment controller ECS, but the service has %s", controller)
	case app.Hosting == appfile.TaskSets && controller != controllerExternal:
		return problem("set hosting: services for a canary service, or remove hosting",
			"hosting taskSets needs deployment controller EXTERNAL, but the service has %s", controller)
	case HostingOf(app) == appfile.Services:
		return refuseCanaryService(app, live, o)
	}
	return nil
}

// refuseCanaryService rejects a service that cannot have a canary service.
func refuseCanaryService(app *appfile.Application, live AWSState, o Options) error {
	in := app.Service.Input
	name := aws.ToString(in.ServiceName)
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: app.File, Kind: sluice.Conflict, Err: fmt.Errorf(format, args...),
			Next: next}
	}
	strategy := strategyOf(app, live)
	switch {
	case len(CanaryServiceName(name)) > maxServiceName:
		return problem("choose a shorter service name",
			"the name of the canary service %s has %d characters; AWS allows %d", CanaryServiceName(name),
			len(CanaryServiceName(name)), maxServiceName)
	case in.SchedulingStrategy == ecstypes.SchedulingStrategyDaemon || live.Service != nil &&
		live.Service.SchedulingStrategy == ecstypes.SchedulingStrategyDaemon:
		return problem("use --quick-sync, or remove the pipeline",
			"the service is a DAEMON with one task on each instance, so it cannot have a canary")
	case strategy != "" && strategy != ecstypes.DeploymentStrategyRolling:
		return problem("remove the canary and primary stages, or use strategy ROLLING",
			"with deployment strategy %s, ECS shifts the traffic itself, between target groups that it chooses",
			strategy)
	case live.isFirstDeployment() && o.Pipeline && !o.QuickSync:
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
func refuseTakenName(name string, live AWSState) error {
	made, stands := live.findCanaryService()
	if !stands || IsSluiceID(made) {
		return nil
	}
	return &sluice.Error{Op: "plan", Resource: aws.ToString(live.Beside.ServiceArn), Kind: sluice.Conflict,
		Err: fmt.Errorf("the canary of %s needs the name %s, but another service has it: sluice did not create that "+
			"service (no tag %s)", name, CanaryServiceName(name), CanaryTag),
		Next: "choose another name for one of the two services"}
}

// strategyOf returns the deployment strategy that the service will have.
func strategyOf(app *appfile.Application, live AWSState) ecstypes.DeploymentStrategy {
	if c := app.Service.Input.DeploymentConfiguration; c != nil && c.Strategy != "" {
		return c.Strategy
	}
	if live.Service != nil && live.serviceStatus() == "ACTIVE" && live.Service.DeploymentConfiguration != nil {
		return live.Service.DeploymentConfiguration.Strategy
	}
	return ""
}

// usesTargetGroup reports whether the current service registers its tasks in the target group.
func (l AWSState) usesTargetGroup(group string) bool {
	return slices.ContainsFunc(l.Service.LoadBalancers,
		func(lb ecstypes.LoadBalancer) bool { return aws.ToString(lb.TargetGroupArn) == group })
}

// refuseServiceGroups checks that the service is in the primary target group and not in the canary
// target group.
func refuseServiceGroups(app *appfile.Application, live AWSState) error {
	if live.isFirstDeployment() || live.Service == nil {
		return nil
	}
	problem := func(group, next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: group, Kind: sluice.Conflict, Err: fmt.Errorf(format, args...),
			Next: next}
	}
	switch {
	case !live.usesTargetGroup(app.Primary.ARN):
		return problem(app.Primary.ARN,
			"name the target group of the service under input.targetGroups.primary.targetGroupArn",
			"the tasks of the service are not in the primary target group")
	case app.Canary != nil && live.usesTargetGroup(app.Canary.ARN):
		return problem(app.Canary.ARN, "create a target group for the canary",
			"the tasks of the service are in the canary target group")
	}
	return nil
}

// withTargetGroup returns the application with its new service in the primary target group. It
// changes a service definition that names no load balancer.
func withTargetGroup(app *appfile.Application, live AWSState) *appfile.Application {
	if HostingOf(app) != appfile.Services || !live.isFirstDeployment() || app.Primary == nil ||
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
func (p *Plan) warnCanaryService(app *appfile.Application, live AWSState) {
	if !slices.ContainsFunc(p.Stages, func(s Stage) bool { return s.StartsCanary() }) ||
		live.Service == nil {
		return
	}
	_, dropped := definition.NewCanaryService(app.Service, live.Service)
	for _, d := range dropped {
		p.addWarning("the canary service is created without %s", d)
	}
	if made, stands := live.findCanaryService(); stands && p.Adopts() {
		p.addWarning("canary service %s was left by an earlier deployment (%s): sluice removes it before the first "+
			"stage",
			CanaryServiceName(p.Service), sluice.ActionID(made).Deployment())
	}
}

// leftoverCanaryService returns the canary service as a change if an earlier deployment left it.
func leftoverCanaryService(live AWSState) []Change {
	made, stands := live.findCanaryService()
	if !stands || !IsSluiceID(made) {
		return nil
	}
	return []Change{{Of: "canary service", Path: aws.ToString(live.Beside.ServiceName),
		Have: fmt.Sprintf("%s, %d running", sluice.RevisionOf(aws.ToString(live.Beside.TaskDefinition)),
			live.Beside.RunningCount), Want: "none"}}
}
