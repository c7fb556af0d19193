package mode

import (
	"errors"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/view"
)

// refuseUnhealthyRoute rejects a deployment while production rules send requests to a group that cannot serve,
// although another group of the service can. Its first stage would give untested tasks all requests, and its rollback
// would restore the outage. A deployment that first removes leftovers moves the weights itself.
func refuseUnhealthyRoute(p *plan.Plan, app *appfile.Application, live plan.AWSState) error {
	problems := live.Callers.Repairable()
	if len(problems) == 0 || app.OnUnhealthyRoute == sluice.AllowRoute || p.Stages[0].Name == appfile.StageAdopt {
		return nil
	}
	return &sluice.Error{Op: "plan", Resource: problems[0].Route.ARN, Kind: sluice.Conflict,
		Err:  errors.New("callers do not reach the service: " + view.Texts(problems)),
		Next: problems[0].Next() + ". Or set onUnhealthyRoute: allow in the application file to deploy anyway"}
}

// warnCallers says what callers get before the deployment begins.
func warnCallers(p *plan.Plan, live plan.AWSState) {
	t := live.Callers
	if !t.IsRead() || len(t.Groups) == 0 {
		return
	}
	switch problems := t.Problems(view.Traffic{}); {
	case len(problems) > 0:
		addWarning(p, "callers do not reach the service now: %s", view.Texts(problems))
	case !t.ReceivesRequests():
		p.Notes = append(p.Notes, "no rule of the load balancer sends requests to the target groups of the service: it "+
			"receives no requests")
	}
}
