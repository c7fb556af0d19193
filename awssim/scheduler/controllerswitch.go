package scheduler

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// SwitchToExternal changes the controller of a service from ECS to EXTERNAL while no deployment
// runs. Its deployment becomes an ACTIVE task set that its owner deletes (API Reference,
// UpdateService, deploymentController).
func (s *Scheduler) SwitchToExternal(tx *world.Tx, svc *world.Service) {
	svc.Controller = "EXTERNAL"
	for _, r := range stateOfService(svc).rollouts {
		r.Target.RolloutState, r.Target.RolloutReason = "", ""
	}
	for _, ts := range svc.TaskSets {
		ts.Status, ts.Scale, ts.UpdatedAt = "ACTIVE", 100, tx.Now()
		resizeSet(tx, ts)
	}
	tx.Log("service", svc.ID(), "controller ECS -> EXTERNAL")
	tx.Changed(world.ServiceChanged, svc)
}

// ReleaseFromCodeDeploy changes the controller of a service from CODE_DEPLOY to EXTERNAL while no
// deployment runs. Its task sets stay unchanged.
func (s *Scheduler) ReleaseFromCodeDeploy(tx *world.Tx, svc *world.Service) {
	svc.Controller = "EXTERNAL"
	tx.Log("service", svc.ID(), "controller CODE_DEPLOY -> EXTERNAL")
	tx.Changed(world.ServiceChanged, svc)
}

// SwitchToECS changes the controller of a service from EXTERNAL or CODE_DEPLOY to ECS while no
// deployment runs. Its PRIMARY task set becomes its deployment.
func (s *Scheduler) SwitchToECS(tx *world.Tx, svc *world.Service) {
	tx.Log("service", svc.ID(), "controller %s -> ECS", svc.Controller)
	svc.Controller = "ECS"
	for _, ts := range svc.TaskSets {
		steady := ts.Stability == "STEADY_STATE" && ts.Scale == 100
		r := openRollout(tx, ts)
		makePrimary(tx, ts, progressReason(ts))
		r.startRollout(tx)
		if steady {
			completeRollout(tx, svc, r)
		}
	}
	tx.Changed(world.ServiceChanged, svc)
}
