package alb

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
)

// networkARN is part of the ARN of a Network Load Balancer.
const networkARN = ":loadbalancer/net/"

// metricNamespace returns the namespace of a load balancer's metrics in CloudWatch.
func metricNamespace(balancer string) string {
	if strings.Contains(balancer, networkARN) {
		return "AWS/NetworkELB"
	}
	return "AWS/ApplicationELB"
}

// countMetric returns the metric that counts requests, or the connections of a Network Load Balancer.
func countMetric(balancer string) string {
	if strings.Contains(balancer, networkARN) {
		return "NewFlowCount"
	}
	return "RequestCount"
}

// metricDimensions returns the dimensions of a count. A Network Load Balancer counts no flows of a
// single target group (Elastic Load Balancing, "CloudWatch metrics for your Network Load Balancer").
func metricDimensions(balancer, name, group string) []cwtypes.Dimension {
	all := []cwtypes.Dimension{{Name: aws.String("LoadBalancer"), Value: aws.String(name)}}
	if strings.Contains(balancer, networkARN) {
		return all
	}
	return append(all, cwtypes.Dimension{Name: aws.String("TargetGroup"),
		Value: aws.String(group[strings.LastIndex(group, ":")+1:])})
}

// hasRules reports whether a listener can have rules. A listener of a Network Load Balancer has only
// its default action.
func hasRules(listener string) bool { return !strings.Contains(listener, ":listener/net/") }

// newDefaultAction returns the default action of a listener without rules. This rule has the ARN of the listener.
func newDefaultAction(l elbtypes.Listener) Rule {
	arn := aws.ToString(l.ListenerArn)
	return Rule{
		Rule: sluice.Rule{ARN: arn, Listener: arn, Balancer: aws.ToString(l.LoadBalancerArn),
			Port: int(aws.ToInt32(l.Port)), Priority: "default", Protocol: string(l.Protocol),
			Forward: forwardShares(l.DefaultActions)},
		Actions: l.DefaultActions, protocol: string(l.Protocol),
	}
}

// withoutOffStickiness removes stickiness that is off from actions. AWS returns it for every
// forward, but TLS listeners do not accept it.
func withoutOffStickiness(actions []elbtypes.Action) []elbtypes.Action {
	out := slices.Clone(actions)
	for i, a := range out {
		c := a.ForwardConfig
		if c == nil || c.TargetGroupStickinessConfig == nil || aws.ToBool(c.TargetGroupStickinessConfig.Enabled) {
			continue
		}
		less := *c
		less.TargetGroupStickinessConfig = nil
		out[i].ForwardConfig = &less
	}
	return out
}
