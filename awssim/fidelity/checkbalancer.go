package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

func balancerChecks() []checked {
	return []checked{
		{"A group that no rule of an active load balancer names", "vpc", unusedGroup},
		{"DescribeTargetHealth is not paged", "vpc", unknownTargets},
		{"CreateLoadBalancer, CreateTargetGroup and CreateListener", "vpc", sameGroup},
		{"Refusals: TargetGroupAssociationLimit", "balancer", ruleRefusals},
		{"Reads are normalised", "balancer", normalised},
		{"ModifyRule and ModifyListener replace whole lists", "balancer", replaced},
		{"All weights 0", "balancer", noWeight},
		{"PageSize 1–400", "balancer", pages},
		{"Target stickiness behind several groups", "balancer", stickyGroups},
	}
}

func unusedGroup(c *check) {
	made, err := c.site.makeGroup(c, "-c", 80)
	c.must("create a target group", err)
	group := aws.ToString(made.TargetGroups[0].TargetGroupArn)
	in := &awselb.RegisterTargetsInput{TargetGroupArn: &group, Targets: []elbtypes.TargetDescription{{Id: ptr("10.254.254.254"), AvailabilityZone: ptr("all")}}}
	if _, err := c.site.elb.RegisterTargets(c.ctx, in); err != nil {
		c.must("register a target outside the VPC", err)
	}
	out, err := c.site.elb.DescribeTargetHealth(c.ctx, &awselb.DescribeTargetHealthInput{TargetGroupArn: &group})
	c.must("describe the health of targets", err)
	c.same("targets", len(out.TargetHealthDescriptions), 1)
	h := out.TargetHealthDescriptions[0].TargetHealth
	c.same("state and reason of a target that no rule leads to", fmt.Sprint(h.State, " ", h.Reason), "unused Target.NotInUse")
	_, err = c.site.elb.DeregisterTargets(c.ctx, &awselb.DeregisterTargetsInput{TargetGroupArn: &group, Targets: in.Targets})
	c.must("deregister it", err)
}

func unknownTargets(c *check) {
	out, err := c.site.elb.DescribeTargetHealth(c.ctx, &awselb.DescribeTargetHealthInput{TargetGroupArn: &c.site.groups(c)[1], Targets: []elbtypes.TargetDescription{{Id: ptr("10.254.254.253"), Port: aws.Int32(80)}}})
	c.must("describe the health of an unknown target", err)
	c.same("answers about an unknown target", len(out.TargetHealthDescriptions), 1)
	h := out.TargetHealthDescriptions[0].TargetHealth
	c.same("its state and reason", fmt.Sprint(h.State, " ", h.Reason), "unused Target.NotRegistered")
}

func sameGroup(c *check) {
	first := c.site.groups(c)[0]
	out, err := c.site.makeGroup(c, "-a", 80)
	c.must("create the target group again", err)
	c.same("the target group of the same settings", aws.ToString(out.TargetGroups[0].TargetGroupArn), first)
	_, err = c.site.makeGroup(c, "-a", 81)
	c.refused("a target group of that name with another port", err, "DuplicateTargetGroupName", "DuplicateTargetGroupNameException")
}

func (c *check) forward(weights ...int32) []elbtypes.Action {
	f := &elbtypes.ForwardActionConfig{}
	for i, w := range weights {
		f.TargetGroups = append(f.TargetGroups, elbtypes.TargetGroupTuple{TargetGroupArn: &c.site.groups(c)[i%2], Weight: &w})
	}
	return []elbtypes.Action{{Type: "forward", ForwardConfig: f}}
}

// listenerARN returns the listener of the program's load balancer. It creates both at the first
// call.
func (s *site) listener(c *check) string {
	if s.objects.listener != "" {
		return s.objects.listener
	}
	name := s.prefix
	s.remove("load balancer "+name, func(ctx context.Context) error { return s.removeBalancer(ctx, name) })
	lb, err := s.elb.CreateLoadBalancer(c.ctx, &awselb.CreateLoadBalancerInput{Name: &name, Type: "application", Scheme: "internal", Subnets: s.subnets, Tags: s.elbTags()})
	c.must("create the load balancer", err)
	arn := lb.LoadBalancers[0].LoadBalancerArn
	c.same("state of a new load balancer", lb.LoadBalancers[0].State.Code, "provisioning")
	c.holds("it becomes active", c.until(10*time.Minute, func() bool {
		out, err := s.elb.DescribeLoadBalancers(c.ctx, &awselb.DescribeLoadBalancersInput{LoadBalancerArns: []string{*arn}})
		c.must("describe the load balancer", err)
		return out.LoadBalancers[0].State.Code == "active"
	}), "provisioning")
	l, err := s.elb.CreateListener(c.ctx, &awselb.CreateListenerInput{LoadBalancerArn: arn, Port: aws.Int32(80), Protocol: "HTTP", DefaultActions: c.forward(100, 0), Tags: s.elbTags()})
	c.must("create the listener", err)
	s.objects.listener = aws.ToString(l.Listeners[0].ListenerArn)
	return s.objects.listener
}

func (c *check) rule(priority int32, actions []elbtypes.Action) (*elbtypes.Rule, error) {
	out, err := c.site.elb.CreateRule(c.ctx, &awselb.CreateRuleInput{ListenerArn: ptr(c.site.listener(c)), Priority: &priority, Actions: actions,
		Conditions: []elbtypes.RuleCondition{{Field: ptr("path-pattern"), PathPatternConfig: &elbtypes.PathPatternConditionConfig{Values: []string{fmt.Sprintf("/%d", priority)}}}}})
	if err != nil {
		return nil, err
	}
	return &out.Rules[0], nil
}

func (c *check) rules() []elbtypes.Rule {
	out, err := c.site.elb.DescribeRules(c.ctx, &awselb.DescribeRulesInput{ListenerArn: ptr(c.site.listener(c))})
	c.must("describe the rules", err)
	return out.Rules
}

func ruleRefusals(c *check) {
	_, err := c.rule(10, c.forward(1, 1))
	c.must("create a rule", err)
	_, err = c.rule(10, c.forward(1, 1))
	c.refused("a rule of a priority that is taken", err, "PriorityInUse", "PriorityInUseException")
	for _, r := range c.rules() {
		if aws.ToBool(r.IsDefault) {
			_, err = c.site.elb.DeleteRule(c.ctx, &awselb.DeleteRuleInput{RuleArn: r.RuleArn})
			c.refused("delete the default rule", err, "OperationNotPermitted", "OperationNotPermittedException")
		}
	}
	group := c.site.groups(c)[0]
	_, err = c.site.elb.DeleteTargetGroup(c.ctx, &awselb.DeleteTargetGroupInput{TargetGroupArn: &group})
	c.refused("delete a target group that a rule names", err, "ResourceInUse", "ResourceInUseException")
	_, err = c.rule(11, c.forward(1000, 1))
	c.refused("a weight of 1000", err, "ValidationError")
}

func normalised(c *check) {
	_, err := c.rule(20, []elbtypes.Action{{Type: "forward", TargetGroupArn: &c.site.groups(c)[0]}})
	c.must("create a rule of one target group", err)
	for _, r := range c.rules() {
		if aws.ToString(r.Priority) != "20" {
			continue
		}
		a := r.Actions[0]
		c.same("TargetGroupArn of a rule of one target group", aws.ToString(a.TargetGroupArn), c.site.groups(c)[0])
		c.holds("it comes back as a ForwardConfig of weight 1 too", a.ForwardConfig != nil && len(a.ForwardConfig.TargetGroups) == 1 && aws.ToInt32(a.ForwardConfig.TargetGroups[0].Weight) == 1, a.ForwardConfig)
		c.holds("conditions have both forms", len(r.Conditions[0].Values) == 1 && r.Conditions[0].PathPatternConfig != nil, r.Conditions)
	}
}

func replaced(c *check) {
	r, err := c.rule(30, c.forward(90, 10))
	c.must("create a rule", err)
	out, err := c.site.elb.ModifyRule(c.ctx, &awselb.ModifyRuleInput{RuleArn: r.RuleArn, Actions: c.forward(50, 50)})
	c.must("modify its actions", err)
	c.same("conditions that ModifyRule leaves out", len(out.Rules[0].Conditions), 1)
	c.same("weights", fmt.Sprint(aws.ToInt32(out.Rules[0].Actions[0].ForwardConfig.TargetGroups[0].Weight), aws.ToInt32(out.Rules[0].Actions[0].ForwardConfig.TargetGroups[1].Weight)), "50 50")
}

func noWeight(c *check) {
	_, err := c.rule(40, c.forward(0, 0))
	c.must("create a rule whose weights are all 0", err)
}

func pages(c *check) {
	c.holds("there is a rule beside the default one", len(c.rules()) > 0, len(c.rules()))
	_, err := c.rule(50, c.forward(1, 1))
	c.must("create a rule", err)
	out, err := c.site.elb.DescribeRules(c.ctx, &awselb.DescribeRulesInput{ListenerArn: ptr(c.site.listener(c)), PageSize: aws.Int32(1)})
	c.must("describe one rule", err)
	c.same("rules of a page of one", len(out.Rules), 1)
	c.holds("a marker leads on", aws.ToString(out.NextMarker) != "", out.NextMarker)
	_, err = c.site.elb.DescribeRules(c.ctx, &awselb.DescribeRulesInput{ListenerArn: ptr(c.site.listener(c)), PageSize: aws.Int32(401)})
	c.refused("a page of 401", err, "ValidationError")
}

func stickyGroups(c *check) {
	made, err := c.site.makeGroup(c, "-d", 80)
	c.must("create a target group", err)
	group := made.TargetGroups[0].TargetGroupArn
	_, err = c.site.elb.ModifyTargetGroupAttributes(c.ctx, &awselb.ModifyTargetGroupAttributesInput{TargetGroupArn: group,
		Attributes: []elbtypes.TargetGroupAttribute{{Key: ptr("stickiness.enabled"), Value: ptr("true")}, {Key: ptr("stickiness.type"), Value: ptr("lb_cookie")}}})
	c.must("make the target group sticky", err)
	actions := c.forward(1, 1)
	actions[0].ForwardConfig.TargetGroups[1].TargetGroupArn = group
	_, err = c.rule(60, actions)
	c.refused("a sticky target group beside another one, without group stickiness", err, "InvalidLoadBalancerAction", "InvalidLoadBalancerActionException", "InvalidConfigurationRequest")
}
