package elbv2_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// network is a Network Load Balancer.
func (b *bench) network() string {
	b.Helper()
	out, err := b.CreateLoadBalancer(b.ctx, &awselb.CreateLoadBalancerInput{Name: aws.String("flow"), Type: "network",
		Subnets: []string{"subnet-a", "subnet-b"}})
	b.ok(err)
	return *out.LoadBalancers[0].LoadBalancerArn
}

func (b *bench) groupOf(name string, protocol elbtypes.ProtocolEnum) string {
	b.Helper()
	out, err := b.CreateTargetGroup(b.ctx, &awselb.CreateTargetGroupInput{Name: &name, Protocol: protocol,
		Port: aws.Int32(80), VpcId: aws.String("vpc-1"), TargetType: "ip"})
	b.ok(err)
	return *out.TargetGroups[0].TargetGroupArn
}

func tuples(sticky *bool, groups ...string) []elbtypes.Action {
	c := &elbtypes.ForwardActionConfig{}
	for i, g := range groups {
		c.TargetGroups = append(c.TargetGroups, elbtypes.TargetGroupTuple{TargetGroupArn: &g,
			Weight: aws.Int32(int32(100 * (1 - i)))})
	}
	if sticky != nil {
		c.TargetGroupStickinessConfig = &elbtypes.TargetGroupStickinessConfig{Enabled: sticky}
	}
	return []elbtypes.Action{{Type: "forward", ForwardConfig: c}}
}

func TestNetworkListenerForwardsByWeights(t *testing.T) {
	b := newBench(t)
	lb, one, two := b.network(), b.groupOf("one", "TCP"), b.groupOf("two", "TCP")
	open := func(port int32, protocol elbtypes.ProtocolEnum, actions []elbtypes.Action) (string, error) {
		in := &awselb.CreateListenerInput{LoadBalancerArn: &lb, Port: &port, Protocol: protocol,
			DefaultActions: actions}
		if protocol == "TLS" {
			in.Certificates = []elbtypes.Certificate{{CertificateArn: aws.String("arn:aws:acm:c")}}
		}
		out, err := b.CreateListener(b.ctx, in)
		if err != nil {
			return "", err
		}
		return *out.Listeners[0].ListenerArn, nil
	}
	l, err := open(80, "TCP", tuples(nil, one, two))
	b.ok(err)
	_, err = b.ModifyListener(b.ctx, &awselb.ModifyListenerInput{ListenerArn: &l, DefaultActions: tuples(nil, two, one)})
	b.ok(err)
	out, err := b.DescribeListeners(b.ctx, &awselb.DescribeListenersInput{ListenerArns: []string{l}})
	b.ok(err)
	if g := out.Listeners[0].DefaultActions[0].ForwardConfig.TargetGroups; len(g) != 2 || *g[0].TargetGroupArn != two ||
		*g[0].Weight != 100 || *g[1].Weight != 0 {
		t.Errorf("%+v", g)
	}

	_, err = b.DescribeRules(b.ctx, &awselb.DescribeRulesInput{ListenerArn: &l})
	b.refused(err, "OperationNotPermitted", "type 'network'")
	_, err = b.CreateRule(b.ctx, &awselb.CreateRuleInput{ListenerArn: &l, Priority: aws.Int32(1),
		Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/a"}}},
		Actions:    tuples(nil, one)})
	b.refused(err, "OperationNotPermitted", "type 'network'")
	_, err = open(81, "TCP", []elbtypes.Action{{Type: "fixed-response",
		FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("200")}}})
	b.refused(err, "InvalidLoadBalancerAction", "fixed-response")

	udp, tls, http := b.groupOf("udp", "UDP"), b.groupOf("tls", "TLS"), b.groupOf("http", "HTTP")
	for _, bad := range [][]elbtypes.Action{tuples(nil, one, udp), tuples(nil, tls), tuples(nil, http)} {
		_, err = open(81, "TCP", bad)
		b.refused(err, "IncompatibleProtocols", "protocol")
	}
	_, err = open(443, "TLS", tuples(nil, one, tls))
	b.refused(err, "IncompatibleProtocols", "must have the same protocol")
	_, err = open(443, "TLS", tuples(aws.Bool(false), one, two))
	b.refused(err, "InvalidConfigurationRequest", "not supported with TLS listeners")
	_, err = b.ModifyTargetGroupAttributes(b.ctx, &awselb.ModifyTargetGroupAttributesInput{TargetGroupArn: &tls,
		Attributes: []elbtypes.TargetGroupAttribute{{Key: aws.String("stickiness.enabled"), Value: aws.String("true")}}})
	b.ok(err)
	_, err = open(443, "TLS", tuples(nil, tls))
	b.refused(err, "InvalidConfigurationRequest", "Stickiness is not supported")
	_, err = open(443, "TLS", tuples(nil, one, two))
	b.ok(err)
}
