package alb_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/route"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/route/routetest"
)

const (
	groupPrimary = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-primary/0123456789abcdef"
	groupCanary  = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-canary/fedcba9876543210"
	listener     = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/app/web/0123456789abcdef/0123456789abcdef"
)

// bed is the world of examples/canary.
type bed struct {
	t      *testing.T
	elb    *awselb.Client
	writes int
}

func TestConformance(t *testing.T) {
	file, err := os.ReadFile("../../../examples/canary/world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	routetest.Run(t, func(t *testing.T, f func(*testing.T, routetest.Fixture)) {
		v := clock.NewVirtual(time.Now().Add(24 * time.Hour))
		v.Run(func() {
			sim, err := awssim.New(awssim.Options{Clock: v, Strict: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := sim.Load("world.yaml", file); err != nil {
				t.Fatal(err)
			}
			b := &bed{t: t}
			b.elb = awselb.NewFromConfig(sim.Config(), func(o *awselb.Options) {
				o.APIOptions = append(o.APIOptions,
					func(s *middleware.Stack) error { return s.Initialize.Add(b, middleware.After) })
			})
			f(t, routetest.Fixture{Open: b.open, Share: b.share, Unrelated: b.others, ChangeOutside: b.meddle,
				Written: func() int { return b.writes }})
		})
	})
}

func (b *bed) ID() string { return "CountWrites" }

func (b *bed) HandleInitialize(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	if strings.HasPrefix(middleware.GetOperationName(ctx), "Modify") {
		b.writes++
	}
	return next.HandleInitialize(ctx, in)
}

func (b *bed) open() route.Driver {
	return &alb.Driver{API: b.elb, Groups: alb.TargetGroups{Primary: groupPrimary, Canary: groupCanary},
		Listeners: []string{listener}}
}

// actions are the default rule's, as AWS has them.
func (b *bed) actions() []elbtypes.Action {
	out, err := b.elb.DescribeListeners(context.Background(),
		&awselb.DescribeListenersInput{ListenerArns: []string{listener}})
	if err != nil {
		b.t.Fatal(err)
	}
	return out.Listeners[0].DefaultActions
}

func (b *bed) share() float64 {
	all, canary := 0.0, 0.0
	for _, g := range b.actions()[0].ForwardConfig.TargetGroups {
		w := float64(aws.ToInt32(g.Weight))
		if all += w; *g.TargetGroupArn == groupCanary {
			canary = w
		}
	}
	return 100 * canary / all
}

func (b *bed) others() string {
	a := b.actions()
	sticky := a[0].ForwardConfig.TargetGroupStickinessConfig
	return fmt.Sprint(len(a), aws.ToInt32(a[0].Order), aws.ToBool(sticky.Enabled), aws.ToInt32(sticky.DurationSeconds))
}

func (b *bed) meddle() {
	a := b.actions()
	for i := range a[0].ForwardConfig.TargetGroups {
		a[0].ForwardConfig.TargetGroups[i].Weight = aws.Int32(int32(30 + 40*i))
	}
	a[0].TargetGroupArn = nil
	if _, err := b.elb.ModifyListener(context.Background(),
		&awselb.ModifyListenerInput{ListenerArn: aws.String(listener), DefaultActions: a}); err != nil {
		b.t.Fatal(err)
	}
}
