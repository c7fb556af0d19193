package survey

import (
	"context"
	"errors"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/autoscaling"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// surveyScaling reads the scalable targets if the plan depends on them: the file changes auto
// scaling, the file or a flag gives a desired count, traffic moves while AWS does not pause scale-in, or a lost
// deployment left them suspended. A user who does not need them needs no permission to read them.
func surveyScaling(ctx context.Context, a *account.Account, app *appfile.Application, live *plan.AWSState) error {
	left := live.Tags[plan.ScalingTag]
	counts := (app.Service.Input.DesiredCount != nil || app.Scaling.SetsCount) && live.ServiceStatus() == "ACTIVE"
	if !app.Scaling.IsRequested() && !mode.Of(app).HasVariants() && left == "" && !counts {
		return nil
	}
	live.Scaling = &plan.ScalingState{Left: left}
	var err error
	live.Scaling.Targets, err = autoscaling.Service{API: a.Scaling(), Cluster: app.ClusterRef(),
		Name: *app.Service.Input.ServiceName}.Observe(ctx)
	if errors.Is(err, sluice.ErrNoPermission) {
		live.Scaling.Denied, err = sluice.Inner(err).Error(), nil
	}
	return err
}
