package mode

import (
	"fmt"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// refuseUndeployable rejects an application that sluice cannot deploy, before the detailed checks.
func refuseUndeployable(app *appfile.Application, live plan.AWSState, o Options) error {
	r := rulesOf(Of(app))
	if err := r.refuseEarly(app, o); err != nil {
		return err
	}
	if err := refuseCount(app, o); err != nil {
		return err
	}
	if err := refuseController(app, live); err != nil {
		return err
	}
	if err := refuseTwoPaths(app, live); err != nil {
		return err
	}
	if err := refuseHosting(app); err != nil {
		return err
	}
	if err := r.refuse(app, live, o); err != nil {
		return err
	}
	return refuseProblems(live)
}

// refuseRollbackEvents rejects events for CodeDeploy, which does not deploy the service.
func refuseRollbackEvents(app *appfile.Application, o Options) error {
	if len(o.RollbackEvents) == 0 {
		return nil
	}
	return &sluice.Error{Op: "plan", Resource: app.File,
		Err: fmt.Errorf("rollback events need CodeDeploy, but the service definition has deployment controller %s",
			controllerOf(app)),
		Next: "remove --rollback-events"}
}

// refuseCount rejects a number of tasks for a DAEMON service: ECS starts one task on each instance.
func refuseCount(app *appfile.Application, o Options) error {
	if o.Tasks == nil || app.Service == nil || app.Service.Input.SchedulingStrategy != ecstypes.SchedulingStrategyDaemon {
		return nil
	}
	return &sluice.Error{Op: "plan", Resource: app.File,
		Err:  fmt.Errorf("the service is a DAEMON with one task on each instance, so it cannot have %d tasks", *o.Tasks),
		Next: "leave --tasks out"}
}

// wantsNoTasks reports whether the desired count is 0. It uses the count of the file, otherwise the
// current count of the service.
func wantsNoTasks(app *appfile.Application, live plan.AWSState) bool {
	if n := app.Service.Input.DesiredCount; n != nil {
		return *n == 0
	}
	return live.Service != nil && live.ServiceStatus() == "ACTIVE" && live.Service.DesiredCount == 0
}

// refuseHosting rejects a hosting that the deployment controller does not support.
func refuseHosting(app *appfile.Application) error {
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
	}
	return nil
}
