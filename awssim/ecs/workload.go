package ecs

import (
	"slices"
	"strings"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxSubnets        = 16
	maxSecurityGroups = 5
)

// workload describes how the tasks of a task set, of a service with controller ECS, or of RunTask
// run.
type workload struct {
	definition *world.TaskDefinition
	launchType ecstypes.LaunchType
	strategy   []ecstypes.CapacityProviderStrategyItem
	platform   *string
	network    *ecstypes.NetworkConfiguration
	balancers  []ecstypes.LoadBalancer
	deploymentDoc
	shifting ecstypes.DeploymentStrategy // empty unless deployments move traffic

	subnets  []string
	attached []world.Attachment
}

// checkWorkload rejects a workload that AWS rejects, and fills in the derived fields.
func (w *workload) checkWorkload(tx *world.Tx, c *world.Cluster, mostBalancers int) error {
	for _, step := range []func() error{
		func() error { return w.checkLaunch(tx, c) },
		func() error { return w.checkNetwork(tx) },
		func() error { return w.checkBalancers(tx, mostBalancers) },
		w.checkVolumes,
		func() error { return w.checkConnect(tx, c) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// checkLaunch determines launch type and capacity provider. Without either, the cluster's default
// strategy applies, otherwise EC2.
func (w *workload) checkLaunch(tx *world.Tx, c *world.Cluster) error {
	if w.launchType != "" && len(w.strategy) > 0 {
		return invalidParameter(
			"Specifying both a launch type and capacity provider strategy is not supported. Remove one and try again.")
	}
	cluster := docOfCluster(c)
	if w.launchType == "" && len(w.strategy) == 0 {
		w.strategy = deepCopy(cluster.DefaultCapacityProviderStrategy)
	}
	if err := checkStrategy(cluster.CapacityProviders, w.strategy); err != nil {
		return err
	}
	if len(w.strategy) > 0 {
		w.launchType = "EC2"
		if p, ok := providersOf(tx).Get(lastSegment(val(w.strategy[0].CapacityProvider))); ok && p.predefined {
			w.launchType = "FARGATE"
		}
	}
	switch w.launchType {
	case "":
		w.launchType = "EC2"
	case "EC2", "FARGATE":
	default:
		return notSimulated("Launch type " + string(w.launchType))
	}
	if w.launchType == "FARGATE" && !hasItem(docOfDefinition(w.definition).def.Compatibilities, "FARGATE") {
		return invalidParameter("Task definition does not support launch_type FARGATE.")
	}
	return w.checkPlatform()
}

// platforms are the platform versions of Linux on Fargate (Developer Guide,
// "Fargate platform versions").
var platforms = []string{"LATEST", "1.4.0", "1.3.0", "1.2.0", "1.1.0", "1.0.0"}

func (w *workload) checkPlatform() error {
	switch {
	case w.launchType != "FARGATE" && len(w.strategy) > 0:
		w.platform = nil
	case w.launchType != "FARGATE" && val(w.platform) != "":
		return invalidParameter("The platform version must be null when specifying an EC2 launch type.")
	case w.launchType != "FARGATE":
	case val(w.platform) == "":
		w.platform = ptr("LATEST")
	case !hasItem(platforms, *w.platform):
		return world.Refuse("PlatformUnknownException", "The specified platform does not exist.")
	}
	return nil
}

const (
	maxConstraints = 10 // placement constraints of a service or task (API Reference, CreateService)
	maxRules       = 5  // rules of a placement strategy (API Reference, CreateService)
)

// checkPlacement rejects placement settings for tasks on Fargate, which has no instances, and settings
// that AWS's reference does not allow.
func (w *workload) checkPlacement(constraints []ecstypes.PlacementConstraint,
	strategy []ecstypes.PlacementStrategy) error {
	fargate := w.launchType == "FARGATE"
	switch {
	case fargate && len(constraints) > 0:
		return invalidParameter("Placement constraints are not supported with FARGATE launch type.")
	case fargate && len(strategy) > 0:
		return invalidParameter("Placement strategies are not supported with FARGATE launch type.")
	case len(constraints) > maxConstraints:
		return invalidParameter("placement constraints can have at most %d items.", maxConstraints)
	case len(strategy) > maxRules:
		return invalidParameter("placement strategies can have at most %d items.", maxRules)
	}
	for _, c := range constraints {
		if err := checkConstraint(c); err != nil {
			return err
		}
	}
	for _, r := range strategy {
		if err := checkStrategyRule(r); err != nil {
			return err
		}
	}
	return nil
}

func checkConstraint(c ecstypes.PlacementConstraint) error {
	switch expression := val(c.Expression); {
	case c.Type == "distinctInstance" && expression != "":
		return invalidParameter("A placement constraint of type distinctInstance cannot have an expression.")
	case c.Type == "memberOf" && expression == "":
		return invalidParameter("A placement constraint of type memberOf must have an expression.")
	}
	return nil
}

func checkStrategyRule(r ecstypes.PlacementStrategy) error {
	field := strings.ToLower(val(r.Field))
	switch {
	case r.Type == "random" && field != "":
		return invalidParameter("The placement strategy random cannot have a field.")
	case r.Type == "binpack" && field != "cpu" && field != "memory":
		return invalidParameter("The field of the placement strategy binpack must be cpu or memory.")
	}
	return nil
}

// checkExec rejects ECS Exec without the role that the tasks need for it. what is the refused action.
func checkExec(d *world.TaskDefinition, enabled bool, what string) error {
	if enabled && val(docOfDefinition(d).def.TaskRoleArn) == "" {
		return invalidParameter("The %s because a valid taskRoleArn is not being used. Specify a valid task role in "+
			"your task definition and try again.", what)
	}
	return nil
}

func (w *workload) checkNetwork(tx *world.Tx) error {
	if !w.definition.HasOwnAddress() {
		if w.network != nil {
			return invalidParameter(
				"Network Configuration is not valid for the given networkMode of this task definition.")
		}
		return nil
	}
	if w.network == nil || w.network.AwsvpcConfiguration == nil {
		return invalidParameter("Network Configuration must be provided when networkMode 'awsvpc' is specified.")
	}
	v := w.network.AwsvpcConfiguration
	switch {
	case len(v.Subnets) == 0:
		return invalidParameter("subnets can not be empty.")
	case len(v.Subnets) > maxSubnets:
		return invalidParameter("subnets can have at most %d items.", maxSubnets)
	case len(v.SecurityGroups) > maxSecurityGroups:
		return invalidParameter("securityGroups can have at most %d items.", maxSecurityGroups)
	}
	vpc := ""
	for _, id := range v.Subnets {
		sub, ok := tx.Subnets.Get(id)
		if !ok {
			return invalidParameter("Error retrieving subnet information for [%s]: The subnet ID '%s' does not "+
				"exist (ErrorCode: InvalidSubnetID.NotFound)", id, id)
		}
		if vpc != "" && vpc != sub.VPC {
			return invalidParameter("subnets must belong to the same VPC.")
		}
		vpc = sub.VPC
	}
	if v.AssignPublicIp == "" {
		v.AssignPublicIp = "DISABLED"
	}
	w.subnets = slices.Clone(v.Subnets)
	return nil
}

func (w *workload) checkBalancers(tx *world.Tx, most int) error {
	if len(w.balancers) > most {
		return invalidParameter("load balancers can have at most %d items.", most)
	}
	for i := range w.balancers {
		a, err := w.checkBalancer(tx, &w.balancers[i])
		if err != nil {
			return err
		}
		if slices.ContainsFunc(w.attached, func(x world.Attachment) bool { return isSameTarget(x, a) }) {
			return invalidParameter("The target group %s is specified more than once for container %s, port %d.",
				a.TargetGroup, a.Container, a.ContainerPort)
		}
		w.attached = append(w.attached, a)
	}
	return nil
}

func (w *workload) checkBalancer(tx *world.Tx, b *ecstypes.LoadBalancer) (a world.Attachment, err error) {
	a = world.Attachment{TargetGroup: val(b.TargetGroupArn), Container: val(b.ContainerName),
		ContainerPort: val(b.ContainerPort)}
	switch {
	case val(b.LoadBalancerName) != "" && !w.definition.HasOwnAddress():
		return a, notSimulated("Classic load balancers")
	case val(b.LoadBalancerName) != "":
		return a, invalidParameter("Classic load balancers are not supported with the awsvpc network mode.")
	case a.TargetGroup == "":
		return a, invalidParameter("targetGroupArn can not be blank.")
	case a.Container == "":
		return a, invalidParameter("Container Name can not be blank.")
	case b.ContainerPort == nil:
		return a, invalidParameter("Container Port can not be blank.")
	}
	if err := w.checkPort(a); err != nil {
		return a, err
	}
	if w.shifting != "" {
		return a, w.checkPair(tx, b, &a)
	}
	return a, firstError(checkUnusedPair(b), w.checkGroup(tx, a.TargetGroup))
}

func isSameTarget(a, b world.Attachment) bool {
	return a.TargetGroup == b.TargetGroup && a.Container == b.Container && a.ContainerPort == b.ContainerPort
}

func (w *workload) checkPort(a world.Attachment) error {
	for _, c := range w.definition.Containers {
		if c.Name != a.Container {
			continue
		}
		for _, p := range c.Ports {
			if p.Container == a.ContainerPort {
				return nil
			}
		}
		return invalidParameter("The container %s did not have a container port %d defined.", a.Container,
			a.ContainerPort)
	}
	return invalidParameter("The container %s does not exist in the task definition.", a.Container)
}

// checkGroup rejects a target group of another target type than the network mode needs: ip for
// awsvpc, instance otherwise.
func (w *workload) checkGroup(tx *world.Tx, arn string) error {
	want := "instance"
	if w.definition.HasOwnAddress() {
		want = "ip"
	}
	g, ok := tx.TargetGroups.Get(arn)
	switch {
	case !ok:
		return invalidParameter("The specified target group does not exist: %s", arn)
	case g.TargetType != want:
		return invalidParameter("The provided target group %s has target type %s, which is incompatible with the "+
			"%s network mode specified in the task definition.", arn, g.TargetType, w.definition.NetworkMode)
	case g.Balancer == "":
		return invalidParameter("The target group with targetGroupArn %s does not have an associated load balancer.",
			arn)
	}
	return nil
}
