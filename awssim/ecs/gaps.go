package ecs

import (
	"fmt"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Gap is a part of a service or a task definition that the simulator does not carry out.
type Gap struct {
	Field string // "deploymentConfiguration.strategy"
	// Text is what is not simulated, if the API refuses the request: "Deployment strategy BLUE_GREEN".
	// Otherwise the API stores the field, and Text says what happens instead.
	Text    string
	Refused bool
}

// String returns the gap in one line.
func (g Gap) String() string {
	if g.Refused {
		return g.Text + " (" + g.Field + ")"
	}
	return g.Field + ": " + g.Text
}

// Gaps returns what of a service and its task definition is not simulated, the refused parts first.
// Both may be nil. It needs no world, so a tool can ask before its first call. What containers do by
// themselves (health check commands, secrets, file systems) is never simulated and not listed.
func Gaps(service *awsecs.CreateServiceInput, definition *awsecs.RegisterTaskDefinitionInput) []Gap {
	var all []Gap
	if service != nil {
		all = append(refusedParts(service), storedParts(service)...)
	}
	if definition != nil {
		all = append(all, definitionGaps(definition)...)
	}
	return all
}

// part is one possible gap.
type part struct {
	set         bool
	field, text string
}

func gapsOf(parts []part, refused bool) (all []Gap) {
	for _, p := range parts {
		if p.set {
			all = append(all, Gap{p.field, p.text, refused})
		}
	}
	return all
}

// refusedParts returns the parts of a service that the API refuses.
func refusedParts(in *awsecs.CreateServiceInput) []Gap {
	c, controller := in.DeploymentConfiguration, in.DeploymentController
	if c == nil || controller != nil && controller.Type != "" && controller.Type != "ECS" {
		c = &ecstypes.DeploymentConfiguration{}
	}
	launch, shifts := in.LaunchType, isShifting(c.Strategy)
	return gapsOf([]part{
		{len(c.LifecycleHooks) > 0 && !shifts, "deploymentConfiguration.lifecycleHooks",
			"Lifecycle hooks of rolling deployments"},
		{shifts && len(in.ServiceRegistries) > 0, "serviceRegistries",
			fmt.Sprintf("Service discovery with deployment strategy %s", c.Strategy)},
		{launch == ecstypes.LaunchTypeExternal || launch == ecstypes.LaunchTypeManagedInstances, "launchType",
			fmt.Sprintf("Launch type %s", launch)},
		{len(in.VpcLatticeConfigurations) > 0, "vpcLatticeConfigurations", "VPC Lattice"},
		{len(in.GatewayConnectors) > 0, "gatewayConnectors", "Service gateways"},
		{in.Monitoring != nil, "monitoring", "Monitoring of services"},
	}, true)
}

// storedParts returns the parts of a service that are stored and have no effect.
func storedParts(in *awsecs.CreateServiceInput) []Gap {
	return gapsOf([]part{
		{isConnected(in.ServiceConnectConfiguration), "serviceConnectConfiguration",
			"no proxy routes requests by the names of Service Connect"},
		{len(in.VolumeConfigurations) > 0, "volumeConfigurations", "EBS volumes have no content"},
		{len(in.PlacementConstraints) > 0, "placementConstraints", "tasks ignore placement constraints"},
		{len(in.PlacementStrategy) > 0, "placementStrategy", "tasks are spread over zones, whatever the strategy"},
	}, false)
}

// definitionGaps returns the parts of a task definition that are stored and have no effect.
func definitionGaps(in *awsecs.RegisterTaskDefinitionInput) []Gap {
	list := []part{
		{len(in.Volumes) > 0, "volumes", "volumes have no content"},
		{in.ProxyConfiguration != nil, "proxyConfiguration", "no proxy of App Mesh routes requests"},
		{len(in.PlacementConstraints) > 0, "placementConstraints", "tasks ignore placement constraints"},
	}
	for _, c := range in.ContainerDefinitions {
		at := "containerDefinitions[" + val(c.Name) + "]."
		list = append(list,
			part{c.RestartPolicy != nil, at + "restartPolicy", "a container that exits stays stopped"},
			part{c.FirelensConfiguration != nil, at + "firelensConfiguration", "FireLens sends no logs"},
		)
	}
	return gapsOf(list, false)
}

// checkNotSimulated refuses the first part of a request that the simulator does not support.
func checkNotSimulated(in *awsecs.CreateServiceInput) error {
	for _, g := range refusedParts(in) {
		return notSimulated(g.Text)
	}
	return nil
}

// checkUpdateNotSimulated is [checkNotSimulated] for an update, after which the service has the
// deployment controller to.
func checkUpdateNotSimulated(svc *world.Service, in *awsecs.UpdateServiceInput,
	to ecstypes.DeploymentControllerType) error {
	c := ecstypes.DeploymentConfiguration{Strategy: updatedStrategy(svc, in)}
	if in.DeploymentConfiguration != nil {
		c.LifecycleHooks = in.DeploymentConfiguration.LifecycleHooks
	}
	if to != ecstypes.DeploymentControllerType(svc.Controller) && isShifting(c.Strategy) {
		return notSimulated("Changing the deployment controller together with the deployment strategy")
	}
	return checkNotSimulated(&awsecs.CreateServiceInput{
		DeploymentConfiguration: &c, LoadBalancers: in.LoadBalancers, ServiceRegistries: in.ServiceRegistries,
		ServiceConnectConfiguration: in.ServiceConnectConfiguration,
		VpcLatticeConfigurations:    in.VpcLatticeConfigurations, GatewayConnectors: in.GatewayConnectors,
		Monitoring: in.Monitoring, DeploymentController: &ecstypes.DeploymentController{Type: to},
	})
}

// updatedStrategy returns the deployment strategy of a service after an update.
func updatedStrategy(svc *world.Service, in *awsecs.UpdateServiceInput) ecstypes.DeploymentStrategy {
	if c := in.DeploymentConfiguration; c != nil && c.Strategy != "" {
		return c.Strategy
	}
	if c := docOfService(svc).shape.DeploymentConfiguration; c != nil {
		return c.Strategy
	}
	return ""
}
