package definition

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// defaultMember is a member of a service definition and the value that has AWS's default. UpdateService keeps a
// member that a request leaves out, so a reset has to send the value.
type defaultMember struct {
	name  string
	write func(in *awsecs.CreateServiceInput, have *ecstypes.Service)
}

// defaultMembers returns the members that a file may leave out and that AWS can set back to their default. Others
// identify the service, or AWS has no default for them: launchType, schedulingStrategy, desiredCount, tags. A service
// registry stays, as with ecspresso: without it, callers of its name would lose the service.
func defaultMembers() []defaultMember {
	type request = *awsecs.CreateServiceInput
	type service = *ecstypes.Service
	return []defaultMember{
		{"deploymentConfiguration", func(in request, have service) { in.DeploymentConfiguration = fullConfiguration(nil, have) }},
		{"enableECSManagedTags", func(in request, _ service) { in.EnableECSManagedTags = false }},
		{"enableExecuteCommand", func(in request, _ service) { in.EnableExecuteCommand = false }},
		{"healthCheckGracePeriodSeconds", func(in request, _ service) { in.HealthCheckGracePeriodSeconds = aws.Int32(0) }},
		{"loadBalancers", func(in request, _ service) { in.LoadBalancers = []ecstypes.LoadBalancer{} }},
		{"placementConstraints", func(in request, _ service) {
			in.PlacementConstraints = []ecstypes.PlacementConstraint{}
		}},
		{"placementStrategy", func(in request, _ service) { in.PlacementStrategy = []ecstypes.PlacementStrategy{} }},
		{"platformVersion", func(in request, _ service) { in.PlatformVersion = aws.String("LATEST") }},
		{"propagateTags", func(in request, _ service) { in.PropagateTags = ecstypes.PropagateTagsNone }},
		{"serviceConnectConfiguration", func(in request, _ service) {
			in.ServiceConnectConfiguration = &ecstypes.ServiceConnectConfiguration{Enabled: false}
		}},
		{"volumeConfigurations", func(in request, _ service) {
			in.VolumeConfigurations = []ecstypes.ServiceVolumeConfiguration{}
		}},
		{"vpcLatticeConfigurations", func(in request, _ service) {
			in.VpcLatticeConfigurations = []ecstypes.VpcLatticeConfiguration{}
		}},
	}
}

// ResetConfiguration returns a former deployment configuration, and AWS's default for each member that only the running
// service has; nil: the service has the former one.
func ResetConfiguration(former *ecstypes.DeploymentConfiguration, have *ecstypes.Service) *ecstypes.DeploymentConfiguration {
	to := fullConfiguration(former, have)
	want := &Service{Input: &awsecs.CreateServiceInput{DeploymentConfiguration: to},
		Given: map[string]bool{"deploymentConfiguration": true}}
	if len(CompareService(want, have)) == 0 {
		return nil
	}
	return to
}

// fullConfiguration returns a deployment configuration with AWS's default for each member that it leaves out and the
// running service has. UpdateService keeps such a member otherwise.
func fullConfiguration(file *ecstypes.DeploymentConfiguration, have *ecstypes.Service) *ecstypes.DeploymentConfiguration {
	var c, now ecstypes.DeploymentConfiguration
	if file != nil {
		c = *file
	}
	if have.DeploymentConfiguration != nil {
		now = *have.DeploymentConfiguration
	}
	least, most := int32(100), int32(200)
	if have.SchedulingStrategy == ecstypes.SchedulingStrategyDaemon {
		least, most = 0, 100
	}
	if c.MinimumHealthyPercent == nil && now.MinimumHealthyPercent != nil {
		c.MinimumHealthyPercent = &least
	}
	if c.MaximumPercent == nil && now.MaximumPercent != nil {
		c.MaximumPercent = &most
	}
	if b := now.DeploymentCircuitBreaker; c.DeploymentCircuitBreaker == nil && b != nil && (b.Enable || b.Rollback) {
		c.DeploymentCircuitBreaker = &ecstypes.DeploymentCircuitBreaker{}
	}
	if c.Alarms == nil && now.Alarms != nil && now.Alarms.Enable {
		c.Alarms = &ecstypes.DeploymentAlarms{AlarmNames: []string{}}
	}
	if c.BakeTimeInMinutes == nil && aws.ToInt32(now.BakeTimeInMinutes) > 0 {
		c.BakeTimeInMinutes = aws.Int32(0)
	}
	if c.Strategy == "" && now.Strategy != "" {
		c.Strategy = ecstypes.DeploymentStrategyRolling
	}
	if c.LifecycleHooks == nil && len(now.LifecycleHooks) > 0 {
		c.LifecycleHooks = []ecstypes.DeploymentLifecycleHook{}
	}
	if e := now.EarlySuccessCriteria; c.EarlySuccessCriteria == nil && e != nil && e.Enable {
		c.EarlySuccessCriteria = &ecstypes.DeploymentEarlySuccessCriteria{}
	}
	return &c
}

// WithDefaults returns the service with AWS's default for each member that its file leaves out and that the running
// service has with another value, and these differences. It omits members for which keep returns true.
func (s *Service) WithDefaults(have *ecstypes.Service, keep func(member string) bool) (*Service, []Difference) {
	out, in := *s, *s.Input
	out.Input, out.Given = &in, maps.Clone(s.Given)
	var all []Difference
	for _, m := range defaultMembers() {
		if s.Given[m.name] || keep(m.name) || !isResettable(m.name, in.DeploymentController, have.DeploymentController) {
			continue
		}
		one := &Service{Input: &awsecs.CreateServiceInput{}, Given: map[string]bool{m.name: true}}
		m.write(one.Input, have)
		if diffs := CompareService(one, have); len(diffs) > 0 {
			m.write(&in, have)
			out.Given[m.name] = true
			all = append(all, diffs...)
		}
	}
	if !keep("networkConfiguration") && isRolledByECS(have.DeploymentController) {
		all = append(all, out.resetSecurityGroups(have)...)
	}
	return &out, all
}

// WithFullConfiguration returns the service with a deployment configuration that sets each member back to AWS's
// default that the file leaves out of its configuration. A file without the configuration is returned as it is.
func (s *Service) WithFullConfiguration(have *ecstypes.Service) *Service {
	if s.Input.DeploymentConfiguration == nil {
		return s
	}
	out, in := *s, *s.Input
	in.DeploymentConfiguration = fullConfiguration(in.DeploymentConfiguration, have)
	out.Input = &in
	return &out
}

// isResettable reports whether UpdateService can change a member under the controllers of the file and of the service.
// Under other controllers than ECS, task sets have the other members: [CompareTaskSet] compares these.
func isResettable(member string, controllers ...*ecstypes.DeploymentController) bool {
	for _, c := range controllers {
		if !isRolledByECS(c) && (!slices.Contains(UpdatedUnderCodeDeploy(), member) ||
			isExternal(c) && member == "deploymentConfiguration") {
			return false
		}
	}
	return true
}

func isRolledByECS(c *ecstypes.DeploymentController) bool {
	return c == nil || c.Type == "" || c.Type == ecstypes.DeploymentControllerTypeEcs
}

// resetSecurityGroups names no security groups if the file leaves them out of its network: AWS then uses the default
// group of the VPC.
func (s *Service) resetSecurityGroups(have *ecstypes.Service) []Difference {
	n := s.Input.NetworkConfiguration
	if n == nil || n.AwsvpcConfiguration == nil || n.AwsvpcConfiguration.SecurityGroups != nil {
		return nil
	}
	vpc := *n.AwsvpcConfiguration
	vpc.SecurityGroups = []string{}
	one := &Service{Input: &awsecs.CreateServiceInput{NetworkConfiguration: &ecstypes.NetworkConfiguration{
		AwsvpcConfiguration: &vpc}}, Given: map[string]bool{"networkConfiguration": true}}
	var all []Difference
	for _, d := range CompareService(one, have) {
		if d.Path == securityGroups {
			all, s.Input.NetworkConfiguration = append(all, d), one.Input.NetworkConfiguration
		}
	}
	return all
}

const securityGroups = "networkConfiguration.awsvpcConfiguration.securityGroups"
