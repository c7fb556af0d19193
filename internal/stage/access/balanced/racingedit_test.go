package balanced_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// beforeRuleRead calls edit before the nth read of the rules from now on.
func beforeRuleRead(b *stagetest.Bench, n int, edit func()) (reached func() bool) {
	reads := 0
	watch := func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("edit",
			func(ctx context.Context, in middleware.InitializeInput,
				next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				if _, ok := in.Parameters.(*awselb.DescribeRulesInput); ok {
					if reads++; reads == n {
						edit()
					}
				}
				return next.HandleInitialize(ctx, in)
			}), middleware.Before)
	}
	b.Engine.Account = b.OpenAccount(watch)
	return func() bool { return reads >= n }
}

// eachRuleRead calls f with 1, 2 and so on, until a deployment has no such read of the rules.
func eachRuleRead(t *testing.T, f func(n int) (reached bool)) {
	t.Parallel()
	for n := 1; f(n) && !t.Failed(); n++ {
	}
}

var shiftAndBack = stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.ShiftBack,
	stagetest.CleanCanary)

// secondRule creates a rule that forwards to both groups, with all requests to the primary's.
func secondRule(b *stagetest.Bench) string {
	return *stagetest.Got(b.ELB.CreateRule(context.Background(), &awselb.CreateRuleInput{
		ListenerArn: aws.String(b.Listener), Priority: aws.Int32(5), Actions: b.Forward(false),
		Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/beta/*"}}},
	}))(b).Rules[0].RuleArn
}

// A rule that another process creates at any moment of a deployment, also right before a write, keeps its actions:
// sluice has never written it.
func TestRuleCreatedUnderwayIsNotOverwritten(t *testing.T) {
	eachRuleRead(t, func(n int) (reached bool) {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			id := b.Start(b.Files("sim/web:v2", shiftAndBack))
			rule, was := "", ""
			created := beforeRuleRead(b, n, func() {
				rule = secondRule(b)
				was = forwardsTo(b, rule)
				stagetest.Must(b, b.Sim.Inject("stale elasticloadbalancing:DescribeRules by=4s p=0.5 for=1m"))
			})
			end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
			if reached = created(); !reached {
				return
			}
			b.Sim.ClearFaults()
			if now := forwardsTo(b, rule); now != was {
				b.Errorf("read %d: the rule became %s, was %s", n, now, was)
			}
			if end.Outcome == sluice.Succeeded && strings.Contains(b.State(), "ACTIVE") {
				b.Errorf("read %d: %s", n, b.State())
			}
			b.ExpectNoneLost()
		})
		return reached
	})
}

// A deployment does not succeed without a rule of the plan that another process deletes before the canary is gone,
// and does not create it again.
func TestRuleDeletedUnderwayStopsTheDeployment(t *testing.T) {
	eachRuleRead(t, func(n int) (reached bool) {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			ctx, rule := context.Background(), secondRule(b)
			files := b.Files("sim/web:v2", shiftAndBack)
			files["sluice.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(string(files["sluice.yaml"].Data),
				"input:\n", "input:\n  listenerRules: ["+b.Rule+", "+rule+"]\n", 1))}
			id := b.Start(files)
			cleaned := false
			deleted := beforeRuleRead(b, n, func() {
				cleaned = !strings.Contains(b.State(), "sim/web:v2")
				stagetest.Got(b.ELB.DeleteRule(ctx, &awselb.DeleteRuleInput{RuleArn: aws.String(rule)}))(b)
			})
			end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
			if reached = deleted(); !reached {
				return
			}
			if end.Outcome == sluice.Succeeded && !cleaned ||
				end.Outcome != sluice.Succeeded && !strings.Contains(end.Cause, "rule 5") &&
					!strings.Contains(end.Cause, rule) {
				b.Errorf("read %d: %s %s: %s\n%s", n, end.Outcome, end.Cause, b.State(), b.EventLog())
			}
			b.ExpectNoneLost()
		})
		return reached
	})
}
