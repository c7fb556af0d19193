package survey_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// The production rule of a service with ECS's own strategy leaves the group of its tasks. No health check reads that group
// then, but its tasks run: a deployment is refused, and the command that is printed mends the rule.
func TestOwnStrategyWhoseRuleLeftItsTasks(t *testing.T) {
	const (
		rule = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener-rule/app/web/0123456789abcdef/0123456789abcdef/" +
			"0123456789abcdef"
		green = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-green/fedcba9876543210"
	)
	onExample(t, "native", "sluice.yaml", func(b *bench) {
		ctx := context.Background()
		write := func(a elbtypes.Action) {
			_, err := b.elb.ModifyRule(ctx, &awselb.ModifyRuleInput{RuleArn: aws.String(rule), Actions: []elbtypes.Action{a}})
			check(t, err)
			check(t, b.clock.Sleep(ctx, time.Minute))
		}
		_, err := b.planned()
		check(t, err)
		write(elbtypes.Action{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: aws.String(green)})
		_, err = b.planned()
		b.wantError("to the empty group", err, "rule 1 of port 80 sends 100 % of the requests to web-green, which has no targets",
			"next: give the weight to the group that can serve: aws elbv2 modify-rule", `web-green/fedcba9876543210","Weight":0}`,
			`web-blue/0123456789abcdef","Weight":100}`)
		write(elbtypes.Action{Type: elbtypes.ActionTypeEnumFixedResponse,
			FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("503")}})
		_, err = b.planned()
		b.wantError("a fixed response", err, "rule 1 of port 80 no longer forwards: its action is fixed-response",
			"next: see the rule, then restore its forward action, to web-blue: aws elbv2 describe-rules")
		_, err = b.elb.DeleteRule(ctx, &awselb.DeleteRuleInput{RuleArn: aws.String(rule)})
		check(t, err)
		check(t, b.clock.Sleep(ctx, time.Minute))
		_, err = b.planned()
		b.wantError("deleted", err, "no longer exists: the rule was deleted", "next: create the rule again")
	})
}
