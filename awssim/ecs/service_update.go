package ecs

import (
	"context"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// UpdateService changes a service; with controller ECS some fields start a rolling deployment. A
// null list keeps the present value, an empty list removes it.
func (s *Service) UpdateService(ctx context.Context, in *awsecs.UpdateServiceInput) (*awsecs.UpdateServiceOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.UpdateServiceOutput, error) {
		svc, err := activeService(tx, in.Cluster, in.Service)
		if err != nil {
			return nil, err
		}
		if err := s.editor.updateService(tx, svc, deepCopy(in)); err != nil {
			return nil, err
		}
		return &awsecs.UpdateServiceOutput{Service: s.history.showService(svc, true)}, nil
	})
}

func (edit serviceEditor) updateService(tx *world.Tx, svc *world.Service, in *awsecs.UpdateServiceInput) error {
	to := svc.Controller
	if c := in.DeploymentController; c != nil && c.Type != "" {
		to = string(c.Type)
	}
	switches := to != svc.Controller
	if switches {
		if err := edit.checkControllerSwitch(svc, in, to); err != nil {
			return err
		}
	}
	if err := firstError(checkUpdate(svc, in, to, switches), edit.checkBackToRolling(svc, in)); err != nil {
		return err
	}
	if svc.Daemon && in.DesiredCount != nil {
		return errDaemonCount()
	}
	if err := firstError(
		checkStrategy(docOfCluster(svc.Cluster).CapacityProviders, in.CapacityProviderStrategy),
		checkOtherStrategy(svc, in), checkUpdatedPlacement(svc, in), checkUpdatedRebalancing(svc, in)); err != nil {
		return err
	}
	var next *world.TaskSet
	if to == "ECS" && startsDeployment(in) {
		var err error
		if next, err = nextDeployment(tx, svc, in); err != nil {
			return err
		}
	} else if to == "ECS" && !switches {
		if err := checkRunning(tx, svc, updatedStrategy(svc, in)); err != nil {
			return err
		}
	}
	err := firstError(checkUpdatedExec(svc, in, next), checkUpdatedGrace(svc, in, next),
		setConfiguration(svc, to, in.DeploymentConfiguration))
	if err != nil {
		return err
	}
	setShape(svc, in, next == nil)
	if switches {
		edit.switchController(tx, svc, to)
	}
	edit.applyUpdate(tx, svc, in, next)
	return nil
}

// checkBackToRolling refuses the way back to rolling deployments while a deployment runs (Developer
// Guide, "Update the deployment strategy from Amazon ECS blue/green to rolling update").
func (edit serviceEditor) checkBackToRolling(svc *world.Service, in *awsecs.UpdateServiceInput) error {
	was, next := docOfService(svc).shape.DeploymentConfiguration, updatedStrategy(svc, in)
	if was == nil || !isShifting(was.Strategy) || isShifting(next) {
		return nil
	}
	if all := scheduler.RolloutsOf(svc); len(all) > 0 && !all[len(all)-1].HasEnded() {
		return invalidParameter("Unable to update the deployment strategy from %s to %s while a deployment is in progress.",
			was.Strategy, next)
	}
	return nil
}

// checkOtherStrategy rejects another capacity provider strategy without a new deployment.
func checkOtherStrategy(svc *world.Service, in *awsecs.UpdateServiceInput) error {
	running := currentSet(svc)
	if in.CapacityProviderStrategy == nil || in.ForceNewDeployment || running == nil {
		return nil
	}
	had := docOfSet(running).CapacityProviderStrategy
	if requestFingerprint(orEmpty(had)) != requestFingerprint(in.CapacityProviderStrategy) {
		return invalidParameter("When switching from launch type to capacity provider strategy on an existing service, or " +
			"making a change to a capacity provider strategy on a service that is already using one, you must force a new " +
			"deployment.")
	}
	return nil
}

func checkUpdatedPlacement(svc *world.Service, in *awsecs.UpdateServiceInput) error {
	w := &workload{}
	if running := currentSet(svc); running != nil {
		w.launchType = ecstypes.LaunchType(running.LaunchType)
	}
	return w.checkPlacement(in.PlacementConstraints, in.PlacementStrategy)
}

// updatedSet returns the task set that runs after an update.
func updatedSet(svc *world.Service, next *world.TaskSet) *world.TaskSet {
	if next != nil {
		return next
	}
	return currentSet(svc)
}

func checkUpdatedExec(svc *world.Service, in *awsecs.UpdateServiceInput, next *world.TaskSet) error {
	ts := updatedSet(svc, next)
	if ts == nil {
		return nil
	}
	enabled := docOfService(svc).shape.EnableExecuteCommand
	if in.EnableExecuteCommand != nil {
		enabled = *in.EnableExecuteCommand
	}
	return checkExec(ts.Definition, enabled, "service couldn't be updated")
}

func checkUpdatedGrace(svc *world.Service, in *awsecs.UpdateServiceInput, next *world.TaskSet) error {
	ts := updatedSet(svc, next)
	if svc.Controller != "ECS" || ts == nil || val(in.HealthCheckGracePeriodSeconds) == 0 || hasGraceChecks(ts) {
		return nil
	}
	return errGrace()
}

func errGrace() error {
	return invalidParameter("Health check grace period is only valid for services configured to use load balancers")
}

// applyUpdate calls the scheduler for a checked update.
func (edit serviceEditor) applyUpdate(tx *world.Tx, svc *world.Service, in *awsecs.UpdateServiceInput,
	next *world.TaskSet) {
	if svc.Controller == "ECS" && in.DeploymentConfiguration != nil {
		edit.sched.SetRules(tx, svc, rulesOf(docOfService(svc).shape.DeploymentConfiguration))
		edit.history.refreshConfiguration(svc)
	}
	if in.DesiredCount != nil {
		edit.sched.SetDesired(tx, svc, int(*in.DesiredCount))
	}
	if next != nil {
		edit.sched.AddTaskSet(tx, next)
		edit.history.recordDeployment(tx, svc)
	}
	edit.sched.RetryHeldStarts(tx, svc)
}

func checkUpdate(svc *world.Service, in *awsecs.UpdateServiceInput, controller string, switches bool) error {
	switch {
	case val(in.DesiredCount) < 0:
		return invalidParameter("Task count can not be lesser than 0")
	case val(in.DesiredCount) > maxServiceTasks:
		return errTooManyTasks()
	case val(in.HealthCheckGracePeriodSeconds) < 0:
		return invalidParameter("healthCheckGracePeriodSeconds can not be negative.")
	}
	if err := checkUpdateNotSimulated(svc, in, ecstypes.DeploymentControllerType(controller)); err != nil {
		return err
	}
	switch controller {
	case "EXTERNAL":
		return checkUpdateExternal(in, switches)
	case "CODE_DEPLOY":
		return checkUpdateCodeDeploy(in)
	}
	return nil
}

// checkUpdateExternal rejects all fields but desired count, grace period, placement, tag settings
// and enableExecuteCommand. The error texts follow those seen for CODE_DEPLOY. The call that
// switches to EXTERNAL may turn the circuit breaker off.
func checkUpdateExternal(in *awsecs.UpdateServiceInput, switches bool) error {
	if in.ForceNewDeployment {
		return invalidParameter("Cannot force a new deployment on services with a EXTERNAL deployment controller.")
	}
	for _, x := range []struct {
		name string
		set  bool
	}{
		{"task definition", in.TaskDefinition != nil},
		{"network parameters", in.NetworkConfiguration != nil},
		{"network parameters", in.PlatformVersion != nil},
		{"load balancers", in.LoadBalancers != nil},
		{"service registries", in.ServiceRegistries != nil},
		{"capacity provider strategy", in.CapacityProviderStrategy != nil},
		{"deployment configuration", in.DeploymentConfiguration != nil && !switches},
		{"service connect configuration", isConnected(in.ServiceConnectConfiguration)},
		{"volume configurations", len(in.VolumeConfigurations) > 0},
	} {
		if x.set {
			return invalidParameter("Unable to update %s on services with a EXTERNAL deployment controller.", x.name)
		}
	}
	return nil
}

// startsDeployment reports whether an update has a field that starts a deployment (API Reference,
// UpdateService).
func startsDeployment(in *awsecs.UpdateServiceInput) bool {
	return in.TaskDefinition != nil || in.NetworkConfiguration != nil || in.PlatformVersion != nil ||
		in.LoadBalancers != nil || in.ServiceRegistries != nil || in.VolumeConfigurations != nil ||
		in.ServiceConnectConfiguration != nil || in.ForceNewDeployment
}

// nextDeployment creates a deployment from the running one and the given fields. It returns nil if
// both are the same and no new deployment is forced.
func nextDeployment(tx *world.Tx, svc *world.Service, in *awsecs.UpdateServiceInput) (*world.TaskSet, error) {
	running := currentSet(svc)
	if running == nil && in.TaskDefinition == nil {
		return nil, invalidParameter("Family should not be null or empty.")
	}
	w, registries := runningWorkload(running), []ecstypes.ServiceRegistry{}
	if running != nil {
		registries = deepCopy(docOfSet(running).ServiceRegistries)
	}
	if err := w.mergeUpdate(tx, svc, in); err != nil {
		return nil, err
	}
	if in.ServiceRegistries != nil {
		registries = in.ServiceRegistries
	}
	if !isShifting(updatedStrategy(svc, in)) {
		w.keepLiveGroups(running)
	}
	if err := w.checkDeployed(tx, svc, updatedStrategy(svc, in), registries); err != nil {
		return nil, err
	}
	ts := w.buildTaskSet(tx, svc)
	if err := attachRegistry(tx, ts, registries); err != nil {
		return nil, err
	}
	if running != nil && !in.ForceNewDeployment && running.Definition == ts.Definition && sameWorkload(running, ts) {
		return nil, nil
	}
	return ts, nil
}

// sameWorkload reports whether two deployments of one definition run with the same settings.
func sameWorkload(a, b *world.TaskSet) bool {
	x, y := deepCopy(*docOfSet(a)), deepCopy(*docOfSet(b))
	x.CapacityProviderStrategy, y.CapacityProviderStrategy = nil, nil
	x.ExternalId, x.Tags, x.LaunchType, y.LaunchType = nil, nil, "", ""
	x.ServiceRegistries, y.ServiceRegistries = orEmpty(x.ServiceRegistries), orEmpty(y.ServiceRegistries)
	return requestFingerprint(x) == requestFingerprint(y) && asksForPlatform(a) == asksForPlatform(b) &&
		sameDeploymentDoc(docOfDeployment(a), docOfDeployment(b))
}

// asksForPlatform returns the platform version that a deployment was asked for. A pinned version is another request
// than LATEST, also if LATEST is that version now.
func asksForPlatform(ts *world.TaskSet) string {
	if v := val(requestedPlatform(ts)); v != "" {
		return v
	}
	return "LATEST"
}

func sameDeploymentDoc(a, b *deploymentDoc) bool {
	return requestFingerprint(orEmpty(a.volumes)) == requestFingerprint(orEmpty(b.volumes)) &&
		requestFingerprint(a.connect) == requestFingerprint(b.connect)
}

func runningWorkload(ts *world.TaskSet) *workload {
	if ts == nil {
		return &workload{}
	}
	doc := deepCopy(*docOfSet(ts))
	return &workload{definition: ts.Definition, launchType: doc.LaunchType, strategy: doc.CapacityProviderStrategy,
		platform: requestedPlatform(ts), network: doc.NetworkConfiguration, balancers: doc.LoadBalancers,
		deploymentDoc: deploymentDoc{deepCopy(docOfDeployment(ts).volumes), deepCopy(docOfDeployment(ts).connect)}}
}

// mergeUpdate applies the fields of an update to a workload.
func (w *workload) mergeUpdate(tx *world.Tx, svc *world.Service, in *awsecs.UpdateServiceInput) error {
	if in.TaskDefinition != nil {
		d, err := definitionFor(tx, *in.TaskDefinition)
		if err != nil {
			return err
		}
		w.definition = d
	}
	if in.NetworkConfiguration != nil {
		w.network = in.NetworkConfiguration
	}
	if in.PlatformVersion != nil {
		w.platform = in.PlatformVersion
	}
	if in.LoadBalancers != nil {
		w.balancers = in.LoadBalancers
	}
	if in.CapacityProviderStrategy != nil {
		w.strategy, w.launchType = in.CapacityProviderStrategy, ""
		if len(w.strategy) == 0 {
			w.launchType = docOfService(svc).launchType
		}
		if err := checkFallback(svc, w); err != nil {
			return err
		}
	}
	if in.VolumeConfigurations != nil {
		w.volumes = in.VolumeConfigurations
	}
	if in.ServiceConnectConfiguration != nil {
		w.connect = in.ServiceConnectConfiguration
	}
	return nil
}

// checkFallback rejects an empty capacity provider strategy for a service that has nothing else: it was created with a
// strategy, and its cluster has no default (CloudFormation Template Reference, AWS::ECS::Service).
func checkFallback(svc *world.Service, w *workload) error {
	if len(w.strategy) > 0 || w.launchType != "" || len(docOfCluster(svc.Cluster).DefaultCapacityProviderStrategy) > 0 {
		return nil
	}
	return invalidParameter("No launch type to fall back to for empty capacity provider strategy. Your service was not " +
		"created with a launch type.")
}

// setShape stores the given fields that start no deployment. goesOn reports whether the running
// deployment continues.
func setShape(svc *world.Service, in *awsecs.UpdateServiceInput, goesOn bool) {
	d := &docOfService(svc).shape
	if in.HealthCheckGracePeriodSeconds != nil {
		d.HealthCheckGracePeriodSeconds, svc.Grace = in.HealthCheckGracePeriodSeconds,
			secondsDuration(in.HealthCheckGracePeriodSeconds)
	}
	if in.EnableECSManagedTags != nil {
		d.EnableECSManagedTags = *in.EnableECSManagedTags
	}
	if in.EnableExecuteCommand != nil {
		d.EnableExecuteCommand = *in.EnableExecuteCommand
	}
	if in.PropagateTags != "" {
		d.PropagateTags = in.PropagateTags
	}
	if in.AvailabilityZoneRebalancing != "" {
		d.AvailabilityZoneRebalancing = in.AvailabilityZoneRebalancing
	}
	if in.PlacementConstraints != nil {
		d.PlacementConstraints = in.PlacementConstraints
	}
	if in.PlacementStrategy != nil {
		d.PlacementStrategy = in.PlacementStrategy
	}
	if p := svc.Primary(); p != nil && svc.Controller == "ECS" && in.CapacityProviderStrategy != nil && goesOn {
		docOfSet(p).CapacityProviderStrategy = in.CapacityProviderStrategy
		p.Providers = providersIn(in.CapacityProviderStrategy)
	}
}

// DeleteService drains a service. A service that is scaled above 0, or that has task sets or a
// running deployment, needs force.
func (s *Service) DeleteService(ctx context.Context, in *awsecs.DeleteServiceInput) (*awsecs.DeleteServiceOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DeleteServiceOutput, error) {
		svc, err := deletableService(tx, in.Cluster, in.Service)
		if err != nil {
			return nil, err
		}
		if !val(in.Force) {
			if svc.Desired > 0 {
				return nil, invalidParameter("The service cannot be stopped while it is scaled above 0.")
			}
			if isDeploying(svc) {
				return nil, invalidParameter("The service cannot be stopped while deployments are active.")
			}
		}
		s.sched.DrainService(tx, svc)
		return &awsecs.DeleteServiceOutput{Service: s.history.showService(svc, true)}, nil
	})
}

func isDeploying(svc *world.Service) bool {
	if svc.Controller == "ECS" {
		return len(svc.TaskSets) > 1
	}
	for _, ts := range svc.TaskSets {
		if ts.Status != "DRAINING" {
			return true
		}
	}
	return false
}
