package validate

import (
	"slices"
	"strings"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// checkService compares the members of a service definition with each other (ECS API Reference,
// "CreateService").
func (c *checker) checkService(service *definition.Service) {
	in, body := service.Input, service.Text.Body
	strategy, launch := body.Find("capacityProviderStrategy"), body.Find("launchType")
	if hasContent(strategy) && hasContent(launch) {
		c.addProblem(later(strategy, launch), "remove one of the two",
			"launchType and capacityProviderStrategy exclude each other")
	}
	c.checkProviders(itemsOf(strategy))
	if in.SchedulingStrategy == ecstypes.SchedulingStrategyDaemon {
		c.checkDaemon(service)
	}
	c.checkPercents(service)
	if in.LaunchType == ecstypes.LaunchTypeEc2 && hasContent(body.Find("platformVersion")) {
		c.addProblem(body.Find("platformVersion"), "remove it, or set launchType: FARGATE",
			"platformVersion is for Fargate only, and launchType is EC2")
	}
	if runsOnFargate(service) {
		for _, member := range [...]string{"placementConstraints", "placementStrategy"} {
			if n := body.Find(member); hasContent(n) {
				c.addProblem(n, "remove it", "Fargate does not support %s", member)
			}
		}
	}
	for _, r := range itemsOf(body.Find("serviceRegistries")) {
		if hasContent(r.Find("containerPort")) && !hasContent(r.Find("containerName")) {
			c.addProblem(r, "add containerName", "a service registry has containerPort without containerName")
		}
	}
	for _, b := range itemsOf(body.Find("loadBalancers")) {
		c.checkBalancer(b)
		if group := b.Find("targetGroupArn"); hasContent(group) && !strings.HasPrefix(group.Text, "arn:") {
			c.problems = append(c.problems, CheckGroupARN(c.src, group)) // a name in place of the ARN
		}
	}
	c.refuseSameBalancers(itemsOf(body.Find("loadBalancers")))
	c.checkStrategy(body.Find("deploymentConfiguration"))
	c.requirePairs(service)
	c.checkHooks(service)
	c.checkPlacement(body)
}

// later returns the node that is further down in the file.
func later(a, b *definition.Node) *definition.Node {
	if a.Line > b.Line {
		return a
	}
	return b
}

// isFargateService reports whether all tasks of a service run on Fargate.
func isFargateService(launch ecstypes.LaunchType, strategy []ecstypes.CapacityProviderStrategyItem) bool {
	if len(strategy) > 0 {
		return !slices.ContainsFunc(strategy, func(s ecstypes.CapacityProviderStrategyItem) bool {
			return s.CapacityProvider == nil || *s.CapacityProvider != "FARGATE" && *s.CapacityProvider != "FARGATE_SPOT"
		})
	}
	return launch == ecstypes.LaunchTypeFargate
}

// checkPercents refuses limits of a deployment that AWS refuses because they block every deployment: no
// task may stop and none may start. The maximum of a daemon is always 100.
func (c *checker) checkPercents(service *definition.Service) {
	config := service.Input.DeploymentConfiguration
	if config == nil {
		return
	}
	daemon := service.Input.SchedulingStrategy == ecstypes.SchedulingStrategyDaemon
	node := service.Text.Body.Find("deploymentConfiguration")
	least, most := node.Find("minimumHealthyPercent"), node.Find("maximumPercent")
	if daemon && config.MaximumPercent != nil && *config.MaximumPercent != 100 {
		c.addProblem(most, "set maximumPercent to 100, or remove it",
			"maximumPercent of a service with schedulingStrategy DAEMON is 100")
	}
	full := daemon || config.MaximumPercent != nil && *config.MaximumPercent == 100
	if full && config.MinimumHealthyPercent != nil && *config.MinimumHealthyPercent == 100 {
		c.addProblem(least, "lower minimumHealthyPercent",
			"minimumHealthyPercent 100 and maximumPercent 100 block every deployment: no task may stop, and none may start")
	}
	if config.MinimumHealthyPercent == nil {
		return // the running service may have it: the plan checks that
	}
	if problem, next := definition.EarlySuccessProblem(config, *config.MinimumHealthyPercent); problem != "" {
		c.addProblem(node.Find("earlySuccessCriteria").Find("healthyPercent"), next, "%s", problem)
	}
}

// checkProviders refuses two capacity providers with a base, and one that is given twice.
func (c *checker) checkProviders(items []*definition.Node) {
	seen, based := map[string]bool{}, false
	for _, item := range items {
		if name := item.Find("capacityProvider"); isGiven(name) {
			if seen[name.Text] {
				c.addProblem(name, "remove one of the two", "capacity provider %s is given twice", name.Text)
			}
			seen[name.Text] = true
		}
		if base := item.Find("base"); hasContent(base) {
			if based {
				c.addProblem(base, "set a base for one capacity provider only",
					"two capacity providers have a base; AWS allows one")
			}
			based = true
		}
	}
}

// checkDaemon refuses members that a daemon does not have.
func (c *checker) checkDaemon(service *definition.Service) {
	body := service.Text.Body
	if n := body.Find("desiredCount"); isGiven(n) {
		c.addProblem(n, "remove desiredCount: a daemon has one task on each container instance",
			"a service with schedulingStrategy DAEMON has no desiredCount")
	}
	if runsOnFargate(service) {
		c.addProblem(body.Find("schedulingStrategy"), "set schedulingStrategy: REPLICA, or launchType: EC2",
			"Fargate does not support schedulingStrategy DAEMON")
	}
}

// checkBalancer refuses a load balancer without what CreateService needs of it.
func (c *checker) checkBalancer(b *definition.Node) {
	for _, member := range [...]string{"containerName", "containerPort"} {
		if !hasContent(b.Find(member)) {
			c.addProblem(b, "add "+member, "a load balancer has no %s", member)
		}
	}
	group, name := b.Find("targetGroupArn"), b.Find("loadBalancerName")
	if !hasContent(group) && !hasContent(name) {
		c.addProblem(b, "add targetGroupArn", "a load balancer has no targetGroupArn")
	}
	if pair := b.Find("advancedConfiguration"); hasContent(pair) {
		c.checkPair(group, pair)
	}
}

// checkPair checks the second target group of a strategy of ECS's own (ECS API Reference, "AdvancedConfiguration").
func (c *checker) checkPair(group, pair *definition.Node) {
	for _, member := range [...]string{"alternateTargetGroupArn", "productionListenerRule", "roleArn"} {
		if !hasContent(pair.Find(member)) {
			c.addProblem(pair, "add "+member, "advancedConfiguration has no %s", member)
		}
	}
	if other := pair.Find("alternateTargetGroupArn"); hasContent(other) && hasContent(group) && other.Text == group.Text {
		c.addProblem(other, "name another target group", "alternateTargetGroupArn is the same target group as targetGroupArn")
	}
}

// checkStrategy refuses the configuration of another strategy than the one that is given.
func (c *checker) checkStrategy(configuration *definition.Node) {
	strategy := configuration.Find("strategy")
	for _, of := range [...]string{"CANARY", "LINEAR"} {
		member := strings.ToLower(of) + "Configuration"
		if n := configuration.Find(member); hasContent(n) && hasContent(strategy) && strategy.Text != of {
			c.addProblem(n, "remove it, or set strategy: "+of, "%s is for strategy %s, and strategy is %s", member, of,
				strategy.Text)
		}
	}
}

// requirePairs refuses load balancers of a strategy that shifts requests without the second target group and the rule that it
// needs (ECS Developer Guide, "Application Load Balancer resources for blue/green, linear, and canary deployments").
func (c *checker) requirePairs(service *definition.Service) {
	in := service.Input
	if in.DeploymentConfiguration == nil || !shiftsRequests(in) {
		return
	}
	strategy := in.DeploymentConfiguration.Strategy
	for i, b := range in.LoadBalancers {
		if b.AdvancedConfiguration == nil {
			c.addProblem(itemsOf(service.Text.Body.Find("loadBalancers"))[i],
				"add advancedConfiguration: alternateTargetGroupArn, productionListenerRule and roleArn",
				"strategy %s needs advancedConfiguration for each load balancer", strategy)
		}
	}
}

// shiftsRequests reports whether ECS shifts the requests of a service itself. It ignores the strategy under another
// controller.
func shiftsRequests(in *awsecs.CreateServiceInput) bool {
	switch in.DeploymentConfiguration.Strategy {
	case ecstypes.DeploymentStrategyBlueGreen, ecstypes.DeploymentStrategyCanary, ecstypes.DeploymentStrategyLinear:
		return in.DeploymentController == nil || in.DeploymentController.Type == ecstypes.DeploymentControllerTypeEcs
	}
	return false
}

// checkHooks refuses a hook that calls a function and does not say which, or with which role (ECS API Reference,
// "DeploymentLifecycleHook").
func (c *checker) checkHooks(service *definition.Service) {
	if service.Input.DeploymentConfiguration == nil {
		return
	}
	nodes := itemsOf(service.Text.Body.Find("deploymentConfiguration").Find("lifecycleHooks"))
	for i, h := range service.Input.DeploymentConfiguration.LifecycleHooks {
		if h.TargetType != "" && h.TargetType != ecstypes.DeploymentLifecycleHookTargetTypeAwsLambda {
			continue
		}
		for _, member := range [...]string{"hookTargetArn", "roleArn"} {
			if !hasContent(nodes[i].Find(member)) {
				c.addProblem(nodes[i], "add "+member+", or set targetType: PAUSE",
					"a lifecycle hook of type AWS_LAMBDA has no %s", member)
			}
		}
	}
}

// isARNOf reports whether a value is an ARN whose resource begins with a type.
func isARNOf(n *definition.Node, kind string) bool {
	parts := strings.SplitN(n.Text, ":", 6)
	return parts[0] == "arn" && len(parts) == 6 && strings.HasPrefix(parts[5], kind)
}

// CheckRuleARN returns the problem of what is neither the ARN of a listener rule nor that of a listener; nil if there is none.
func CheckRuleARN(src *definition.Source, n *definition.Node) *definition.Problem {
	if isARNOf(n, "listener") {
		return nil
	}
	p := src.At(n, "listenerRules has no ARN of a listener rule: "+
		"arn:aws:elasticloadbalancing:<region>:<account>:listener-rule/app/<load balancer>/<id>/<id>/<id>")
	p.Next = "find the ARN: aws elbv2 describe-rules --listener-arn LISTENER"
	return p
}

// CheckGroupARN returns the problem of what is not the ARN of a target group; nil if there is none. AWS refuses it too,
// without its line.
func CheckGroupARN(src *definition.Source, n *definition.Node) *definition.Problem {
	if n == nil || n.Text == "" || isARNOf(n, "targetgroup/") {
		return nil
	}
	p := src.At(n, "targetGroupArn is not the ARN of a target group: "+
		"arn:aws:elasticloadbalancing:<region>:<account>:targetgroup/<name>/<id>")
	p.Next = "find the ARN: aws elbv2 describe-target-groups"
	return p
}
