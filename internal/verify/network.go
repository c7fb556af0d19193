package verify

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/upkeep"
)

// partAt returns the n-th part of a text, or the whole text if it has fewer.
func partAt(text, separator string, n int) string {
	if parts := strings.Split(text, separator); n < len(parts) {
		return parts[n]
	}
	return text
}

// network returns the subnets and security groups of the tasks.
func (c *checker) network() (subnets, groups []string) {
	var n *ecstypes.NetworkConfiguration
	if c.app.Service != nil {
		n = c.app.Service.Input.NetworkConfiguration
	}
	if n == nil && c.app.Standalone.RunTask != nil && c.app.Standalone.RunTask.Input != nil {
		n = c.app.Standalone.RunTask.Input.NetworkConfiguration
	}
	if n == nil || n.AwsvpcConfiguration == nil {
		return c.app.Standalone.Subnets, c.app.Standalone.SecurityGroups
	}
	return n.AwsvpcConfiguration.Subnets, n.AwsvpcConfiguration.SecurityGroups
}

// checkNetwork requires subnets and security groups of one VPC.
func (c *checker) checkNetwork(ctx context.Context) {
	vpc, ok := c.readSubnets(ctx)
	_, groups := c.network()
	if !ok || len(groups) == 0 {
		return
	}
	networks, err := c.aws.Read.GroupNetworks(ctx, groups)
	if err != nil {
		c.judge("security groups", err, "", "")
		return
	}
	c.judgeMembers(securityGroup, groups, networks, vpc)
}

// requireNetwork requires subnets for tasks with network mode awsvpc. A service that exists keeps its own, but each task set
// names them.
func (c *checker) requireNetwork(ctx context.Context) {
	subnets, _ := c.network()
	if len(subnets) > 0 || c.app.Service == nil || c.networkMode() != ecstypes.NetworkModeAwsvpc {
		return
	}
	c.at(string(ecstypes.NetworkModeAwsvpc), "networkMode")
	const subject = "network"
	if !c.isExternal() {
		kept, err := c.aws.HasNetwork(ctx, c.app.ClusterRef(), aws.ToString(c.app.Service.Input.ServiceName))
		switch {
		case err != nil && !isMissing(err):
			c.unread(subject, err)
			return
		case kept:
			c.ok(subject, "the service keeps its own")
			return
		}
	}
	c.fail(subject, "tasks with network mode awsvpc need subnets", "set networkConfiguration in "+c.app.Service.File)
}

// readSubnets requires subnets of one VPC, which it returns. ok is false if there are none or they cannot be read.
func (c *checker) readSubnets(ctx context.Context) (vpc string, ok bool) {
	subnets, _ := c.network()
	if len(subnets) == 0 {
		return "", false
	}
	networks, err := c.aws.Read.Networks(ctx, subnets)
	if err != nil {
		c.judge("subnets", err, "", "")
		return "", false
	}
	return c.judgeMembers("subnet", subnets, networks, ""), true
}

const securityGroup = "security group"

// judgeMembers requires resources that exist in one VPC, which it returns. vpc is that VPC, if it is known.
func (c *checker) judgeMembers(what string, ids []string, networks map[string]string, vpc string) string {
	for _, id := range ids {
		c.at(id)
		subject, in := what+" "+id, networks[id]
		if vpc == "" {
			vpc = in
		}
		switch {
		case in == "" && what == securityGroup && c.isDeployment: // the plan of a group that another tool creates first
			c.warn(subject, "it does not exist in "+c.aws.Region+": AWS refuses the deployment, or no task starts",
				"correct its ID in the network configuration")
		case in == "":
			c.fail(subject, "it does not exist in "+c.aws.Region, "correct its ID in the network configuration")
		case in != vpc:
			c.fail(subject, "it is in "+in+", and other parts of the network are in "+vpc,
				"name subnets and security groups of one VPC")
		default:
			c.ok(subject, "in "+in)
		}
	}
	return vpc
}

// isInOtherNetwork reports whether a target group is in another VPC than the subnets, as far as they can be read.
func (c *checker) isInOtherNetwork(ctx context.Context, g upkeep.TargetGroup) bool {
	subnets, _ := c.network()
	if len(subnets) == 0 {
		return false
	}
	networks, err := c.aws.Read.Networks(ctx, subnets)
	return err == nil && g.VPC != "" && len(networks) > 0 &&
		!slices.Contains(slices.Collect(maps.Values(networks)), g.VPC)
}

// checkHooks requires the functions that CodeDeploy or ECS calls during a deployment.
func (c *checker) checkHooks(ctx context.Context) {
	functions := map[string]string{} // function -> subject
	for _, h := range c.app.Hooks {
		functions[h.Function] = "hook function " + lastPart(h.Function, ":") + " of " + h.Event
	}
	if c.app.Service != nil {
		for _, f := range HookFunctions(c.app.Service.Input) {
			functions[f] = "hook function " + lastPart(f, ":")
		}
	}
	for _, f := range slices.Sorted(maps.Keys(functions)) {
		c.at(f)
		state, err := c.aws.Read.FunctionState(ctx, f)
		if !c.judge(functions[f], err, "it does not exist", "create it, or correct its name: aws lambda get-function "+
			"--function-name "+f) {
			continue
		}
		switch state {
		case "Failed":
			c.fail(functions[f], "its state is Failed, so that it cannot be called",
				"find the reason: aws lambda get-function --function-name "+f)
		case "", "Active", "Inactive": // an inactive one becomes active when it is called
			c.ok(functions[f], "")
		default:
			c.warn(functions[f], "its state is "+state, "wait until it is Active")
		}
	}
}
