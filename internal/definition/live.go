package definition

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// IsDeregistered reports whether ECS starts no new tasks of a task definition: it was deregistered, and perhaps its
// deletion was requested since. AWS describes it until it is deleted.
func IsDeregistered(td *ecstypes.TaskDefinition) bool {
	return td.Status == ecstypes.TaskDefinitionStatusInactive || td.Status == ecstypes.TaskDefinitionStatusDeleteInProgress
}

// TaskOf returns a registered task definition as the request that registers it.
func TaskOf(td *ecstypes.TaskDefinition) *Task {
	in := &awsecs.RegisterTaskDefinitionInput{}
	from, to := reflect.ValueOf(td).Elem(), reflect.ValueOf(in).Elem()
	for _, m := range membersOf(to.Type()) {
		name := to.Type().Field(m.index).Name
		if v := from.FieldByName(name); v.IsValid() && v.Type() == to.Field(m.index).Type() {
			to.Field(m.index).Set(v)
		}
	}
	return &Task{Input: in, File: "task definition " + aws.ToString(td.TaskDefinitionArn)}
}

// ServiceOf returns the requested state of a service revision: where its tasks run and how callers
// reach them. A member that the revision lacks and the service has now is given, and empty.
func ServiceOf(name string, rev *ecstypes.ServiceRevision, now *ecstypes.Service) *Service {
	s := &Service{Input: &awsecs.CreateServiceInput{ServiceName: &name}, Given: map[string]bool{"serviceName": true},
		File: "service revision"}
	if rev == nil {
		return s
	}
	s.File += " " + aws.ToString(rev.ServiceRevisionArn)
	in := s.Input
	s.setMemberIf("networkConfiguration", rev.NetworkConfiguration != nil,
		func() { in.NetworkConfiguration = rev.NetworkConfiguration })
	s.setMemberIf("loadBalancers", len(rev.LoadBalancers)+len(now.LoadBalancers) > 0, func() {
		in.LoadBalancers = withAdvancedOf(now.LoadBalancers, rev.LoadBalancers)
	})
	s.setMemberIf("serviceRegistries", len(rev.ServiceRegistries)+len(now.ServiceRegistries) > 0, func() {
		in.ServiceRegistries = append([]ecstypes.ServiceRegistry{}, rev.ServiceRegistries...)
	})
	s.setMemberIf("capacityProviderStrategy", len(rev.CapacityProviderStrategy) > 0,
		func() { in.CapacityProviderStrategy = rev.CapacityProviderStrategy })
	s.setMemberIf("platformVersion", isPinned(rev.PlatformVersion) && isPinned(now.PlatformVersion),
		func() { in.PlatformVersion = rev.PlatformVersion })
	s.setDeploymentMembers(rev, primaryDeployment(now))
	return s
}

// withAdvancedOf returns the load balancers with the advancedConfiguration of now. It belongs to the
// deployment strategy, which a service revision does not contain, and AWS requires both or none.
func withAdvancedOf(now, of []ecstypes.LoadBalancer) []ecstypes.LoadBalancer {
	all := append([]ecstypes.LoadBalancer{}, of...)
	for i := range all {
		for _, have := range now {
			if aws.ToString(have.TargetGroupArn) == aws.ToString(all[i].TargetGroupArn) {
				all[i].AdvancedConfiguration = have.AdvancedConfiguration
			}
		}
	}
	return all
}

// setDeploymentMembers sets the members that AWS returns only with a service's deployment.
func (s *Service) setDeploymentMembers(rev *ecstypes.ServiceRevision, now *ecstypes.Deployment) {
	if now == nil {
		now = &ecstypes.Deployment{}
	}
	in := s.Input
	s.setMemberIf("serviceConnectConfiguration", rev.ServiceConnectConfiguration != nil ||
		now.ServiceConnectConfiguration != nil, func() {
		if in.ServiceConnectConfiguration = rev.ServiceConnectConfiguration; in.ServiceConnectConfiguration == nil {
			in.ServiceConnectConfiguration = &ecstypes.ServiceConnectConfiguration{Enabled: false}
		}
	})
	s.setMemberIf("volumeConfigurations", len(rev.VolumeConfigurations)+len(now.VolumeConfigurations) > 0, func() {
		in.VolumeConfigurations = append([]ecstypes.ServiceVolumeConfiguration{}, rev.VolumeConfigurations...)
	})
	s.setMemberIf("vpcLatticeConfigurations", len(rev.VpcLatticeConfigurations)+len(now.VpcLatticeConfigurations) > 0,
		func() {
			in.VpcLatticeConfigurations = append([]ecstypes.VpcLatticeConfiguration{}, rev.VpcLatticeConfigurations...)
		})
}

func (s *Service) setMemberIf(name string, given bool, set func()) {
	if given {
		s.Given[name] = true
		set()
	}
}

// isPinned reports whether a platform version can be compared. LATEST cannot: it may mean another
// version now.
func isPinned(version *string) bool {
	return aws.ToString(version) != "" && aws.ToString(version) != "LATEST"
}
