package mode

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// controllerOf returns the deployment controller that the file asks for. The default of AWS is ECS.
func controllerOf(app *appfile.Application) string {
	if c := app.Service.Input.DeploymentController; c != nil && c.Type != "" {
		return string(c.Type)
	}
	return plan.ControllerECS
}

// refuseUndeployable rejects an application that sluice cannot deploy, before the detailed checks.
func refuseUndeployable(app *appfile.Application, live plan.AWSState, o Options) error {
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: app.File, Err: fmt.Errorf(format, args...), Next: next}
	}
	if controllerOf(app) == plan.ControllerCodeDeploy {
		if err := refusePipeline(app, o); err != nil {
			return err
		}
	}
	if len(o.RollbackEvents) > 0 && controllerOf(app) != plan.ControllerCodeDeploy {
		return problem("remove --rollback-events",
			"rollback events need CodeDeploy, but the service definition has deployment controller %s",
			controllerOf(app))
	}
	if err := refuseController(controllerOf(app), live); err != nil {
		return err
	}
	if err := refuseTwoPaths(app, live); err != nil {
		return err
	}
	if err := refuseHosting(app, live, o); err != nil {
		return err
	}
	switch controllerOf(app) {
	case plan.ControllerECS:
		if HostingOf(app) == "" {
			return nil
		}
	case plan.ControllerCodeDeploy:
		return refuseCodeDeploy(app, live, o)
	default:
		if o.Force {
			return problem("remove --force-new-deployment; to run the stages again, use --force",
				"AWS cannot force a new deployment of a service with controller EXTERNAL")
		}
	}
	return refuseAccess(app, live, o)
}

// wantsNoTasks reports whether the desired count is 0. It uses the count of the file, otherwise the
// current count of the service.
func wantsNoTasks(app *appfile.Application, live plan.AWSState) bool {
	if n := app.Service.Input.DesiredCount; n != nil {
		return *n == 0
	}
	return live.Service != nil && live.ServiceStatus() == "ACTIVE" && live.Service.DesiredCount == 0
}

// refuseIdle rejects a pipeline of task sets whose desired count is 0: without a task no canary
// becomes healthy. Quick sync applies the count of the file.
func refuseIdle(p *plan.Plan, app *appfile.Application, live plan.AWSState) error {
	if p.QuickSync || controllerOf(app) != plan.ControllerExternal || !wantsNoTasks(app, live) {
		return nil
	}
	return &sluice.Error{Op: "plan", Resource: app.File,
		Err:  errors.New("the desired count is 0: without tasks, a task set of a pipeline cannot become healthy"),
		Next: "use --tasks 1 or more, or --quick-sync, which scales the service to 0"}
}

// refusePipeline rejects a pipeline of a CODE_DEPLOY service: CodeDeploy creates task sets and
// shifts traffic itself.
func refusePipeline(app *appfile.Application, o Options) error {
	i := slices.IndexFunc(app.Pipeline, isVariantStage)
	if i < 0 || o.QuickSync {
		return nil
	}
	return &sluice.Error{
		Op: fmt.Sprintf("plan stage %d %s", i+1, app.Pipeline[i].Name), Resource: app.File,
		Err: fmt.Errorf("the service definition has deployment controller CODE_DEPLOY: CodeDeploy manages its task " +
			"sets and traffic; a canary task set of sluice needs EXTERNAL"),
		Next: "use --quick-sync and name a canary under codedeploy.deploymentConfigName, such as " +
			"CodeDeployDefault.ECSCanary10Percent5Minutes; or set `deploymentController: {type: EXTERNAL}` in the " +
			"service definition",
	}
}

// refuseController rejects a file whose deployment controller differs from that of the running
// service. AWS switches some controllers in place (ECS API Reference, UpdateService).
func refuseController(want string, live plan.AWSState) error {
	s := live.Service
	if s == nil || live.ServiceStatus() == "INACTIVE" {
		return nil
	}
	have := plan.ControllerECS
	if s.DeploymentController != nil && s.DeploymentController.Type != "" {
		have = string(s.DeploymentController.Type)
	}
	if have == want {
		return nil
	}
	next := "switch it in place while no deployment runs: aws ecs update-service --deployment-controller type=" + want
	switch {
	case want == plan.ControllerECS && have == plan.ControllerExternal:
		next = "set `deploymentController: {type: EXTERNAL}` in the service definition, or " + next
	case want == plan.ControllerCodeDeploy:
		next = "delete the service and create it again, or change the file; AWS does not switch a service to " +
			"CODE_DEPLOY"
	case have == plan.ControllerECS:
		next += " (its running tasks become a task set that you delete when done)"
	}
	return &sluice.Error{Op: "plan", Resource: aws.ToString(s.ServiceArn), Kind: sluice.Conflict,
		Err: fmt.Errorf("the service has deployment controller %s, but the file requests %s", have, want), Next: next}
}
