package main

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/rogpeppe/go-internal/testscript"
)

// weights edits the default rule of a load balancer's listener as somebody else
// would: the two target groups as they stand there, with other weights.
func weights(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: weights balancer primary canary")
	}
	api, l := firstListener(ts, args[0])
	actions := l.DefaultActions
	groups := append([]elbtypes.TargetGroupTuple{}, actions[0].ForwardConfig.TargetGroups...)
	for i := range groups {
		w, err := strconv.Atoi(args[i+1])
		ts.Check(err)
		groups[i].Weight = aws.Int32(int32(w))
	}
	actions[0].ForwardConfig.TargetGroups = groups
	_, err := api.ModifyListener(context.Background(), &awselb.ModifyListenerInput{ListenerArn: l.ListenerArn,
		DefaultActions: actions})
	ts.Check(err)
}

// silence lets the first listener of a load balancer respond by itself, as somebody else would.
func silence(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: silence balancer")
	}
	api, l := firstListener(ts, args[0])
	_, err := api.ModifyListener(context.Background(), &awselb.ModifyListenerInput{ListenerArn: l.ListenerArn,
		DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumFixedResponse,
			FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("503")}}}})
	ts.Check(err)
}

func firstListener(ts *testscript.TestScript, balancer string) (*awselb.Client, elbtypes.Listener) {
	ctx, api := context.Background(), awselb.NewFromConfig(theSim(ts).Config())
	lb, err := api.DescribeLoadBalancers(ctx, &awselb.DescribeLoadBalancersInput{Names: []string{balancer}})
	ts.Check(err)
	l, err := api.DescribeListeners(ctx,
		&awselb.DescribeListenersInput{LoadBalancerArn: lb.LoadBalancers[0].LoadBalancerArn})
	ts.Check(err)
	return api, l.Listeners[0]
}
