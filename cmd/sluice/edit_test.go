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
	ctx, api := context.Background(), awselb.NewFromConfig(theSim(ts).Config())
	lb, err := api.DescribeLoadBalancers(ctx, &awselb.DescribeLoadBalancersInput{Names: []string{args[0]}})
	ts.Check(err)
	l, err := api.DescribeListeners(ctx,
		&awselb.DescribeListenersInput{LoadBalancerArn: lb.LoadBalancers[0].LoadBalancerArn})
	ts.Check(err)
	actions := l.Listeners[0].DefaultActions
	groups := append([]elbtypes.TargetGroupTuple{}, actions[0].ForwardConfig.TargetGroups...)
	for i := range groups {
		w, err := strconv.Atoi(args[i+1])
		ts.Check(err)
		groups[i].Weight = aws.Int32(int32(w))
	}
	actions[0].ForwardConfig.TargetGroups = groups
	_, err = api.ModifyListener(ctx, &awselb.ModifyListenerInput{ListenerArn: l.Listeners[0].ListenerArn,
		DefaultActions: actions})
	ts.Check(err)
}
