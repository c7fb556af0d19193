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
	if err := refuseManyTasks(app, live, o); err != nil {
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

// tasksPerService is how many tasks a service may have, unless AWS has raised the quota (ECS Developer Guide, "Amazon ECS
// service quotas").
const tasksPerService = 5000

// refuseManyTasks rejects a desired count beyond the quota, which ECS refuses after the first writes. A service with as many
// tasks shows that the account has a higher quota.
func refuseManyTasks(app *appfile.Application, live plan.AWSState, o Options) error {
	count, place := 0, ""
	switch in := app.Service.Input; {
	case o.Tasks != nil:
		count = *o.Tasks
	case in.DesiredCount != nil:
		count, place = int(*in.DesiredCount), app.PlaceOfKey("desiredCount")
	}
	exists := live.ServiceStatus() == "ACTIVE"
	if count <= tasksPerService || exists && live.Service.DesiredCount > tasksPerService {
		return nil
	}
	cluster, name := app.ClusterName(), *app.Service.Input.ServiceName
	next := fmt.Sprintf("use %d or less, or several services", tasksPerService)
	if exists {
		next = fmt.Sprintf("use %d or less; with a raised quota, first run: aws ecs update-service --cluster %s --service %s "+
			"--desired-count %d", tasksPerService, cluster, name, count)
	}
	return appfile.LocateAt(place, &sluice.Error{Op: "plan", Resource: cluster + "/" + name,
		Err:  fmt.Errorf("%d tasks are more than %d, AWS's quota of tasks per service", count, tasksPerService),
		Next: next})
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
