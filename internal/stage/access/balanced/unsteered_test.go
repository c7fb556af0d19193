package balanced_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// A rule that a canary does not steer, and that sends its requests to the PRIMARY, is changed during a wait. The
// deployment warns of it at the next read of the rules, once in the stage, leaves the rule, and fails at its end unless
// the rule is restored.
func TestUnsteeredRuleThatLosesTheService(t *testing.T) {
	answers := []elbtypes.Action{{Type: elbtypes.ActionTypeEnumFixedResponse,
		FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("503")}}}
	set := func(b *stagetest.Bench, rule string, to []elbtypes.Action) {
		stagetest.Got(b.ELB.ModifyRule(context.Background(), &awselb.ModifyRuleInput{RuleArn: aws.String(rule), Actions: to}))(b)
	}
	answer := func(b *stagetest.Bench, rule string) { set(b, rule, answers) }
	for name, c := range map[string]struct {
		edit, restore func(b *stagetest.Bench, rule string)
		says          string
		outcome       sluice.Outcome
		next          string
	}{
		"nothing happens": {outcome: sluice.Succeeded},
		"it answers by itself": {edit: answer, says: "rule 5 of port 80 no longer forwards: its action is fixed-response",
			outcome: sluice.Failed},
		"it is deleted": {edit: func(b *stagetest.Bench, rule string) {
			stagetest.Got(b.ELB.DeleteRule(context.Background(), &awselb.DeleteRuleInput{RuleArn: aws.String(rule)}))(b)
		}, says: "rule 5 of port 80 no longer exists", outcome: sluice.Failed},
		"it forwards elsewhere": {edit: func(b *stagetest.Bench, rule string) {
			set(b, rule, []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward,
				TargetGroupArn: aws.String(b.CreateTargetGroup("other"))}})
		}, says: "rule 5 of port 80 sends no requests to the service any more: it forwards to other", outcome: sluice.Failed,
			next: "forward its requests to web-primary again: aws elbv2 modify-rule --rule-arn arn:"},
		"it is restored": {edit: answer, restore: func(b *stagetest.Bench, rule string) { set(b, rule, b.Forward(true)) },
			says: "rule 5 of port 80 no longer forwards", outcome: sluice.Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				ctx := context.Background()
				rule := unsteeredRule(b, b.Listener)
				ran := b.RunBeside(b.Engine, b.Start(b.Files("sim/web:v2", stagetest.WatchedPipeline)))
				b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
				if c.edit != nil {
					c.edit(b, rule)
				}
				stagetest.Must(b, b.Clock.Sleep(ctx, 45*time.Second))
				if n := strings.Count(b.EventLog(), "external change: "); n > 1 || (n == 1) != (c.says != "") ||
					!strings.Contains(b.EventLog(), c.says) {
					b.Errorf("%d warnings, want %q\n%s", n, c.says, b.EventLog())
				}
				if c.restore != nil {
					c.restore(b, rule)
				}
				b.Until("it is over", func() bool { return ran.Done })
				stagetest.Must(b, ran.Err)
				if end := ran.RunResult.Deployment; end.Outcome != c.outcome || !strings.Contains(end.Next, c.next) {
					b.Errorf("%s, want %s; next: %s, want %s\n%s", end.Outcome, c.outcome, end.Next, c.next, b.EventLog())
				}
			})
		})
	}
}

// unsteeredRule creates a rule that forwards to the PRIMARY alone.
func unsteeredRule(b *stagetest.Bench, listener string) string {
	return *stagetest.Got(b.ELB.CreateRule(context.Background(), &awselb.CreateRuleInput{ListenerArn: aws.String(listener),
		Priority: aws.Int32(5), Actions: b.Forward(true), Conditions: []elbtypes.RuleCondition{
			{Field: aws.String("path-pattern"), Values: []string{"/beta/*"}}}}))(b).Rules[0].RuleArn
}

// The rules of a listener without a steered rule are not read in a stage, and count as they were.
func TestUnsteeredRuleOfAnotherListener(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		unsteeredRule(b, createSecureListener(b))
		end := b.Deploy(b.Files("sim/web:v2", stagetest.CanaryPipeline))
		if end.Deployment.Outcome != sluice.Succeeded || strings.Contains(b.EventLog(), "external change") {
			b.Errorf("%s\n%s", end.Deployment.Outcome, b.EventLog())
		}
	})
}
