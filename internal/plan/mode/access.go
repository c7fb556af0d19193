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

// accessRules are everything that the making of a plan asks an access type. Each access type has a
// file with its rules. TestEveryAccessTypeHasRules fails for a field that one leaves empty.
type accessRules struct {
	access sluice.Access

	refuse      func(*appfile.Application, plan.AWSState, Options, problemFunc) error
	refuseStage func(*plan.Plan, problemFunc) error // a stage that starts a canary or shifts traffic
	fill        func(*plan.Plan, plan.AWSState)
	// planShares computes the shares that stages achieve with the desired count.
	planShares func(p *plan.Plan, desired int) error
	warn       func(*plan.Plan, *appfile.Application, plan.AWSState)
}

// problemFunc returns an error with its next step.
type problemFunc func(next, format string, args ...any) error

// allAccessRules returns the rules of all access types.
func allAccessRules() []accessRules {
	return []accessRules{elbRules(), cloudMapRules(), noAccessRules()}
}

func accessRulesOf(a sluice.Access) accessRules {
	all := allAccessRules()
	if i := slices.IndexFunc(all, func(r accessRules) bool { return r.access == a }); i >= 0 {
		return all[i]
	}
	none := noAccessRules()
	none.refuse = refuseUnknownAccess
	return none
}

func refuseUnknownAccess(app *appfile.Application, _ plan.AWSState, _ Options, problem problemFunc) error {
	return problem("use accessType ELB with target groups",
		"this version of sluice does not support access type %s", app.Access)
}

func fillNothing(*plan.Plan, plan.AWSState) {}

func allowStage(*plan.Plan, problemFunc) error { return nil }

func planNoShares(*plan.Plan, int) error { return nil }

// warnLostRegistry warns that the service leaves the registry that its callers use.
func warnLostRegistry(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	now := registryARN(live)
	if now != "" && !rulesOf(p.Mode()).ecsReplacesTasks && len(app.Service.Input.ServiceRegistries) == 0 {
		addWarning(p, "callers that use the name of service registry %s will not reach new tasks: the service "+
			"definition names no registry", sluice.ARNName(now))
	}
}

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
	return accessRulesOf(accessOf(app)).refuse(app, live, o, problem)
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

// hasLoadBalancer reports whether the PRIMARY task set or service is in a target group.
func hasLoadBalancer(l plan.AWSState) bool {
	if l.IsFirstDeployment() {
		return false
	}
	for _, ts := range l.Service.TaskSets {
		if aws.ToString(ts.Status) == "PRIMARY" && len(ts.LoadBalancers) > 0 {
			return true
		}
	}
	return len(l.Service.LoadBalancers) > 0
}

// refuseTwoPaths rejects a service with a load balancer and a registry if the file does not name
// the access type. sluice shifts the traffic of only one of them. It checks the files and the
// running service.
func refuseTwoPaths(app *appfile.Application, live plan.AWSState) error {
	w := accessPathsOf(app, live)
	if app.AccessGiven || !w.balancer || !w.discovery {
		return nil
	}
	if rulesOf(Of(app)).ecsReplacesTasks && len(app.Pipeline) == 0 {
		return nil // ECS's own update shifts the traffic of neither
	}
	return &sluice.Error{Op: "plan", Resource: app.File, Kind: sluice.Conflict,
		Err: fmt.Errorf("callers reach the service through a load balancer and by a Cloud Map name, and the file " +
			"does not choose one"),
		Next: "set accessType: ELB or accessType: SERVICE_DISCOVERY; callers on the other path reach new tasks as " +
			"soon as they run"}
}
