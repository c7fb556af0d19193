package definition

import (
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// NewCanaryService returns the definition of a canary service next to a service with deployment
// controller ECS. It contains the members of the file, and those of the live service for the rest.
// The caller sets name, task definition, count, target group, token and tags.
//
// It drops members that would route requests to the canary service immediately, or let ECS act on
// it. dropped describes each of them in a sentence for people.
func NewCanaryService(want *Service, have *ecstypes.Service) (in awsecs.CreateServiceInput, dropped []string) {
	in = fillFromService(want, have)
	drop := func(what, why string) { dropped = append(dropped, what+": "+why) }
	if c := in.ServiceConnectConfiguration; c != nil && len(c.Services) > 0 {
		drop("endpoints of Service Connect ("+endpointNames(c)+")",
			"callers would reach the canary service immediately; it uses Service Connect only for its own calls")
		client := *c
		client.Services = nil
		in.ServiceConnectConfiguration = &client
	}
	if n := len(in.VpcLatticeConfigurations); n > 0 {
		drop(sluice.Plural(n, "target group")+" of VPC Lattice",
			"callers would reach the canary service immediately")
	}
	if n := len(in.LoadBalancers); n > 1 {
		drop(sluice.Plural(n-1, "further target group"), "requests to other target groups than the canary's reach only the primary")
	}
	if n := len(in.ServiceRegistries); n > 0 {
		drop(sluice.Plural(n, "service registry"), "ECS would register its tasks as soon as they start")
	}
	dropped = append(dropped, droppedAlarmsAndHooks(in.DeploymentConfiguration)...)
	in.VpcLatticeConfigurations, in.LoadBalancers, in.ServiceRegistries = nil, nil, nil
	in.DeploymentConfiguration = keepBatchLimits(in.DeploymentConfiguration)
	in.DeploymentController = nil // AWS's default is ECS
	if c := in.DeploymentConfiguration; c != nil && c.MaximumPercent != nil && *c.MaximumPercent <= 100 {
		in.AvailabilityZoneRebalancing = ecstypes.AvailabilityZoneRebalancingDisabled // AWS refuses it
	}
	in.ServiceName, in.TaskDefinition, in.DesiredCount, in.ClientToken, in.Tags = nil, nil, nil, nil, want.Input.Tags
	return in, dropped
}

// fillFromService returns the file's definition, with missing members from the live service.
func fillFromService(want *Service, have *ecstypes.Service) awsecs.CreateServiceInput {
	in := *want.Input
	to := reflect.ValueOf(&in).Elem()
	live, deployment := reflect.ValueOf(have).Elem(), reflect.ValueOf(primaryDeployment(have))
	for _, m := range membersOf(to.Type()) {
		if want.Given[m.name] || isExcluded(want.Given, m.name) {
			continue
		}
		name := to.Type().Field(m.index).Name
		from := live.FieldByName(name)
		if !from.IsValid() && !deployment.IsNil() {
			from = deployment.Elem().FieldByName(name)
		}
		if from.IsValid() && from.Type() == to.Field(m.index).Type() {
			to.Field(m.index).Set(from)
		}
	}
	if len(in.CapacityProviderStrategy) > 0 {
		in.LaunchType = ""
	}
	if in.LaunchType == ecstypes.LaunchTypeEc2 {
		in.PlatformVersion = nil
	}
	return in
}

// isExcluded reports whether a given member excludes the named one: launch type and capacity
// providers exclude each other.
func isExcluded(given map[string]bool, name string) bool {
	return name == "launchType" && given["capacityProviderStrategy"] || name == "capacityProviderStrategy" &&
		given["launchType"]
}

// droppedAlarmsAndHooks describes the alarms and hooks of a configuration.
func droppedAlarmsAndHooks(c *ecstypes.DeploymentConfiguration) (dropped []string) {
	if c == nil {
		return nil
	}
	if a := c.Alarms; a != nil && a.Enable {
		dropped = append(dropped, "alarms ("+strings.Join(a.AlarmNames,
			", ")+"): they monitor the deployments of the service, not of its canary")
	}
	if n := len(c.LifecycleHooks); n > 0 {
		dropped = append(dropped, sluice.Plural(n,
			"lifecycle hook")+": they run in the deployments of the service, not of its canary")
	}
	return dropped
}

// keepBatchLimits keeps only the percentages that limit how many tasks ECS starts and stops at a
// time.
func keepBatchLimits(c *ecstypes.DeploymentConfiguration) *ecstypes.DeploymentConfiguration {
	if c == nil || c.MinimumHealthyPercent == nil && c.MaximumPercent == nil {
		return nil
	}
	return &ecstypes.DeploymentConfiguration{MinimumHealthyPercent: c.MinimumHealthyPercent,
		MaximumPercent: c.MaximumPercent}
}

func endpointNames(c *ecstypes.ServiceConnectConfiguration) string {
	var names []string
	for _, s := range c.Services {
		names = append(names, aws.ToString(s.PortName))
	}
	return strings.Join(names, ", ")
}
