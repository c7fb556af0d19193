package ecs

import (
	"fmt"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// currentSet returns the task set or deployment that represents a service: the PRIMARY one, or the
// only one, as after a switch to EXTERNAL. It returns nil if there is none.
func currentSet(svc *world.Service) *world.TaskSet {
	if p := svc.Primary(); p != nil || len(svc.TaskSets) != 1 {
		return p
	}
	return svc.TaskSets[0]
}

// checkControllerSwitch rejects a change of the deployment controller that AWS rejects (API
// Reference, UpdateService, deploymentController).
func (edit serviceEditor) checkControllerSwitch(svc *world.Service, in *awsecs.UpdateServiceInput, to string) error {
	switch {
	case to == "CODE_DEPLOY":
		return notSimulated("Changing the deployment controller from " + svc.Controller + " to CODE_DEPLOY")
	case edit.history.isBusy(svc):
		return invalidParameter("Unable to update the deployment controller from %s to %s while a deployment is in "+
			"progress.", svc.Controller, to)
	case to == "ECS":
		return nil
	}
	next, err := mergedConfiguration(svc, svc.Controller, in.DeploymentConfiguration)
	if err == nil && needsECSController(next) {
		err = invalidParameter("Unable to update the deployment controller from ECS to %s: alarms, circuit breaker, "+
			"early success criteria and strategies other than ROLLING are only supported with the ECS deployment "+
			"controller.", to)
	}
	return err
}

// isBusy reports whether a service is being changed. With controller ECS that is a running
// deployment; otherwise more than one task set or a CodeDeploy deployment.
func (h rolloutHistory) isBusy(svc *world.Service) bool {
	if all := scheduler.RolloutsOf(svc); svc.Controller == "ECS" && len(all) > 0 && !all[len(all)-1].HasEnded() {
		return true
	}
	return svc.DeployedBy != "" || len(svc.TaskSets) > 1 || len(svc.TaskSets) == 1 &&
		svc.TaskSets[0].Status == "DRAINING"
}

// switchController changes the deployment controller in place. Running tasks continue.
func (edit serviceEditor) switchController(tx *world.Tx, svc *world.Service, to string) {
	d := &docOfService(svc).shape
	d.DeploymentController.Type = ecstypes.DeploymentControllerType(to)
	if to == "EXTERNAL" && svc.Controller == "CODE_DEPLOY" {
		edit.sched.ReleaseFromCodeDeploy(tx, svc)
		return
	}
	if to == "EXTERNAL" {
		for _, ts := range svc.TaskSets {
			ts.ARN = tx.ARN("ecs", fmt.Sprintf("task-set/%s/%s/%s", svc.Cluster.Name, svc.Name, ts.ID))
		}
		edit.sched.SwitchToExternal(tx, svc)
		return
	}
	c := d.DeploymentConfiguration
	if c.Strategy = "ROLLING"; c.BakeTimeInMinutes == nil {
		c.BakeTimeInMinutes = ptr(int32(0))
	}
	if c.DeploymentCircuitBreaker == nil {
		c.DeploymentCircuitBreaker = &ecstypes.DeploymentCircuitBreaker{}
	}
	edit.sched.SetRules(tx, svc, rulesOf(c))
	edit.sched.SwitchToECS(tx, svc)
	if len(svc.TaskSets) > 0 {
		edit.history.recordDeployment(tx, svc)
	}
}
