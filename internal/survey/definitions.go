package survey

import (
	"context"
	"errors"
	"strconv"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// LiveDefinitions says which definitions of the files are replaced by what AWS has. LatestTask excludes the other two
// task definitions.
type LiveDefinitions struct {
	ServingTask bool // the task definition that serves; of a standalone task, the newest one
	LatestTask  bool // the newest task definition of the family
	Revision    int  // that revision of the family, also if ServingTask is set; 0: none
	Copy        bool // a copy of Revision is registered if it is INACTIVE
	Service     bool // the service as it is, with any desired count
}

// ReplaceIn replaces the definitions in the application. It makes no write.
func (d LiveDefinitions) ReplaceIn(ctx context.Context, a *account.Account, app *appfile.Application) error {
	var live *ecs.ServiceState
	if app.Service != nil && (d.ServingTask || d.Service) {
		var err error
		if live, err = findService(ctx, a, app, "run sluice deploy to create it"); err != nil {
			return err
		}
	}
	if d.Service {
		if err := keepService(app, live); err != nil {
			return err
		}
	}
	name := *app.Task.Input.Family
	switch {
	case d.Revision != 0:
		name += ":" + strconv.Itoa(d.Revision)
	case d.ServingTask && live != nil:
		name = live.Serving()
	case !d.ServingTask && !d.LatestTask:
		return nil
	}
	if d.Copy {
		if inactive, err := ecs.ReadDeregistered(ctx, a.ECS(), name); err != nil || inactive != nil {
			app.Task = inactive
			return err
		}
	}
	return useRegistered(ctx, a, app, name)
}

// findService reads the service of the application, which has to exist; next is the advice if it does not.
func findService(ctx context.Context, a *account.Account, app *appfile.Application, next string) (*ecs.ServiceState,
	error) {
	hand := ecs.Service{API: a.ECS(), Cluster: app.ClusterRef(), Name: *app.Service.Input.ServiceName}
	live, err := hand.Observe(ctx)
	if err == nil && !live.IsActive() {
		err = NoServiceError(ctx, hand, next)
	}
	return live, nameClusters(ctx, hand, err, "")
}

// keepService replaces the service definition by the service as it is. It gives no desired count, because
// another actor may change that before it would be written.
func keepService(app *appfile.Application, live *ecs.ServiceState) error {
	if live == nil {
		return &sluice.Error{Op: "read the service", Resource: app.File,
			Err:  errors.New("the application is a standalone task, and has no service"),
			Next: "run sluice run --count N, which starts N tasks"}
	}
	service, err := definition.ServiceFromAWS(&live.Raw)
	if err != nil {
		return err
	}
	app.Service = service.WithAnyCount()
	return nil
}

// useRegistered replaces the task definition by a registered one: a family:revision, or a family for its newest.
func useRegistered(ctx context.Context, a *account.Account, app *appfile.Application, name string) error {
	if name == "" {
		return &sluice.Error{Op: "select the task definition", Resource: app.File,
			Err: errors.New("no task definition serves"), Next: "run sluice deploy with the task definition of the files"}
	}
	task, rev, err := ecs.ReadActive(ctx, a.ECS(), name)
	if err == nil {
		app.Task, app.Registered = task, rev.Name
	}
	return err
}
