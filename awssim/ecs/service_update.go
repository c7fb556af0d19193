package ecs

import (
	"context"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// UpdateService changes a service; with controller ECS some members start a
// rolling deployment. A null list leaves what is there, an empty one removes it.
func (s *Service) UpdateService(ctx context.Context, in *awsecs.UpdateServiceInput) (*awsecs.UpdateServiceOutput, error) {
	return call(ctx, s, func(tx *world.Tx) (*awsecs.UpdateServiceOutput, error) {
		svc, err := activeService(tx, in.Cluster, in.Service)
		if err != nil {
			return nil, err
		}
		if err := s.updateService(tx, svc, clone(in)); err != nil {
			return nil, err
		}
		return &awsecs.UpdateServiceOutput{Service: showService(svc, true)}, nil
	})
}

func (s *Service) updateService(tx *world.Tx, svc *world.Service, in *awsecs.UpdateServiceInput) error {
	if err := checkUpdate(svc, in); err != nil {
		return err
	}
	cluster := docOfCluster(svc.Cluster)
	if err := checkStrategy(cluster.CapacityProviders, in.CapacityProviderStrategy); err != nil {
		return err
	}
	var next *world.TaskSet
	if svc.Controller == "ECS" && startsDeployment(in) {
		var err error
		if next, err = nextDeployment(tx, svc, in); err != nil {
			return err
		}
	}
	if err := setPercents(svc, in.DeploymentConfiguration); err != nil {
		return err
	}
	setShape(svc, in)
	if in.DesiredCount != nil {
		s.law.SetDesired(tx, svc, int(*in.DesiredCount))
	}
	if next != nil {
		s.law.Add(tx, next)
		recordOf(tx, next)
	}
	s.law.Renew(tx, svc)
	return nil
}

func checkUpdate(svc *world.Service, in *awsecs.UpdateServiceInput) error {
	if c := in.DeploymentController; c != nil && c.Type != "" && string(c.Type) != svc.Controller {
		return unsimulated("Changing the deployment controller from " + svc.Controller + " to " + string(c.Type))
	}
	switch {
	case val(in.DesiredCount) < 0:
		return invalid("Desired count can not be negative.")
	case val(in.HealthCheckGracePeriodSeconds) < 0:
		return invalid("healthCheckGracePeriodSeconds can not be negative.")
	case in.ServiceConnectConfiguration != nil && in.ServiceConnectConfiguration.Enabled:
		return unsimulated("Service Connect")
	case len(in.VpcLatticeConfigurations) > 0:
		return unsimulated("VPC Lattice")
	case len(in.VolumeConfigurations) > 0:
		return unsimulated("EBS volumes of services")
	case len(in.GatewayConnectors) > 0:
		return unsimulated("Service gateways")
	}
	if svc.Controller == "EXTERNAL" {
		return checkUpdateExternal(in)
	}
	return nil
}

// checkUpdateExternal refuses all but desired count, grace period, placement,
// tag settings and enableExecuteCommand. The texts follow those seen for
// CODE_DEPLOY.
func checkUpdateExternal(in *awsecs.UpdateServiceInput) error {
	if in.ForceNewDeployment {
		return invalid("Cannot force a new deployment on services with a EXTERNAL deployment controller.")
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
		{"deployment configuration", in.DeploymentConfiguration != nil},
		{"service connect configuration", in.ServiceConnectConfiguration != nil},
		{"volume configurations", in.VolumeConfigurations != nil},
		{"VPC Lattice configurations", in.VpcLatticeConfigurations != nil},
	} {
		if x.set {
			return invalid("Unable to update %s on services with a EXTERNAL deployment controller.", x.name)
		}
	}
	return nil
}

// startsDeployment: these members start a deployment, others do not (API
// Reference, UpdateService).
func startsDeployment(in *awsecs.UpdateServiceInput) bool {
	return in.TaskDefinition != nil || in.NetworkConfiguration != nil || in.PlatformVersion != nil || in.LoadBalancers != nil ||
		in.ServiceRegistries != nil || in.ForceNewDeployment
}

// nextDeployment makes a deployment from the running one and what is given.
func nextDeployment(tx *world.Tx, svc *world.Service, in *awsecs.UpdateServiceInput) (*world.TaskSet, error) {
	p := svc.Primary()
	doc := clone(*docOfSet(p))
	w := &workload{definition: p.Definition, launchType: doc.LaunchType, strategy: doc.CapacityProviderStrategy,
		platform: doc.PlatformVersion, network: doc.NetworkConfiguration, balancers: doc.LoadBalancers}
	if in.TaskDefinition != nil {
		d, err := definitionFor(tx, *in.TaskDefinition)
		if err != nil {
			return nil, err
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
	}
	if err := w.check(tx, svc.Cluster, mostGroups); err != nil {
		return nil, err
	}
	ts := w.set(tx, svc)
	docOfSet(ts).ServiceRegistries = doc.ServiceRegistries
	if in.ServiceRegistries != nil {
		docOfSet(ts).ServiceRegistries = in.ServiceRegistries
	}
	return ts, nil
}

// setShape keeps the given members that start no deployment.
func setShape(svc *world.Service, in *awsecs.UpdateServiceInput) {
	d := &docOfService(svc).shape
	if in.HealthCheckGracePeriodSeconds != nil {
		d.HealthCheckGracePeriodSeconds, svc.Grace = in.HealthCheckGracePeriodSeconds, seconds(in.HealthCheckGracePeriodSeconds)
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
	if p := svc.Primary(); p != nil && svc.Controller == "ECS" && in.CapacityProviderStrategy != nil && !startsDeployment(in) {
		docOfSet(p).CapacityProviderStrategy = in.CapacityProviderStrategy
	}
}

// DeleteService drains a service. One that is scaled above 0, or that still has
// task sets or a deployment on its way, needs force.
func (s *Service) DeleteService(ctx context.Context, in *awsecs.DeleteServiceInput) (*awsecs.DeleteServiceOutput, error) {
	return call(ctx, s, func(tx *world.Tx) (*awsecs.DeleteServiceOutput, error) {
		svc, err := activeService(tx, in.Cluster, in.Service)
		if err != nil {
			return nil, err
		}
		if !val(in.Force) {
			if svc.Desired > 0 {
				return nil, invalid("The service cannot be stopped while it is scaled above 0.")
			}
			if isDeploying(svc) {
				return nil, invalid("The service cannot be stopped while deployments are active.")
			}
		}
		s.law.Delete(tx, svc)
		return &awsecs.DeleteServiceOutput{Service: showService(svc, true)}, nil
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
