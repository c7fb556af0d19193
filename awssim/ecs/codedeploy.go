package ecs

import (
	"fmt"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Replace creates the task set that CodeDeploy requests, at 100 percent, in addition to the other
// task sets of a service with controller CODE_DEPLOY. Its errors are those of ECS.
func (s *Service) Replace(tx *world.Tx, svc *world.Service, r world.Replacement) (*world.TaskSet, error) {
	if svc.Status != "ACTIVE" || svc.Controller != "CODE_DEPLOY" {
		return nil, invalidParameter("Service was not ACTIVE, or its deployment controller is not CODE_DEPLOY.")
	}
	if n := len(svc.TaskSets); n >= tx.Settings().TaskSetLimit {
		return nil,
			invalidParameter("%d deployments exist on the service. Unable to create new TaskSet since this exceeds "+
				"the maximum limit.", n)
	}
	ts, err := newTaskSet(tx, svc, replacementInput(svc, r))
	if err != nil {
		return nil, err
	}
	ts.StartedBy = "CODE_DEPLOY"
	docOfSet(ts).StartedBy = ptr("CODE_DEPLOY")
	s.sched.AddTaskSet(tx, ts)
	return ts, nil
}

// replacementInput returns the request for the task set of a replacement. Empty fields are taken
// from the primary task set.
func replacementInput(svc *world.Service, r world.Replacement) *awsecs.CreateTaskSetInput {
	in := &awsecs.CreateTaskSetInput{
		TaskDefinition: ptr(r.Definition), ExternalId: ptr(r.ExternalID),
		LoadBalancers: []ecstypes.LoadBalancer{{TargetGroupArn: ptr(r.TargetGroup), ContainerName: ptr(r.Container),
			ContainerPort: ptr(r.Port)}},
	}
	if p := currentSet(svc); p != nil {
		doc := deepCopy(*docOfSet(p))
		in.LaunchType, in.CapacityProviderStrategy, in.NetworkConfiguration = doc.LaunchType,
			doc.CapacityProviderStrategy, doc.NetworkConfiguration
		in.PlatformVersion, in.ServiceRegistries = requestedPlatform(p), doc.ServiceRegistries
	}
	if r.PlatformVersion != "" {
		in.PlatformVersion = ptr(r.PlatformVersion)
	}
	if n := r.Network; n != nil {
		in.NetworkConfiguration = &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{
			Subnets: n.Subnets, SecurityGroups: n.SecurityGroups, AssignPublicIp: ecstypes.AssignPublicIp(n.PublicIP)}}
	}
	if len(r.Providers) > 0 {
		in.LaunchType, in.CapacityProviderStrategy = "", nil
	}
	for _, p := range r.Providers {
		in.CapacityProviderStrategy = append(in.CapacityProviderStrategy,
			ecstypes.CapacityProviderStrategyItem{CapacityProvider: ptr(p.Name), Base: p.Base, Weight: p.Weight})
	}
	return deepCopy(in)
}

// Promote makes a task set of CodeDeploy PRIMARY.
func (s *Service) Promote(tx *world.Tx, ts *world.TaskSet) { s.sched.Promote(tx, ts) }

// Retire drains a task set, for CodeDeploy.
func (s *Service) Retire(tx *world.Tx, ts *world.TaskSet) { s.sched.DrainTaskSet(tx, ts) }

// SetDesired changes a service's desired count for Application Auto Scaling, up to the quota of
// tasks per service.
func (s *Service) SetDesired(tx *world.Tx, svc *world.Service, desired int) {
	s.sched.SetDesired(tx, svc, min(desired, maxServiceTasks))
}

// firstSet creates the first, PRIMARY task set of a service with controller CODE_DEPLOY.
func firstSet(tx *world.Tx, svc *world.Service, in *awsecs.CreateServiceInput) (*world.TaskSet, error) {
	if len(in.LoadBalancers) != 1 {
		return nil,
			invalidParameter("Services with a CODE_DEPLOY deployment controller must have exactly one load balancer.")
	}
	if isConnected(in.ServiceConnectConfiguration) || len(in.VolumeConfigurations) > 0 {
		return nil, invalidParameter("Service Connect and volume configurations are not supported on services with a " +
			"CODE_DEPLOY deployment controller.")
	}
	ts, err := firstDeployment(tx, svc, in)
	if err != nil {
		return nil, err
	}
	ts.ARN = tx.ARN("ecs", fmt.Sprintf("task-set/%s/%s/%s", svc.Cluster.Name, svc.Name, ts.ID))
	ts.Status, ts.Scale = "PRIMARY", 100
	return ts, nil
}

const useCodeDeploy = " on services with a CODE_DEPLOY deployment controller. Use AWS CodeDeploy to trigger a new " +
	"deployment."

// checkUpdateCodeDeploy rejects changes that only a CodeDeploy deployment can make. Desired count,
// deployment configuration, grace period, placement and tag settings may change (API Reference,
// UpdateService).
func checkUpdateCodeDeploy(in *awsecs.UpdateServiceInput) error {
	if in.ForceNewDeployment {
		return invalidParameter("Cannot force a new deployment" + useCodeDeploy)
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
		{"service connect configuration", isConnected(in.ServiceConnectConfiguration)},
		{"volume configurations", len(in.VolumeConfigurations) > 0},
	} {
		if x.set {
			return invalidParameter("Unable to update %s"+useCodeDeploy, x.name)
		}
	}
	return nil
}
