package ecs

import (
	"strings"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// setRebalancing sets whether a new service is rebalanced across Availability Zones: by default if
// it can be.
func setRebalancing(svc *world.Service, in *awsecs.CreateServiceInput) error {
	d := &docOfService(svc).shape
	obstacle := rebalancingObstacle(svc, svc.MaxPercent, in.LaunchType, in.PlacementConstraints, in.PlacementStrategy)
	switch {
	case in.AvailabilityZoneRebalancing != "":
		return checkRebalancing(in.AvailabilityZoneRebalancing, obstacle)
	case obstacle != "":
		d.AvailabilityZoneRebalancing = "DISABLED"
	default:
		d.AvailabilityZoneRebalancing = "ENABLED"
	}
	return nil
}

// checkUpdatedRebalancing refuses an update after which a service cannot be rebalanced as it says.
func checkUpdatedRebalancing(svc *world.Service, in *awsecs.UpdateServiceInput) error {
	d := docOfService(svc).shape
	setting, most := d.AvailabilityZoneRebalancing, svc.MaxPercent
	constraints, strategy := d.PlacementConstraints, d.PlacementStrategy
	if in.AvailabilityZoneRebalancing != "" {
		setting = in.AvailabilityZoneRebalancing
	}
	if c := in.DeploymentConfiguration; c != nil && c.MaximumPercent != nil {
		most = int(*c.MaximumPercent)
	}
	if in.PlacementConstraints != nil {
		constraints = in.PlacementConstraints
	}
	if in.PlacementStrategy != nil {
		strategy = in.PlacementStrategy
	}
	return checkRebalancing(setting, rebalancingObstacle(svc, most, "", constraints, strategy))
}

func checkRebalancing(setting ecstypes.AvailabilityZoneRebalancing, obstacle string) error {
	if setting == "ENABLED" && obstacle != "" {
		return invalidParameter("AvailabilityZoneRebalancing does not support %s", obstacle)
	}
	return nil
}

// rebalancingObstacle returns why a service cannot be rebalanced, or "" (Developer Guide, "Balancing
// an Amazon ECS service across Availability Zones").
func rebalancingObstacle(svc *world.Service, maxPercent int, launchType ecstypes.LaunchType,
	constraints []ecstypes.PlacementConstraint, strategy []ecstypes.PlacementStrategy) string {
	const zone = "attribute:ecs.availability-zone"
	for _, c := range constraints {
		if strings.Contains(val(c.Expression), zone) {
			return "the placement constraint " + zone
		}
	}
	switch {
	case svc.Daemon:
		return "DAEMON scheduling strategy"
	case maxPercent <= 100:
		return "maximumPercent <= 100"
	case launchType == "EXTERNAL":
		return "EXTERNAL launch type"
	case len(strategy) > 0 && (strategy[0].Type != "spread" || val(strategy[0].Field) != zone):
		return "a first placement strategy other than spread by " + zone
	}
	return ""
}
