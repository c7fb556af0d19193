package balanced_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// createMarkedRule adds a rule that sends requests with header X-Canary to the canary
// group alone, and returns its ARN.
func createMarkedRule(b *stagetest.Bench, listener string, priority int32) string {
	b.Helper()
	rule := stagetest.Got(b.ELB.CreateRule(context.Background(),
		&awselb.CreateRuleInput{ListenerArn: aws.String(listener),
			Priority: aws.Int32(priority),
			Conditions: []elbtypes.RuleCondition{{Field: aws.String("http-header"),
				HttpHeaderConfig: &elbtypes.HttpHeaderConditionConfig{HttpHeaderName: aws.String("X-Canary"),
					Values: []string{"always"}}}},
			Actions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward,
				TargetGroupArn: aws.String(b.Canary)}}}))(b).Rules[0]
	return *rule.RuleArn
}

// forwardsTo is where a rule forwards to, for comparisons.
func forwardsTo(b *stagetest.Bench, rule string) string {
	b.Helper()
	r := stagetest.Got(b.ELB.DescribeRules(context.Background(),
		&awselb.DescribeRulesInput{RuleArns: []string{rule}}))(b).Rules[0]
	var all []string
	for _, a := range r.Actions {
		all = append(all, string(a.Type), aws.ToString(a.TargetGroupArn))
		if a.ForwardConfig != nil {
			for _, g := range a.ForwardConfig.TargetGroups {
				all = append(all, aws.ToString(g.TargetGroupArn), string(rune('0'+aws.ToInt32(g.Weight))))
			}
		}
	}
	return strings.Join(all, " ")
}

// A rule that sent marked requests to the canary group before the deployment is no
// change of others: clean and rollback remove the canary and leave the rule as it was.
func TestRuleThatAlwaysSendsToTheCanaryGroupIsNoOutsideChange(t *testing.T) {
	hosts := map[string]func(testing.TB, func(*stagetest.Bench)){
		"task sets": func(t testing.TB, f func(*stagetest.Bench)) { stagetest.Run(t, stagetest.Options{}, f) },
		"extended": func(t testing.TB, f func(*stagetest.Bench)) {
			stagetest.Run(t, stagetest.Options{PrimaryOnly: true}, f)
		},
		"services": func(t testing.TB, f func(*stagetest.Bench)) { stagetest.RunRolling(t.(*testing.T), f) },
	}
	for host, in := range hosts {
		files := func(b *stagetest.Bench, pipeline string) func() string {
			return func() string {
				if host == "services" {
					return b.Start(b.CanaryServiceFiles("sim/web:v2", pipeline, stagetest.Breaker))
				}
				return b.Start(b.Files("sim/web:v2", pipeline))
			}
		}
		t.Run(host+"/rollback", func(t *testing.T) {
			in(t, func(b *stagetest.Bench) {
				ctx := context.Background()
				first, second := createMarkedRule(b, b.Listener, 1), createMarkedRule(b, b.Listener, 2)
				was, weights := forwardsTo(b, first)+forwardsTo(b, second), b.Weights()
				id := files(b, stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.Approval,
					stagetest.PrimaryRollout, stagetest.ShiftBack, stagetest.CleanCanary))()
				stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
				stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
				end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
				if end.Outcome != sluice.RolledBack || end.Cause != "" && strings.Contains(end.Cause, "edited") {
					b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
				expectCanaryGone(b)
				if now := forwardsTo(b, first) + forwardsTo(b, second); now != was || b.Weights() != weights {
					b.Errorf("the rules became %s, weights %s; were %s, %s", now, b.Weights(), was, weights)
				}
				b.ExpectNoneLost()
			})
		})
		t.Run(host+"/clean", func(t *testing.T) {
			in(t, func(b *stagetest.Bench) {
				rule := createMarkedRule(b, b.Listener, 1)
				was := forwardsTo(b, rule)
				end := stagetest.Got(b.Engine.Run(context.Background(), files(b, stagetest.CanaryPipeline)(),
					engine.Options{}))(b)
				if end.Outcome != sluice.Succeeded {
					b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
				expectCanaryGone(b)
				if forwardsTo(b, rule) != was {
					b.Errorf("the rule became %s", forwardsTo(b, rule))
				}
				b.ExpectNoneLost()
			})
		})
	}
}

// expectCanaryGone fails the test if a canary of any hosting still runs.
func expectCanaryGone(b *stagetest.Bench) {
	b.Helper()
	if s := b.CanaryService(); s != nil {
		b.Errorf("%s is left over", *s.ServiceName)
	}
	if n := countTargets(b, b.Canary); n > 0 {
		b.Errorf("%d targets are left in the canary's group", n)
	}
	if state := b.State(); strings.Contains(state, "ACTIVE") {
		b.Errorf("left over: %s", state)
	}
}

func countTargets(b *stagetest.Bench, group string) int {
	b.Helper()
	return len(stagetest.Got(b.ELB.DescribeTargetHealth(context.Background(),
		&awselb.DescribeTargetHealthInput{TargetGroupArn: aws.String(group)}))(b).TargetHealthDescriptions)
}

// A rule that begins to send to the canary during the deployment keeps the canary,
// whichever stage would remove it.
func TestRuleThatComesToSendToTheCanaryKeepsIt(t *testing.T) {
	for name, ends := range map[string]func(*stagetest.Bench, string){
		"rollback": func(b *stagetest.Bench, id string) {
			stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, journal.Rollback, 0, "ann"))
		},
		"clean": func(b *stagetest.Bench, id string) {
			stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, journal.Approve, 2, "ann"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				ctx := context.Background()
				id := b.Start(b.Files("sim/web:v2",
					stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.Approval,
						stagetest.ShiftBack, stagetest.CleanCanary)))
				stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
				rule := createMarkedRule(b, b.Listener, 1)
				ends(b, id)
				end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
				if end.Outcome != sluice.Failed || !strings.Contains(end.Cause, "rule 1 of port 80") {
					b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
				if !strings.Contains(b.State(), "ACTIVE sim/web:v2") {
					b.Errorf("the canary that the rule sends to was removed: %s", b.State())
				}
				stagetest.Got(b.ELB.DeleteRule(ctx, &awselb.DeleteRuleInput{RuleArn: aws.String(rule)}))(b)
				stagetest.Must(b, b.Engine.Reopen(ctx, id))
				stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
				b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "",
					stagetest.ServesV1)
				b.ExpectNoneLost()
			})
		})
	}
}

// A rule whose weights were edited since the deployment began is an outside change,
// though it sent to the canary before.
func TestMarkedRuleThatIsEditedKeepsTheCanary(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		rule := createMarkedRule(b, b.Listener, 1)
		id := b.Start(b.Files("sim/web:v2", stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth,
			stagetest.Approval, stagetest.ShiftBack, stagetest.CleanCanary)))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		actions := b.Forward(false)
		actions[0].ForwardConfig.TargetGroups[0].Weight, actions[0].ForwardConfig.TargetGroups[1].Weight = aws.Int32(1),
			aws.Int32(1)
		stagetest.Got(b.ELB.ModifyRule(ctx, &awselb.ModifyRuleInput{RuleArn: aws.String(rule), Actions: actions}))(b)
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome != sluice.Failed || !strings.Contains(b.State(), "ACTIVE sim/web:v2") {
			b.Errorf("%s: %s; %s\n%s", end.Outcome, end.Cause, b.State(), b.EventLog())
		}
	})
}

func TestPlanNamesRulesThatAlwaysSendToTheCanaryGroup(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		createMarkedRule(b, b.Listener, 1)
		p := stagetest.Got(b.Plan(b.Files("sim/web:v2", stagetest.CanaryPipeline), mode.Options{}))(b)
		if w := strings.Join(p.Warnings, "\n"); !strings.Contains(w, "rule 1 of port 80") ||
			!strings.Contains(w, "503") {
			b.Errorf("warnings: %s", w)
		}
	})
}
