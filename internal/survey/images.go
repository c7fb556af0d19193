package survey

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// UseImagesOfService replaces from-service in the file by the images of the task definition that serves; of a standalone
// task, of the newest one. It reads AWS only if the file has one.
func UseImagesOfService(ctx context.Context, a *account.Account, app *appfile.Application) error {
	if !app.HasImagesOfService() {
		return nil
	}
	name := *app.Task.Input.Family
	if app.Service != nil {
		live, err := findService(ctx, a, app, "give the image of the first deployment with --image")
		if err != nil {
			return err
		}
		name = live.Serving()
	}
	var serving *definition.Task
	if name != "" {
		td, err := ecs.ReadDefinition(ctx, a.ECS(), name)
		if err != nil {
			return err
		}
		serving = definition.TaskOf(td)
	}
	return app.UseImagesOfService(serving)
}
