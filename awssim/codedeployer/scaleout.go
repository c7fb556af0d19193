package codedeployer

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// watchScaleOut watches the desired count of a service during a deployment. The deployment fails if
// the count stays above its start value for five minutes (setting ScaledOutLimit) before all
// traffic is shifted.
func (s *Controller) watchScaleOut(tx *world.Tx, svc *world.Service) {
	limit := tx.Settings().ScaledOutLimit
	if svc.DeployedBy == "" || limit <= 0 {
		return
	}
	d, ok := StateOf(tx).Deployments.Get(svc.DeployedBy)
	if !ok || d.Service != svc {
		return
	}
	isOut := svc.Desired > d.startCount
	switch {
	case !isOut:
		tx.Cancel(d.scaleOutLimit)
	case !d.scaleOutLimit.Pending():
		d.scaleOutLimit = tx.After(limit, func(tx *world.Tx) { s.failScaledOut(tx, d) })
	}
}

func (s *Controller) failScaledOut(tx *world.Tx, d *Deployment) {
	if d.HasEnded() || d.stopping || d.Green == nil || d.Weight >= 100 {
		return
	}
	s.failDeployment(tx, d, Failure{"ECS_UPDATE_ERROR",
		"The deployment failed because the Amazon ECS service was scaled out for more than five minutes during the " +
			"deployment."})
}
