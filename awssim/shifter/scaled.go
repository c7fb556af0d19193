package shifter

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// watchScaleOut watches the desired count of a service during a deployment. The deployment fails if
// the count stays above its start value for five minutes (setting ScaledOutLimit) before all
// traffic is shifted.
func (s *Shifter) scaled(tx *world.Tx, svc *world.Service) {
	limit := tx.Knobs().ScaledOutLimit
	if svc.DeployedBy == "" || limit <= 0 {
		return
	}
	d, ok := StateOf(tx).Deployments.Get(svc.DeployedBy)
	if !ok || d.Service != svc {
		return
	}
	isOut := svc.Desired > d.began
	switch {
	case !isOut:
		tx.Cancel(d.out)
	case !d.out.Pending():
		d.out = tx.After(limit, func(tx *world.Tx) { s.scaledOut(tx, d) })
	}
}

func (s *Shifter) scaledOut(tx *world.Tx, d *Deployment) {
	if d.Ended() || d.stopping || d.Green == nil || d.Weight >= 100 {
		return
	}
	s.fail(tx, d, Failure{"ECS_UPDATE_ERROR",
		"The deployment failed because the Amazon ECS service was scaled out for more than five minutes during the deployment."})
}
