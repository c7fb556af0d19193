package mode

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// accessOf returns how callers reach the service. PipeCD v0 has no access type for a service
// without callers: there, ELB without a target group means it.
func accessOf(app *appfile.Application) sluice.Access {
	without := app.Primary == nil && app.Canary == nil && app.Service != nil &&
		len(app.Service.Input.LoadBalancers) == 0
	if app.Access == sluice.ELB && app.Format == appfile.PipeCDv0 && without {
		return sluice.NoAccess
	}
	return app.Access
}

// refuseAccess rejects a service whose traffic sluice cannot shift.
func refuseAccess(app *appfile.Application, live plan.AWSState, o Options) error {
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: app.File, Err: fmt.Errorf(format, args...), Next: next}
	}
	if !o.QuickSync {
		if err := refuseConnect(app, live); err != nil {
			return err
		}
	}
	switch access := accessOf(app); access {
	case sluice.NoAccess:
		if i := slices.IndexFunc(app.Pipeline, isRouting); i >= 0 && !o.QuickSync {
			if app.Access == sluice.ELB { // the file is of PipeCD v0
				return problem("remove the stage, or "+steeringAdvice(app, live),
					"stage %d shifts traffic, but the file names no target group", i+1)
			}
			return problem("remove the stage, or set under input how callers reach the service: accessType: "+
				accessAdvice(app, live),
				"stage %d shifts traffic, but accessType is %s, so there is no traffic to shift", i+1, access)
		}
		return nil
	case sluice.ServiceDiscovery:
		return refuseDiscovery(app, live)
	case sluice.ELB:
		return refuseELB(app, live, problem)
	default:
		return problem("use accessType ELB with target groups",
			"this version of sluice does not support access type %s", access)
	}
}

func refuseELB(app *appfile.Application, live plan.AWSState,
	problem func(next, format string, args ...any) error) error {
	if app.Primary == nil || app.Primary.ARN == "" {
		return problem(steeringAdvice(app, live)+", or set accessType: NONE if the service has no callers",
			"accessType ELB needs a primary target group")
	}
	if err := refuseGroups(app, live); err != nil || HostingOf(app) != appfile.Services {
		return err
	}
	return refuseServiceGroups(app, live)
}

// steeringAdvice says what to write in the file so that sluice can shift traffic. It depends on the
// load balancer or registry that the service has.
func steeringAdvice(app *appfile.Application, live plan.AWSState) string {
	switch w := accessPathsOf(app, live); {
	case w.discovery && !w.balancer:
		return "set accessType: SERVICE_DISCOVERY under input, as callers use the name of the service registry"
	case w.discovery:
		return "name the target group under input.targetGroups.primary.targetGroupArn, or set accessType: " +
			"SERVICE_DISCOVERY under input to shift callers of the service registry's name"
	}
	return "name the target group under input.targetGroups.primary.targetGroupArn"
}

// accessAdvice returns the access type that fits the load balancer or registry of the service.
func accessAdvice(app *appfile.Application, live plan.AWSState) string {
	switch w := accessPathsOf(app, live); {
	case w.discovery && !w.balancer:
		return string(sluice.ServiceDiscovery)
	case w.balancer && !w.discovery:
		return string(sluice.ELB)
	}
	return string(sluice.ELB) + " or " + string(sluice.ServiceDiscovery)
}

func isRouting(s appfile.Stage) bool {
	_, ok := s.With.(appfile.TrafficRouting)
	return ok
}

// accessPaths are the paths on which callers reach a service, as far as its files and AWS show.
type accessPaths struct{ balancer, discovery, connect bool }

func accessPathsOf(app *appfile.Application, live plan.AWSState) accessPaths {
	in := app.Service.Input
	w := accessPaths{balancer: app.Primary != nil || len(in.LoadBalancers) > 0,
		discovery: len(in.ServiceRegistries) > 0, connect: hasEndpoints(in.ServiceConnectConfiguration)}
	if live.Service == nil || live.ServiceStatus() != "ACTIVE" {
		return w
	}
	given := app.Service.Given
	if !given["serviceRegistries"] {
		w.discovery = registryARN(live) != ""
	}
	if !given["loadBalancers"] {
		w.balancer = w.balancer || hasLoadBalancer(live)
	}
	if !given["serviceConnectConfiguration"] {
		w.connect = hasEndpoints(connectConfig(live.Service))
	}
	return w
}

// hasEndpoints reports whether callers reach the service through Service Connect. A service that
// only calls others has no endpoints.
func hasEndpoints(c *ecstypes.ServiceConnectConfiguration) bool {
	return c != nil && c.Enabled && len(c.Services) > 0
}

func connectConfig(s *ecstypes.Service) *ecstypes.ServiceConnectConfiguration {
	for _, d := range s.Deployments {
		if aws.ToString(d.Status) == "PRIMARY" {
			return d.ServiceConnectConfiguration
		}
	}
	return nil
}

// refuseConnect rejects a pipeline that shifts traffic of Service Connect: only ECS can set its
// shares. A file that names another access path may shift the traffic of that path.
func refuseConnect(app *appfile.Application, live plan.AWSState) error {
	if app.AccessGiven || !slices.ContainsFunc(app.Pipeline, isRouting) || !accessPathsOf(app, live).connect {
		return nil
	}
	return &sluice.Error{Op: "plan", Resource: app.File, Kind: sluice.Conflict,
		Err: errors.New("callers reach the service through Service Connect, and only ECS can set its shares"),
		Next: "use ECS's own strategies, which support Service Connect (deploymentConfiguration.strategy BLUE_GREEN, " +
			"LINEAR or CANARY, and no pipeline). If callers also use another path, set input.accessType to that path"}
}

// warnNoAccess warns if the access type is NONE but the files or AWS show that callers reach new
// tasks.
func warnNoAccess(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	if p.Access != sluice.NoAccess {
		return
	}
	w := accessPathsOf(app, live)
	if w.balancer {
		addWarning(p, "sluice shifts no traffic (access type NONE), but the service has a load balancer: requests "+
			"reach new tasks of the primary as soon as they are healthy")
	}
	if w.discovery {
		who := "new tasks of the primary as soon as they run"
		if !p.HasCanaryService() && len(app.Pipeline) > 0 && len(app.Service.Input.ServiceRegistries) > 0 {
			who = "every new task, also of the canary, as soon as it runs"
		}
		addWarning(p, "sluice shifts no traffic (access type NONE), but the service has a service registry: callers "+
			"of its name reach %s. To shift them, set accessType: SERVICE_DISCOVERY", who)
	}
	if w.connect {
		addWarning(p, "sluice shifts no traffic (access type NONE), but callers use Service Connect: requests reach "+
			"new tasks of the primary as soon as they are healthy")
	}
}

// warnUnsteeredPaths warns about callers whose traffic the pipeline does not shift.
func warnUnsteeredPaths(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	if !slices.ContainsFunc(p.Stages, plan.Stage.ShiftsTraffic) {
		return
	}
	w := accessPathsOf(app, live)
	if w.discovery && p.Access == sluice.ELB && p.HasCanaryService() {
		addWarning(p, "sluice does not shift callers of service discovery: they reach the primary, whose new tasks "+
			"get requests as soon as they run")
	}
	if w.connect {
		addWarning(p, "sluice does not shift callers of Service Connect: they reach the primary, whose new tasks get "+
			"requests as soon as they are healthy")
	}
}
