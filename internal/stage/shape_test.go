package stage_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

func TestBlueGreenKeepsTheOldPrimaryUntilTheClean(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", stagetest.BlueGreenPipeline))
		got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		if want := "ACTIVE sim/web:v1 100% 4 running; ACTIVE sim/web:v2 100% 4 running; PRIMARY sim/web:v2 100% 4 " +
			"running; tag sluice:deployment; primary 0 canary 100"; b.State() != want {
			b.Fatalf("%s, want %s\n%s", b.State(), want, b.EventLog())
		}
		must(b, b.Engine.SendCommand(ctx, id, journal.Approve, 3, "ann"))
		b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", servesV2)
		b.ExpectNoneLost()
	})
}

// The old primary was kept warm: going back starts no task.
func TestRollbackToAWarmPrimaryStartsNothing(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", stagetest.BlueGreenPipeline))
		got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.Calls = nil
		b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", servesV1)
		b.ExpectNoneLost()
		for _, c := range b.Calls {
			if strings.HasSuffix(c.Operation, "CreateTaskSet") {
				b.Error("a task set was created")
			}
		}
	})
}

func TestQuickSyncRemovesWhatEarlierDeploymentsLeft(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", heldAfterStage(2)))
		got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		must(b, b.Engine.SendCommand(ctx, id, journal.Abort, 0, "ann"))
		got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if b.Weights() != "primary 90 canary 10" {
			b.Fatalf("the aborted deployment left %s", b.State())
		}
		b.ExpectEnd(b.Deploy(b.Files("sim/web:v3", "")), sluice.Succeeded, "",
			"PRIMARY sim/web:v3 100% 4 running; primary 100 canary 0")
		b.ExpectNoneLost()
	})
}

func TestRecreateStopsTheOldTasksFirst(t *testing.T) {
	on(t, options{}, func(b *bench) {
		end := b.Deploy(b.Files("sim/web:v2", "quickSync: {recreate: true}\n"))
		b.ExpectEnd(end, sluice.Succeeded, "", servesV2)
		if r := b.Tally.Report(); r.Failed == 0 {
			b.Error("no request was lost: the old tasks did not stop first")
		}
	})
}

// Everything of a rule but its weights stays: order, conditions, stickiness,
// the rules of others.
func TestRuleKeepsItsShape(t *testing.T) {
	on(t, options{}, func(b *bench) {
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
		rule := got(b.ELB.CreateRule(ctx, &awselb.CreateRuleInput{ListenerArn: aws.String(b.secure()),
			Priority: aws.Int32(7), Actions: []elbtypes.Action{oidc, forward[0]},
			Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"),
				Values: []string{"/app/*"}}}}))(b).Rules[0]
		other := got(b.ELB.CreateRule(ctx, &awselb.CreateRuleInput{ListenerArn: aws.String(b.Listener),
			Priority:   aws.Int32(8),
			Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/other"}}},
			Actions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumFixedResponse,
				FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("204")}}}}))(b).Rules[0]
		before := b.ruleText(*other.RuleArn)
		b.Calls = nil
		b.ExpectEnd(b.Deploy(b.Files("sim/web:v2", canaryPipeline)), sluice.Succeeded, "", servesV2)

		after := got(b.ELB.DescribeRules(ctx,
			&awselb.DescribeRulesInput{RuleArns: []string{*rule.RuleArn}}))(b).Rules[0]
		fwd := after.Actions[1]
		if *after.Priority != "7" || *after.Actions[0].AuthenticateOidcConfig.ClientId != "id" || *fwd.Order != 2 ||
			!*fwd.ForwardConfig.TargetGroupStickinessConfig.Enabled ||
			*fwd.ForwardConfig.TargetGroupStickinessConfig.DurationSeconds != 600 ||
			after.Conditions[0].Values[0] != "/app/*" {
			b.Errorf("the rule became %+v", after)
		}
		if b.ruleText(*other.RuleArn) != before {
			b.Error("somebody else's rule was changed")
		}
		for _, c := range b.Calls {
			if c.Resource == *other.RuleArn {
				b.Error("somebody else's rule was written")
			}
		}
	})
}

// secure is a listener that may authenticate: AWS allows that on HTTPS only.
func (b *bench) secure() string {
	l := got(b.ELB.CreateListener(context.Background(),
		&awselb.CreateListenerInput{LoadBalancerArn: aws.String(b.Balancer), Port: aws.Int32(443),
			Protocol: elbtypes.ProtocolEnumHttps,
			Certificates: []elbtypes.Certificate{{CertificateArn: aws.String(
				"arn:aws:acm:us-east-1:123456789012:certificate/00000000-0000-0000-0000-000000000000")}},
			DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumFixedResponse,
				FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("404")}}}}))(b)
	return *l.Listeners[0].ListenerArn
}

func (b *bench) ruleText(arn string) string {
	r := got(b.ELB.DescribeRules(context.Background(), &awselb.DescribeRulesInput{RuleArns: []string{arn}}))(b).Rules[0]
	return *r.Priority + string(r.Actions[0].Type) + aws.ToString(r.Actions[0].FixedResponseConfig.StatusCode)
}

// Rules named in the file are the only ones that are written.
func TestOnlyNamedRulesAreWritten(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		second := got(b.ELB.CreateRule(ctx, &awselb.CreateRuleInput{ListenerArn: aws.String(b.Listener),
			Priority: aws.Int32(5), Actions: b.Forward(false),
			Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"),
				Values: []string{"/beta/*"}}}}))(b).Rules[0]
		files := b.Files("sim/web:v2", strings.Replace(canaryPipeline, "    - {name: ECS_PRIMARY_ROLLOUT}\n",
			"    - {name: WAIT_APPROVAL}\n    - {name: ECS_PRIMARY_ROLLOUT}\n", 1))
		files["sluice.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(string(files["sluice.yaml"].Data),
			"input:\n", "input:\n  listenerRules: ["+*second.RuleArn+"]\n", 1))}
		id := b.Start(files)
		got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		if b.Weights() != "primary 100 canary 0" {
			b.Errorf("the rule that is not named has %s", b.Weights())
		}
		b.Rule = *second.RuleArn
		if b.Weights() != "primary 50 canary 50" {
			b.Errorf("the named rule has %s\n%s", b.Weights(), b.EventLog())
		}
	})
}

// At canary time nothing is written that the running primary would notice.
func TestCanaryRolloutLeavesTheServiceAlone(t *testing.T) {
	on(t, options{}, func(b *bench) {
		files := b.Files("sim/web:v2", heldAfterStage(1))
		files["servicedef.yaml"] = &fstest.MapFile{Data: append(files["servicedef.yaml"].Data,
			[]byte("desiredCount: 8\nenableExecuteCommand: true\nhealthCheckGracePeriodSeconds: 30\n")...)}
		got(b.Engine.Run(context.Background(), b.Start(files), engine.Options{NoWait: true}))(b)
		s := got(b.ECS.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"web"}}))(b).Services[0]
		if s.DesiredCount != 4 || s.EnableExecuteCommand || aws.ToInt32(s.HealthCheckGracePeriodSeconds) != 0 {
			b.Errorf("desired %d, exec %v, grace %d", s.DesiredCount, s.EnableExecuteCommand,
				aws.ToInt32(s.HealthCheckGracePeriodSeconds))
		}
	})
}

// What the deployment changed of the service comes back with the rollback.
func TestRollbackRestoresTheService(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		files := b.Files("sim/web:v2", heldAfterStage(4))
		files["servicedef.yaml"] = &fstest.MapFile{Data: append(files["servicedef.yaml"].Data,
			[]byte("desiredCount: 6\nhealthCheckGracePeriodSeconds: 30\n")...)}
		id := b.Start(files)
		got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", servesV1)
		s := got(b.ECS.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"web"}}))(b).Services[0]
		if s.DesiredCount != 4 || aws.ToInt32(s.HealthCheckGracePeriodSeconds) != 0 {
			b.Errorf("desired %d, grace %d", s.DesiredCount, aws.ToInt32(s.HealthCheckGracePeriodSeconds))
		}
		b.ExpectNoneLost()
	})
}
