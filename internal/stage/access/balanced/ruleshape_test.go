package balanced_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// Everything of a rule but its weights stays: order, conditions, stickiness,
// the rules of others.
func TestRuleKeepsItsShape(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		forward := b.Forward(false)
		forward[0].Order = aws.Int32(2)
		forward[0].ForwardConfig.TargetGroupStickinessConfig = &elbtypes.TargetGroupStickinessConfig{Enabled: aws.Bool(
			true), DurationSeconds: aws.Int32(600)}
		oidc := elbtypes.Action{Type: elbtypes.ActionTypeEnumAuthenticateOidc, Order: aws.Int32(1),
			AuthenticateOidcConfig: &elbtypes.AuthenticateOidcActionConfig{
				Issuer:                aws.String("https://issuer.example"),
				AuthorizationEndpoint: aws.String("https://issuer.example/a"),
				TokenEndpoint:         aws.String("https://issuer.example/t"),
				UserInfoEndpoint:      aws.String("https://issuer.example/u"), ClientId: aws.String("id"),
				ClientSecret: aws.String("secret")}}
		rule := stagetest.Got(b.ELB.CreateRule(ctx,
			&awselb.CreateRuleInput{ListenerArn: aws.String(createSecureListener(b)),
				Priority: aws.Int32(7), Actions: []elbtypes.Action{oidc, forward[0]},
				Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"),
					Values: []string{"/app/*"}}}}))(b).Rules[0]
		other := stagetest.Got(b.ELB.CreateRule(ctx, &awselb.CreateRuleInput{ListenerArn: aws.String(b.Listener),
			Priority:   aws.Int32(8),
			Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/other"}}},
			Actions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumFixedResponse,
				FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("204")}}}}))(b).Rules[0]
		before := ruleText(b, *other.RuleArn)
		b.Calls = nil
		b.ExpectEnd(b.Deploy(b.Files("sim/web:v2", stagetest.CanaryPipeline)), sluice.Succeeded, "", stagetest.ServesV2)

		after := stagetest.Got(b.ELB.DescribeRules(ctx,
			&awselb.DescribeRulesInput{RuleArns: []string{*rule.RuleArn}}))(b).Rules[0]
		fwd := after.Actions[1]
		if *after.Priority != "7" || *after.Actions[0].AuthenticateOidcConfig.ClientId != "id" || *fwd.Order != 2 ||
			!*fwd.ForwardConfig.TargetGroupStickinessConfig.Enabled ||
			*fwd.ForwardConfig.TargetGroupStickinessConfig.DurationSeconds != 600 ||
			after.Conditions[0].Values[0] != "/app/*" {
			b.Errorf("the rule became %+v", after)
		}
		if ruleText(b, *other.RuleArn) != before {
			b.Error("somebody else's rule was changed")
		}
		for _, c := range b.Calls {
			if c.Resource == *other.RuleArn {
				b.Error("somebody else's rule was written")
			}
		}
	})
}

// createSecureListener is a listener that may authenticate: AWS allows that on HTTPS only.
func createSecureListener(b *stagetest.Bench) string {
	l := stagetest.Got(b.ELB.CreateListener(context.Background(),
		&awselb.CreateListenerInput{LoadBalancerArn: aws.String(b.Balancer), Port: aws.Int32(443),
			Protocol: elbtypes.ProtocolEnumHttps,
			Certificates: []elbtypes.Certificate{{CertificateArn: aws.String(
				"arn:aws:acm:us-east-1:123456789012:certificate/00000000-0000-0000-0000-000000000000")}},
			DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumFixedResponse,
				FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("404")}}}}))(b)
	return *l.Listeners[0].ListenerArn
}

func ruleText(b *stagetest.Bench, arn string) string {
	r := stagetest.Got(b.ELB.DescribeRules(context.Background(),
		&awselb.DescribeRulesInput{RuleArns: []string{arn}}))(b).Rules[0]
	return *r.Priority + string(r.Actions[0].Type) + aws.ToString(r.Actions[0].FixedResponseConfig.StatusCode)
}

// Rules named in the file are the only ones that are written.
func TestOnlyNamedRulesAreWritten(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		second := secondRule(b)
		files := b.Files("sim/web:v2", strings.Replace(stagetest.CanaryPipeline, "    - {name: ECS_PRIMARY_ROLLOUT}\n",
			"    - {name: WAIT_APPROVAL}\n    - {name: ECS_PRIMARY_ROLLOUT}\n", 1))
		files["sluice.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(string(files["sluice.yaml"].Data),
			"input:\n", "input:\n  listenerRules: ["+second+"]\n", 1))}
		id := b.Start(files)
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		if b.Weights() != "primary 100 canary 0" {
			b.Errorf("the rule that is not named has %s", b.Weights())
		}
		b.Rule = second
		if b.Weights() != "primary 50 canary 50" {
			b.Errorf("the named rule has %s\n%s", b.Weights(), b.EventLog())
		}
	})
}
