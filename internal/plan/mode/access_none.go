package mode

import (
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// noAccessRules are the rules of a service without callers.
func noAccessRules() accessRules {
	return accessRules{access: sluice.NoAccess, refuse: refuseRouting, refuseStage: allowStage, fill: fillNothing,
		planShares: planNoShares, warn: warnNoAccess}
}

// refuseRouting rejects a stage that shifts traffic.
func refuseRouting(app *appfile.Application, live plan.AWSState, o Options, problem problemFunc) error {
	i := slices.IndexFunc(app.Pipeline, isRouting)
	switch {
	case i < 0 || o.QuickSync:
		return nil
	case app.Access == sluice.ELB: // the file is of PipeCD v0
		return problem("remove the stage, or "+steeringAdvice(app, live),
			"stage %d shifts traffic, but the file names no target group", i+1)
	}
	return problem("remove the stage, or set under input how callers reach the service: accessType: "+
		accessAdvice(app, live),
		"stage %d shifts traffic, but accessType is %s, so there is no traffic to shift", i+1, accessOf(app))
}

// warnNoAccess warns if the access type is NONE but the files or AWS show that callers reach new
// tasks. Without a pipeline nothing would be shifted anyway.
func warnNoAccess(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	warnLostRegistry(p, app, live)
	w := accessPathsOf(app, live)
	if w.balancer && len(app.Pipeline) > 0 {
		addWarning(p, "sluice shifts no traffic (access type NONE), but the service has a load balancer: requests "+
			"reach new tasks of the primary as soon as they are healthy")
	}
	if w.discovery {
		who := "new tasks of the primary as soon as they run"
		if !p.Mode().HasCanaryService() && len(app.Pipeline) > 0 && len(app.Service.Input.ServiceRegistries) > 0 {
			who = "every new task, also of the canary, as soon as it runs"
		}
		addWarning(p, "sluice shifts no traffic (access type NONE), but the service has a service registry: callers "+
			"of its name reach %s. To shift them, set accessType: SERVICE_DISCOVERY", who)
	}
	if w.connect && len(app.Pipeline) > 0 {
		addWarning(p, "sluice shifts no traffic (access type NONE), but callers use Service Connect: requests reach "+
			"new tasks of the primary as soon as they are healthy")
	}
}
