package codedeploy

import (
	"context"
	"strings"
	"time"

	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	allAtOnce = "CodeDeployDefault.ECSAllAtOnce"
	// maxShiftMinutes is the longest duration of a canary or linear shift (User Guide, "CodeDeploy
	// quotas": two days).
	maxShiftMinutes = 2880
)

// predefinedConfigs returns CodeDeploy's own configurations for ECS.
func predefinedConfigs() []*cdtypes.DeploymentConfigInfo {
	linear := func(every int32) *cdtypes.TrafficRoutingConfig {
		return &cdtypes.TrafficRoutingConfig{Type: cdtypes.TrafficRoutingTypeTimeBasedLinear,
			TimeBasedLinear: &cdtypes.TimeBasedLinear{LinearPercentage: 10, LinearInterval: every}}
	}
	canary := func(wait int32) *cdtypes.TrafficRoutingConfig {
		return &cdtypes.TrafficRoutingConfig{Type: cdtypes.TrafficRoutingTypeTimeBasedCanary,
			TimeBasedCanary: &cdtypes.TimeBasedCanary{CanaryPercentage: 10, CanaryInterval: wait}}
	}
	var all []*cdtypes.DeploymentConfigInfo
	for _, c := range []struct {
		name    string
		routing *cdtypes.TrafficRoutingConfig
	}{
		{"ECSAllAtOnce", &cdtypes.TrafficRoutingConfig{Type: cdtypes.TrafficRoutingTypeAllAtOnce}},
		{"ECSCanary10Percent15Minutes", canary(15)}, {"ECSCanary10Percent5Minutes", canary(5)},
		{"ECSLinear10PercentEvery1Minutes", linear(1)}, {"ECSLinear10PercentEvery3Minutes", linear(3)},
	} {
		name := "CodeDeployDefault." + c.name
		all = append(all, &cdtypes.DeploymentConfigInfo{ComputePlatform: cdtypes.ComputePlatformEcs,
			DeploymentConfigName: &name, TrafficRoutingConfig: c.routing})
	}
	return all
}

func allConfigs(tx *world.Tx) []*cdtypes.DeploymentConfigInfo {
	return append(predefinedConfigs(), stateOf(tx).configs.Values()...)
}

func findConfig(tx *world.Tx, name *string) (*cdtypes.DeploymentConfigInfo, error) {
	if err := checkName(name, "DeploymentConfig"); err != nil {
		return nil, err
	}
	for _, c := range allConfigs(tx) {
		if *c.DeploymentConfigName == *name {
			return c, nil
		}
	}
	return nil, world.Refuse("DeploymentConfigDoesNotExistException", "No deployment configuration found for name: %s",
		*name)
}

// routingOf converts a configuration for the controller.
func routingOf(c *cdtypes.DeploymentConfigInfo) codedeployer.Routing {
	switch r := c.TrafficRoutingConfig; r.Type {
	case cdtypes.TrafficRoutingTypeTimeBasedCanary:
		return codedeployer.Routing{Percent: int(r.TimeBasedCanary.CanaryPercentage),
			Every: time.Duration(r.TimeBasedCanary.CanaryInterval) * time.Minute}
	case cdtypes.TrafficRoutingTypeTimeBasedLinear:
		return codedeployer.Routing{Linear: true, Percent: int(r.TimeBasedLinear.LinearPercentage),
			Every: time.Duration(r.TimeBasedLinear.LinearInterval) * time.Minute}
	}
	return codedeployer.Routing{}
}

// CreateDeploymentConfig creates a canary, linear or all-at-once configuration.
func (s *Service) CreateDeploymentConfig(ctx context.Context,
	in *awscd.CreateDeploymentConfigInput) (*awscd.CreateDeploymentConfigOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.CreateDeploymentConfigOutput, error) {
		if err := checkConfig(tx, in); err != nil {
			return nil, err
		}
		c := &cdtypes.DeploymentConfigInfo{ComputePlatform: in.ComputePlatform, CreateTime: ptr(tx.Now()),
			DeploymentConfigId:   ptr(tx.NewUUID("deployment config")),
			DeploymentConfigName: ptr(*in.DeploymentConfigName),
			TrafficRoutingConfig: wire.Clone(in.TrafficRoutingConfig)}
		if c.TrafficRoutingConfig == nil {
			c.TrafficRoutingConfig = &cdtypes.TrafficRoutingConfig{Type: cdtypes.TrafficRoutingTypeAllAtOnce}
		}
		stateOf(tx).configs.Put(*c.DeploymentConfigName, c)
		return &awscd.CreateDeploymentConfigOutput{DeploymentConfigId: ptr(*c.DeploymentConfigId)}, nil
	})
}

func checkConfig(tx *world.Tx, in *awscd.CreateDeploymentConfigInput) error {
	if err := checkName(in.DeploymentConfigName, "DeploymentConfig"); err != nil {
		return err
	}
	_, err := findConfig(tx, in.DeploymentConfigName)
	switch {
	case strings.HasPrefix(*in.DeploymentConfigName, "CodeDeployDefault."):
		return world.Refuse("InvalidDeploymentConfigNameException",
			"Names that begin with CodeDeployDefault. are reserved")
	case err == nil:
		return world.Refuse("DeploymentConfigAlreadyExistsException", "Deployment configuration already exists: %s",
			*in.DeploymentConfigName)
	case in.ComputePlatform != cdtypes.ComputePlatformEcs:
		return world.Refuse("InvalidComputePlatformException", "The compute platform %q is not simulated; there is ECS",
			in.ComputePlatform)
	case in.MinimumHealthyHosts != nil || in.ZonalConfig != nil:
		return invalidInput("Minimum healthy hosts and zonal configurations are not for the ECS compute platform")
	}
	return checkRouting(in.TrafficRoutingConfig)
}

func checkRouting(r *cdtypes.TrafficRoutingConfig) error {
	if r == nil {
		return nil
	}
	percent, every := int32(0), int32(0)
	switch {
	case r.Type == cdtypes.TrafficRoutingTypeAllAtOnce && r.TimeBasedCanary == nil && r.TimeBasedLinear == nil:
		return nil
	case r.Type == cdtypes.TrafficRoutingTypeTimeBasedCanary && r.TimeBasedCanary != nil && r.TimeBasedLinear == nil:
		percent, every = r.TimeBasedCanary.CanaryPercentage, r.TimeBasedCanary.CanaryInterval
	case r.Type == cdtypes.TrafficRoutingTypeTimeBasedLinear && r.TimeBasedLinear != nil && r.TimeBasedCanary == nil:
		percent, every = r.TimeBasedLinear.LinearPercentage, r.TimeBasedLinear.LinearInterval
	default:
		return world.Refuse("InvalidTrafficRoutingConfigurationException",
			"The traffic routing configuration does not agree with its type %q", r.Type)
	}
	if percent < 1 || percent > 99 || every < 1 || every > maxShiftMinutes {
		return world.Refuse("InvalidTrafficRoutingConfigurationException",
			"The percentage must be from 1 to 99, the interval from 1 to %d minutes", maxShiftMinutes)
	}
	return nil
}

// DeleteDeploymentConfig deletes a custom configuration that no group uses.
func (s *Service) DeleteDeploymentConfig(ctx context.Context,
	in *awscd.DeleteDeploymentConfigInput) (*awscd.DeleteDeploymentConfigOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.DeleteDeploymentConfigOutput, error) {
		if err := checkName(in.DeploymentConfigName, "DeploymentConfig"); err != nil {
			return nil, err
		}
		if strings.HasPrefix(*in.DeploymentConfigName, "CodeDeployDefault.") {
			return nil, world.Refuse("InvalidOperationException",
				"A predefined deployment configuration cannot be deleted")
		}
		for _, a := range codedeployer.StateOf(tx).Applications.All() {
			for _, g := range a.Groups.All() {
				if *docOf(g).DeploymentConfigName == *in.DeploymentConfigName {
					return nil, world.Refuse("DeploymentConfigInUseException",
						"The deployment configuration is used by deployment group %s", g.Name)
				}
			}
		}
		stateOf(tx).configs.Delete(*in.DeploymentConfigName)
		return &awscd.DeleteDeploymentConfigOutput{}, nil
	})
}

// GetDeploymentConfig returns one configuration.
func (s *Service) GetDeploymentConfig(ctx context.Context,
	in *awscd.GetDeploymentConfigInput) (*awscd.GetDeploymentConfigOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.GetDeploymentConfigOutput, error) {
		c, err := findConfig(tx, in.DeploymentConfigName)
		return &awscd.GetDeploymentConfigOutput{DeploymentConfigInfo: wire.Clone(c)}, err
	})
}

// ListDeploymentConfigs lists the names, the predefined ones first.
func (s *Service) ListDeploymentConfigs(ctx context.Context,
	in *awscd.ListDeploymentConfigsInput) (*awscd.ListDeploymentConfigsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.ListDeploymentConfigsOutput, error) {
		var names []string
		for _, c := range allConfigs(tx) {
			names = append(names, *c.DeploymentConfigName)
		}
		names, next, err := pageOf(names, in.NextToken)
		return &awscd.ListDeploymentConfigsOutput{DeploymentConfigsList: names, NextToken: next}, err
	})
}
