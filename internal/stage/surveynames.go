package stage

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
)

// surveyNames reads the name under which callers find the service, if that is
// what is to be steered, and who else is found under it.
func surveyNames(ctx context.Context, a *account.Account, c clock.Clock, app *appfile.Application, live *plan.Live) error {
	registries := app.Service.Input.ServiceRegistries
	if app.Access != sluice.ServiceDiscovery || len(registries) != 1 {
		return nil
	}
	r, err := cloudmap.Find(ctx, a.CloudMap(), aws.ToString(registries[0].RegistryArn), portOf(registries[0]))
	if err != nil {
		return err
	}
	live.Registry = &r
	all, err := cloudmap.Names{API: a.CloudMap(), Registry: r, Pause: c.Sleep}.Instances(ctx)
	for _, i := range all {
		if cloudmap.Stranger(i.ID) {
			live.Strangers = append(live.Strangers, i.ID)
		}
	}
	slices.Sort(live.Strangers)
	return err
}

// portOf is the port that ECS registers: given as such or as a container's, which
// under awsvpc is the same.
func portOf(r ecstypes.ServiceRegistry) int32 {
	if r.Port != nil {
		return *r.Port
	}
	return aws.ToInt32(r.ContainerPort)
}
