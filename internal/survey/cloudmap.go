package survey

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
)

// surveyNames reads the Cloud Map name of the service and the other instances under it, if the
// application routes by that name.
func surveyNames(ctx context.Context, a *account.Account, c clock.Clock, app *appfile.Application,
	live *plan.AWSState) error {
	arn, port, ok := mode.RegistryOf(app)
	if !ok {
		return nil
	}
	r, err := cloudmap.FindRegistry(ctx, a.CloudMap(), arn, port)
	if err != nil {
		return err
	}
	live.Registry = &r
	all, err := cloudmap.InstanceClient{API: a.CloudMap(), Registry: r, Pause: c.Sleep}.ListInstances(ctx)
	cluster, service := mode.ServiceNames(app)
	place := cloudmap.Place{Cluster: cluster, Service: service}
	live.Neighbours, live.LeftRecords = cloudmap.OtherServices(all, place), cloudmap.CountOwn(all, place)
	for _, i := range all {
		if cloudmap.IsUnknown(i.ID) {
			live.Strangers = append(live.Strangers, i.ID)
		}
	}
	slices.Sort(live.Strangers)
	if live.ServiceStatus() == "ACTIVE" && live.Service.DesiredCount > 0 && err == nil {
		live.Name = cloudmap.NameOf(r, all, func(id string) bool { return !cloudmap.IsUnknown(id) })
	}
	return err
}
