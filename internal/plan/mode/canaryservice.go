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
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
)

// canaryServiceRules are the rules of a canary service next to a service that ECS rolls. The writes
// to the service itself are those of a rolling update.
func canaryServiceRules() rules {
	return rules{
		mode: plan.ModeCanaryService, ecsReplacesTasks: true, make: makeService,
		refuseEarly: refuseRollbackEvents, refuse: refuseNextToService, refuseIdle: allowIdle,
		prepare: prepareNothing, finish: finishNothing,
		hasLeftovers: hasLeftoverService, listChanges: listServiceChanges,
		syncWrites: addCanaryServiceSync, canaryWrites: addCanaryServiceStart, primaryWrites: addUpdateWrites,
		cleanWrites: addCanaryServiceClean, adoptWrites: addCanaryServiceEnd,
		rollbackWrites: addCanaryServiceRollback, growWrites: addCanaryServiceUpdate,
		guardWrites: guardCanaryService, replaceTime: (*forecast.Estimate).RollingTime,
		warnService: warnRolling, warn: warnNextToService,
		words: words{
			stages: "Stages", sync: rollText, summary: rollText, canary: canaryServiceText,
			primary:  "ECS rolls the service to the new revision",
			rollback: "restore the previous state; if ECS has rolled the service, roll it back first",
		},
	}
}

func canaryServiceText(p *plan.Plan, s plan.Stage) string {
	return fmt.Sprintf("%s, as service %s", canaryText(p, s), plan.CanaryServiceName(p.Service))
}

func refuseNextToService(app *appfile.Application, live plan.AWSState, o Options) error {
	if err := refuseCanaryService(app, live, o); err != nil {
		return err
	}
	return refuseAccess(app, live, o)
}

func hasLeftoverService(_ *appfile.Application, live plan.AWSState) bool {
	made, stands := live.FindCanaryService()
	return stands && plan.IsSluiceID(made) || live.LeftRecords > 0
}

func addCanaryServiceSync(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addUpdateWrites(p, s, live)
	addCanaryServiceEnd(p, s, live)
}

func addCanaryServiceStart(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addVariantWrites(p, s, live)
	addCanaryServiceWrites(p, s)
}

func addCanaryServiceClean(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addCanaryServiceEnd(p, s, live)
	addClaimWrites(p, s)
}

// addCanaryServiceEnd adds the writes that route all traffic to the primary and delete the canary
// service.
func addCanaryServiceEnd(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addRoutes(p, s, live, sluice.CanaryShare(0))
	addCanaryServiceDeletes(p, s)
}

// addCanaryServiceRollback adds the writes of a rollback. It deletes the canary service, or creates
// it again if an earlier deployment had left it. A leftover may appear or disappear until the first
// write. Before the deletion the canary service may have to serve.
func addCanaryServiceRollback(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addRestoreWrites(p, s, live)
	addCanaryServiceWrites(p, s)
	addCanaryServiceDeletes(p, s)
	addStopWrite(s, live)
}

func addCanaryServiceUpdate(p *plan.Plan, s *plan.Stage) {
	s.AddWrite("ecs:UpdateService", p.CanaryResource())
}

func guardCanaryService(p *plan.Plan, s *plan.Stage, live plan.AWSState, begins plan.State) {
	if guardService(p, s, live) && begins.Canary.Exists() {
		addCanaryServiceWrites(p, s)
	}
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

// withTargetGroup returns the application with its new service in the primary target group. It
// changes a service definition that names no load balancer.
func withTargetGroup(app *appfile.Application, live plan.AWSState) *appfile.Application {
	if !Of(app).HasCanaryService() || !live.IsFirstDeployment() || app.Primary == nil ||
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

func warnNextToService(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	warnVariants(p, app, live, warnCanaryService)
	warnFirstPipeline(p, app, live)
}

// leftoverCanaryService returns the canary service as a change if an earlier deployment left it.
func leftoverCanaryService(live plan.AWSState) []plan.Change {
	made, stands := live.FindCanaryService()
	if !stands || !plan.IsSluiceID(made) {
		return nil
	}
	return []plan.Change{{Of: "canary service", Path: aws.ToString(live.Beside.ServiceName),
		Have: fmt.Sprintf("%s, %d running", sluice.RevisionOf(aws.ToString(live.Beside.TaskDefinition)),
			live.Beside.RunningCount), Want: "none", Kind: plan.Removes}}
}
