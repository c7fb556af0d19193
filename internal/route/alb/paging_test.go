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
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

// smallPages asks AWS for pages of two rules, whatever is asked.
type smallPages struct{}

func (smallPages) ID() string { return "SmallPages" }

func (smallPages) HandleInitialize(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	if rules, ok := in.Parameters.(*awselb.DescribeRulesInput); ok {
		rules.PageSize = aws.Int32(2)
	}
	return next.HandleInitialize(ctx, in)
}

// onExample runs a test on the world of an example, with a client whose calls pass through with.
func onExample(t *testing.T, example string, with middleware.InitializeMiddleware,
	run func(v *clock.Virtual, elb *awselb.Client)) {
	t.Helper()
	file, err := os.ReadFile("../../../examples/" + example + "/world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	v := clock.NewVirtual(time.Now().Add(24 * time.Hour))
	v.Run(func() {
		sim, err := awssim.New(awssim.Options{Clock: v, Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := sim.Load("world.yaml", file); err != nil {
			t.Fatal(err)
		}
		run(v, awselb.NewFromConfig(sim.Config(), func(o *awselb.Options) {
			o.APIOptions = append(o.APIOptions,
				func(s *middleware.Stack) error { return s.Initialize.Add(with, middleware.After) })
		}))
	})
}

// A rule that forwards to both groups is found on whichever page AWS lists it.
func TestRulesAreReadToTheLastPage(t *testing.T) {
	onExample(t, "canary", smallPages{}, func(_ *clock.Virtual, elb *awselb.Client) {
		ctx := context.Background()
		for priority := range int32(5) {
			_, err := elb.CreateRule(ctx, &awselb.CreateRuleInput{ListenerArn: aws.String(listener),
				Priority: aws.Int32(priority + 1),
				Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"),
					Values: []string{fmt.Sprintf("/other%d/*", priority)}}},
				Actions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumFixedResponse,
					FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("404")}}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := alb.ReadForward(ctx, elb, alb.ActionPlace{Listener: listener, Priority: 5})
		if err == nil || !strings.Contains(err.Error(), "does not forward") {
			t.Errorf("the rule of the last page: %v", err)
		}
		d := &alb.Driver{API: elb, Groups: alb.TargetGroups{Primary: groupPrimary, Canary: groupCanary},
			Listeners: []string{listener}}
		rules, err := d.Rules(ctx)
		if err != nil || len(rules) != 6 {
			t.Fatalf("%d rules, want five and the default one: %v", len(rules), err)
		}
		paths, err := d.Routes(ctx)
		if err != nil || len(paths) != 1 {
			t.Fatalf("%d paths, want the default rule: %v", len(paths), err)
		}
	})
}
