package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

func balancerChecks() []rowCheck {
	return []rowCheck{
		{"A group that no rule of an active load balancer names", "vpc", checkUnusedGroup},
		{"DescribeTargetHealth is not paged", "vpc", checkUnknownTargets},
		{"CreateLoadBalancer, CreateTargetGroup and CreateListener", "vpc", checkSameGroup},
		{"Refusals: TargetGroupAssociationLimit", "balancer", checkRuleRefusals},
		{"Reads are normalised", "balancer", checkNormalised},
		{"ModifyRule and ModifyListener replace whole lists", "balancer", checkReplacedLists},
		{"All weights 0", "balancer", checkNoWeight},
		{"PageSize 1–400", "balancer", checkRulePages},
		{"Target stickiness behind several groups", "balancer", checkStickyGroups},
	}
}

func checkUnusedGroup(c *rowRun) {
	made, err := c.site.makeGroup(c, "-c", 80)
	c.requireCall("create a target group", err)
	group := aws.ToString(made.TargetGroups[0].TargetGroupArn)
	in := &awselb.RegisterTargetsInput{TargetGroupArn: &group,
		Targets: []elbtypes.TargetDescription{{Id: ptr("10.254.254.254"), AvailabilityZone: ptr("all")}}}
	if _, err := c.site.elb.RegisterTargets(c.ctx, in); err != nil {
		c.requireCall("register a target outside the VPC", err)
	}
	out, err := c.site.elb.DescribeTargetHealth(c.ctx, &awselb.DescribeTargetHealthInput{TargetGroupArn: &group})
	c.requireCall("describe the health of targets", err)
	c.expectSame("targets", len(out.TargetHealthDescriptions), 1)
	h := out.TargetHealthDescriptions[0].TargetHealth
	c.expectSame("state and reason of a target without a rule", fmt.Sprint(h.State, " ", h.Reason),
		"unused Target.NotInUse")
	_, err = c.site.elb.DeregisterTargets(c.ctx, &awselb.DeregisterTargetsInput{TargetGroupArn: &group,
		Targets: in.Targets})
	c.requireCall("deregister it", err)
}

func checkUnknownTargets(c *rowRun) {
	out, err := c.site.elb.DescribeTargetHealth(c.ctx,
		&awselb.DescribeTargetHealthInput{TargetGroupArn: &c.site.groupARNs(c)[1],
			Targets: []elbtypes.TargetDescription{{Id: ptr("10.254.254.253"), Port: aws.Int32(80)}}})
	c.requireCall("describe the health of an unknown target", err)
	c.expectSame("returned targets if one is unknown", len(out.TargetHealthDescriptions), 1)
	h := out.TargetHealthDescriptions[0].TargetHealth
	c.expectSame("its state and reason", fmt.Sprint(h.State, " ", h.Reason), "unused Target.NotRegistered")
}

func checkSameGroup(c *rowRun) {
	first := c.site.groupARNs(c)[0]
	out, err := c.site.makeGroup(c, "-a", 80)
	c.requireCall("create the target group again", err)
	c.expectSame("the target group of the same settings", aws.ToString(out.TargetGroups[0].TargetGroupArn), first)
	_, err = c.site.makeGroup(c, "-a", 81)
	c.expectRefusal("a target group of that name with another port", err, "DuplicateTargetGroupName",
		"DuplicateTargetGroupNameException")
}

func (c *rowRun) forwardActions(weights ...int32) []elbtypes.Action {
	f := &elbtypes.ForwardActionConfig{}
	for i, w := range weights {
		f.TargetGroups = append(f.TargetGroups, elbtypes.TargetGroupTuple{TargetGroupArn: &c.site.groupARNs(c)[i%2],
			Weight: &w})
	}
	return []elbtypes.Action{{Type: "forward", ForwardConfig: f}}
}

// listenerARN returns the listener of the program's load balancer. It creates both at the first
// call.
func (s *site) listenerARN(c *rowRun) string {
	if s.objects.listener != "" {
		return s.objects.listener
	}
	name := s.prefix
	s.removeLater("load balancer "+name, func(ctx context.Context) error { return s.removeBalancer(ctx, name) })
	lb, err := s.elb.CreateLoadBalancer(c.ctx, &awselb.CreateLoadBalancerInput{Name: &name, Type: "application",
		Scheme: "internal", Subnets: s.subnets, Tags: s.elbTags()})
	c.requireCall("create the load balancer", err)
	arn := lb.LoadBalancers[0].LoadBalancerArn
	c.expectSame("state of a new load balancer", lb.LoadBalancers[0].State.Code, "provisioning")
	c.expectTrue("it becomes active", c.waitUntil(10*time.Minute, func() bool {
		out, err := s.elb.DescribeLoadBalancers(c.ctx,
			&awselb.DescribeLoadBalancersInput{LoadBalancerArns: []string{*arn}})
		c.requireCall("describe the load balancer", err)
		return out.LoadBalancers[0].State.Code == "active"
	}), "provisioning")
	l, err := s.elb.CreateListener(c.ctx, &awselb.CreateListenerInput{LoadBalancerArn: arn, Port: aws.Int32(80),
		Protocol: "HTTP", DefaultActions: c.forwardActions(100, 0), Tags: s.elbTags()})
	c.requireCall("create the listener", err)
	s.objects.listener = aws.ToString(l.Listeners[0].ListenerArn)
	return s.objects.listener
}

func (c *rowRun) createRule(priority int32, actions []elbtypes.Action) (*elbtypes.Rule, error) {
	out, err := c.site.elb.CreateRule(c.ctx, &awselb.CreateRuleInput{ListenerArn: ptr(c.site.listenerARN(c)),
		Priority: &priority, Actions: actions,
		Conditions: []elbtypes.RuleCondition{{Field: ptr("path-pattern"),
			PathPatternConfig: &elbtypes.PathPatternConditionConfig{Values: []string{fmt.Sprintf("/%d", priority)}}}}})
	if err != nil {
		return nil, err
	}
	return &out.Rules[0], nil
}

func (c *rowRun) describeRules() []elbtypes.Rule {
	out, err := c.site.elb.DescribeRules(c.ctx, &awselb.DescribeRulesInput{ListenerArn: ptr(c.site.listenerARN(c))})
	c.requireCall("describe the rules", err)
	return out.Rules
}

func checkRuleRefusals(c *rowRun) {
	_, err := c.createRule(10, c.forwardActions(1, 1))
	c.requireCall("create a rule", err)
	_, err = c.createRule(10, c.forwardActions(1, 1))
	c.expectRefusal("a rule of a priority that is taken", err, "PriorityInUse", "PriorityInUseException")
	for _, r := range c.describeRules() {
		if aws.ToBool(r.IsDefault) {
			_, err = c.site.elb.DeleteRule(c.ctx, &awselb.DeleteRuleInput{RuleArn: r.RuleArn})
			c.expectRefusal("delete the default rule", err, "OperationNotPermitted", "OperationNotPermittedException")
		}
	}
	group := c.site.groupARNs(c)[0]
	_, err = c.site.elb.DeleteTargetGroup(c.ctx, &awselb.DeleteTargetGroupInput{TargetGroupArn: &group})
	c.expectRefusal("delete a target group that a rule names", err, "ResourceInUse", "ResourceInUseException")
	_, err = c.createRule(11, c.forwardActions(1000, 1))
	c.expectRefusal("a weight of 1000", err, "ValidationError")
}

func checkNormalised(c *rowRun) {
	_, err := c.createRule(20, []elbtypes.Action{{Type: "forward", TargetGroupArn: &c.site.groupARNs(c)[0]}})
	c.requireCall("create a rule of one target group", err)
	for _, r := range c.describeRules() {
		if aws.ToString(r.Priority) != "20" {
			continue
		}
		a := r.Actions[0]
		c.expectSame("TargetGroupArn of a rule of one target group", aws.ToString(a.TargetGroupArn),
			c.site.groupARNs(c)[0])
		c.expectTrue("AWS returns it also as a ForwardConfig of weight 1", a.ForwardConfig != nil &&
			len(a.ForwardConfig.TargetGroups) == 1 && aws.ToInt32(a.ForwardConfig.TargetGroups[0].Weight) == 1,
			a.ForwardConfig)
		c.expectTrue("conditions have both forms", len(r.Conditions[0].Values) == 1 &&
			r.Conditions[0].PathPatternConfig != nil, r.Conditions)
	}
}

func checkReplacedLists(c *rowRun) {
	r, err := c.createRule(30, c.forwardActions(90, 10))
	c.requireCall("create a rule", err)
	out, err := c.site.elb.ModifyRule(c.ctx, &awselb.ModifyRuleInput{RuleArn: r.RuleArn,
		Actions: c.forwardActions(50, 50)})
	c.requireCall("modify its actions", err)
	c.expectSame("conditions that ModifyRule omits", len(out.Rules[0].Conditions), 1)
	c.expectSame("weights", fmt.Sprint(aws.ToInt32(out.Rules[0].Actions[0].ForwardConfig.TargetGroups[0].Weight),
		aws.ToInt32(out.Rules[0].Actions[0].ForwardConfig.TargetGroups[1].Weight)), "50 50")
}

func checkNoWeight(c *rowRun) {
	_, err := c.createRule(40, c.forwardActions(0, 0))
	c.requireCall("create a rule whose weights are all 0", err)
}

func checkRulePages(c *rowRun) {
	c.expectTrue("there is a rule in addition to the default one", len(c.describeRules()) > 0, len(c.describeRules()))
	_, err := c.createRule(50, c.forwardActions(1, 1))
	c.requireCall("create a rule", err)
	out, err := c.site.elb.DescribeRules(c.ctx, &awselb.DescribeRulesInput{ListenerArn: ptr(c.site.listenerARN(c)),
		PageSize: aws.Int32(1)})
	c.requireCall("describe one rule", err)
	c.expectSame("rules of a page of one", len(out.Rules), 1)
	c.expectTrue("the response has a marker of the next page", aws.ToString(out.NextMarker) != "", out.NextMarker)
	_, err = c.site.elb.DescribeRules(c.ctx, &awselb.DescribeRulesInput{ListenerArn: ptr(c.site.listenerARN(c)),
		PageSize: aws.Int32(401)})
	c.expectRefusal("a page of 401", err, "ValidationError")
}

func checkStickyGroups(c *rowRun) {
	made, err := c.site.makeGroup(c, "-d", 80)
	c.requireCall("create a target group", err)
	group := made.TargetGroups[0].TargetGroupArn
	_, err = c.site.elb.ModifyTargetGroupAttributes(c.ctx,
		&awselb.ModifyTargetGroupAttributesInput{TargetGroupArn: group,
			Attributes: []elbtypes.TargetGroupAttribute{{Key: ptr("stickiness.enabled"), Value: ptr("true")},
				{Key: ptr("stickiness.type"), Value: ptr("lb_cookie")}}})
	c.requireCall("make the target group sticky", err)
	actions := c.forwardActions(1, 1)
	actions[0].ForwardConfig.TargetGroups[1].TargetGroupArn = group
	_, err = c.createRule(60, actions)
	c.expectRefusal("a sticky target group with another one, without group stickiness", err,
		"InvalidLoadBalancerAction", "InvalidLoadBalancerActionException", "InvalidConfigurationRequest")
}
