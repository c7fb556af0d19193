package alb_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/view"
)

// A later read looks up no group, unless callers have lost the service: then others may have given its group to another
// load balancer, where callers may reach it.
func TestGroupsAreLookedUpAgainOnlyIfCallersLostThem(t *testing.T) {
	const group = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/0123456789abcdef"
	ctx := context.Background()
	var calls []string
	count := middleware.InitializeMiddlewareFunc("Calls", func(ctx context.Context, in middleware.InitializeInput,
		next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		calls = append(calls, middleware.GetOperationName(ctx))
		return next.HandleInitialize(ctx, in)
	})
	onExample(t, "rolling", count, func(v *clock.Virtual, elb *awselb.Client) {
		read := func(before view.Traffic) view.Traffic {
			calls = nil
			now, err := alb.ReadTraffic(ctx, elb, v, view.Scope{Groups: []string{group}}, before)
			if err != nil {
				t.Fatal(err)
			}
			return now
		}
		before := read(view.Traffic{})
		if again := read(before); !again.ReceivesRequests() || len(again.Problems(before)) > 0 ||
			slices.Contains(calls, "DescribeTargetGroups") {
			t.Errorf("a later read of an unchanged rule: got %+v with calls %v, want the same rule without a look-up of groups",
				again, calls)
		}
		if _, err := elb.DeleteListener(ctx,
			&awselb.DeleteListenerInput{ListenerArn: aws.String(before.Routes[0].Listener)}); err != nil {
			t.Fatal(err)
		}
		const lost = "its listener was deleted"
		after := read(before)
		if why := view.Texts(after.Problems(before)); after.ReceivesRequests() || !strings.Contains(why, lost) {
			t.Errorf("the listener is deleted: got %q, requests %t; want %q and no requests", why, after.ReceivesRequests(), lost)
		}
		forwardFromSecond(ctx, t, elb, group)
		after = read(before)
		if why := view.Texts(after.Problems(before)); !after.ReceivesRequests() || !strings.Contains(why, lost) {
			t.Errorf("the group has another load balancer: got %q, requests %t; want %q and requests by the new listener",
				why, after.ReceivesRequests(), lost)
		}
	})
}

// forwardFromSecond gives a group, which no listener names, to another load balancer.
func forwardFromSecond(ctx context.Context, t *testing.T, elb *awselb.Client, group string) {
	t.Helper()
	lbs, err := elb.DescribeLoadBalancers(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var subnets []string
	for _, z := range lbs.LoadBalancers[0].AvailabilityZones {
		subnets = append(subnets, aws.ToString(z.SubnetId))
	}
	second, err := elb.CreateLoadBalancer(ctx, &awselb.CreateLoadBalancerInput{Name: aws.String("second"), Subnets: subnets})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := elb.CreateListener(ctx, &awselb.CreateListenerInput{Port: aws.Int32(80),
		LoadBalancerArn: second.LoadBalancers[0].LoadBalancerArn, Protocol: elbtypes.ProtocolEnumHttp,
		DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: aws.String(group)}}}); err != nil {
		t.Fatal(err)
	}
}
