package mode

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// resetsLeftOut reports whether a file of this format sets the members that its service definition leaves out back to
// AWS's default, as ecspresso does. PipeCD keeps them.
func resetsLeftOut(f appfile.Format) bool { return f == appfile.Sluice || f == appfile.Ecspresso }

// withLeftOut returns the application with AWS's default for the members that its service definition leaves out and
// that the running service has. With a format that keeps these members, a note names them.
func withLeftOut(app *appfile.Application, live plan.AWSState) *appfile.Application {
	if app.Format == "" || live.ServiceStatus() != "ACTIVE" {
		return app
	}
	a := *app
	a.Service = app.Service.WithFullConfiguration(live.Service)
	filled, diffs := a.Service.WithDefaults(live.Service, app.KeepsMember)
	if len(diffs) == 0 {
		return &a
	}
	if resetsLeftOut(app.Format) {
		a.Service = filled
		return &a
	}
	a.Notes = append(slices.Clone(app.Notes), "the service definition leaves out members that the service has, and "+
		"they stay as they are: "+leftOutText(diffs)+"; write a member to change it")
	return &a
}

// leftOutText lists members with their values in AWS.
func leftOutText(diffs []definition.Difference) string {
	var all []string
	for _, d := range diffs {
		all = append(all, d.Path+" ("+d.Have+")")
	}
	return strings.Join(all, ", ")
}

// warnReset warns about callers that do not reach the service after members were set back to AWS's default.
func warnReset(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	in := app.Service.Input
	if app.Service.Given["loadBalancers"] && len(in.LoadBalancers) == 0 && p.Mode() == plan.ModeRolling && hasLoadBalancer(live) {
		addWarning(p, "the service definition names no load balancer, and the deployment takes the service out of target "+
			"group %s: its callers get errors. To keep it, add loadBalancers to the service definition",
			sluice.TargetGroupName(*live.Service.LoadBalancers[0].TargetGroupArn))
	}
}

// warnGracePeriod warns that a grace period which the service definition leaves out is set back to 0: ECS stops a task that
// starts slowly.
func warnGracePeriod(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	const member = "healthCheckGracePeriodSeconds"
	if live.ServiceStatus() != "ACTIVE" || !app.Service.Given[member] || app.PlaceOfKey(member) != "" {
		return
	}
	was, is := aws.ToInt32(live.Service.HealthCheckGracePeriodSeconds), aws.ToInt32(app.Service.Input.HealthCheckGracePeriodSeconds)
	if is < was {
		addWarning(p, "the service definition leaves out %s, and the deployment sets it from %d to %d: ECS stops tasks that are "+
			"not healthy yet while they start. To keep it, add %[1]s: %[2]d to the service definition", member, was, is)
	}
}
