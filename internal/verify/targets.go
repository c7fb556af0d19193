package verify

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/upkeep"
)

// attachment is a target group with the container and port of its targets.
type attachment struct {
	arn, container string
	port           int32
}

// attachments returns the target groups that the files name, each once. Those of variants are left out if a plan has
// read them, and adds the canary to a rule.
func (c *checker) attachments(withVariants bool) (all []attachment) {
	add := func(a attachment) {
		if a.arn != "" && !slices.ContainsFunc(all, func(b attachment) bool { return a.arn == b.arn }) {
			all = append(all, a)
		}
	}
	if c.app.Service != nil {
		for _, b := range c.app.Service.Input.LoadBalancers {
			container, port := aws.ToString(b.ContainerName), aws.ToInt32(b.ContainerPort)
			add(attachment{aws.ToString(b.TargetGroupArn), container, port})
			if b.AdvancedConfiguration != nil {
				add(attachment{aws.ToString(b.AdvancedConfiguration.AlternateTargetGroupArn), container, port})
			}
		}
	}
	for _, g := range []*appfile.TargetGroup{c.app.Primary, c.app.Canary} {
		if g != nil && withVariants {
			add(attachment{g.ARN, g.Container, g.Port})
		}
	}
	return all
}

// checkTargetGroups requires target groups that exist and take the tasks, and containers that have the ports.
func (c *checker) checkTargetGroups(ctx context.Context) {
	for _, a := range c.attachments(!c.isDeployment) {
		c.at(a.arn)
		name := targetGroupName(a.arn)
		subject := "target group " + name
		g, err := c.aws.Existing.TargetGroup(ctx, a.arn)
		next := "create it, or correct its ARN: aws elbv2 describe-target-groups"
		if isMissing(err) {
			if near := alb.NearestGroup(ctx, c.aws.Existing.ELB, a.arn); near != "" {
				next = "correct its ARN: " + targetGroupName(near) + " is " + near
			}
		}
		if c.judge(subject, err, "it does not exist", next) {
			c.judgeTargetGroup(ctx, subject, a, g)
		}
	}
}

func (c *checker) judgeTargetGroup(ctx context.Context, subject string, a attachment, g upkeep.TargetGroup) {
	want := definition.TargetType(c.networkMode())
	addedTo := ""
	if !g.IsForwarded {
		addedTo = c.addedTo(ctx, a)
	}
	switch {
	case g.Type != want:
		c.fail(subject, fmt.Sprintf("its targets are of type %s, and tasks with network mode %s need %s", g.Type,
			c.networkMode(), want), "create a target group with --target-type "+want)
	case !g.IsForwarded && addedTo == "" && !c.isExternal():
		c.fail(subject, "no load balancer forwards to it, and AWS refuses such a service",
			"add a listener rule that forwards to it")
	case !g.IsForwarded && addedTo == "":
		c.warn(subject, "no load balancer forwards to it", "add a listener rule that forwards to it")
	case a.container != "" && !c.hasPort(a.container, a.port):
		c.fail(subject, fmt.Sprintf("container %s has no port mapping for port %d", a.container, a.port),
			"add the port to portMappings in "+c.app.Task.File)
	case c.isInOtherNetwork(ctx, g):
		c.fail(subject, "it is in "+g.VPC+", and the subnets of the tasks are not",
			"name a target group of the same VPC")
	case !c.isDeployment && c.warnsOfHealthPort(subject, a, g):
	default:
		c.ok(subject, addedTo)
	}
}

// checkHealthPorts warns of target groups whose health checks go to a port that no container has. Other checks report
// what cannot be read.
func (c *checker) checkHealthPorts(ctx context.Context) {
	for _, a := range c.attachments(true) {
		c.at(a.arn)
		if g, err := c.aws.Existing.TargetGroup(ctx, a.arn); err == nil {
			c.warnsOfHealthPort("target group "+targetGroupName(a.arn), a, g)
		}
	}
}

// warnsOfHealthPort warns if the health checks of a group go to a port that no container has, and reports whether it did.
func (c *checker) warnsOfHealthPort(subject string, a attachment, g upkeep.TargetGroup) bool {
	var ports []string
	c.containers(func(d ecstypes.ContainerDefinition) {
		for _, p := range d.PortMappings {
			ports = append(ports, strconv.Itoa(int(aws.ToInt32(p.ContainerPort))))
		}
	})
	if g.Type != "ip" || g.HealthPort == "" || g.HealthPort == "traffic-port" || len(ports) == 0 ||
		slices.Contains(ports, g.HealthPort) {
		return false
	}
	c.warn(subject, fmt.Sprintf("its health checks go to port %s, and the containers have port %s", g.HealthPort,
		strings.Join(ports, ", ")), "check the port of the targets: aws elbv2 modify-target-group --target-group-arn "+a.arn+
		" --health-check-port traffic-port")
	return true
}

// addedTo says to which rules a pipeline adds the target group of the canary. It is empty for any other group, and if no
// rule forwards to the primary.
func (c *checker) addedTo(ctx context.Context, a attachment) string {
	app := c.app
	if app.Canary == nil || app.Primary == nil || len(app.Pipeline) == 0 || a.arn != app.Canary.ARN {
		return ""
	}
	primary, err := c.aws.Existing.TargetGroup(ctx, app.Primary.ARN)
	if err != nil || !primary.IsForwarded {
		return ""
	}
	return "the pipeline adds it to the rules of " + targetGroupName(app.Primary.ARN)
}

func (c *checker) networkMode() ecstypes.NetworkMode {
	if c.task.NetworkMode == "" {
		return ecstypes.NetworkModeBridge
	}
	return c.task.NetworkMode
}

// isExternal reports whether the service has task sets, for which AWS accepts a target group without a load balancer.
func (c *checker) isExternal() bool {
	s := c.app.Service
	return s != nil && s.Input.DeploymentController != nil &&
		s.Input.DeploymentController.Type == ecstypes.DeploymentControllerTypeExternal
}

func (c *checker) hasPort(container string, port int32) bool {
	return slices.ContainsFunc(c.task.ContainerDefinitions, func(d ecstypes.ContainerDefinition) bool {
		return aws.ToString(d.Name) == container && slices.ContainsFunc(d.PortMappings,
			func(p ecstypes.PortMapping) bool { return aws.ToInt32(p.ContainerPort) == port })
	})
}

// targetGroupName returns the name in the ARN of a target group.
func targetGroupName(arn string) string {
	a, err := parseARN(arn)
	if err != nil {
		return arn
	}
	return partAt(a.resource, "/", 1)
}
