package watch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// setIn adds a task set of a revision in a target group. by is the ID of the action of sluice that made it, or empty.
func (b *bench) setIn(group, revision, by string) string {
	b.Helper()
	subnets, _ := b.places()
	in := &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"), Service: aws.String("web"),
		TaskDefinition: aws.String(revision), LaunchType: ecstypes.LaunchTypeFargate,
		NetworkConfiguration: &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: subnets}},
		Scale:                &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent, Value: 100},
		LoadBalancers: []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(group), ContainerName: aws.String("web"),
			ContainerPort: aws.Int32(8080)}}}
	if by != "" {
		in.ExternalId = aws.String(by)
	}
	return *got(b.ecs.CreateTaskSet(context.Background(), in))(b).TaskSet.Id
}

// A canary that a pipeline of sluice has left beside the primary is promoted by no deployment. A wait then is about the
// primary: it ends as callers of the service decide, and a rule of the canary's group alone is for tests. If that rule is
// the only one, its callers get no primary. A task set of another tool may still be promoted.
func TestWaitBesideACanaryThatIsLeft(t *testing.T) {
	const sluices = "slc-1/0 ECS_CANARY_ROLLOUT/create"
	beta := func(b *bench) {
		got(b.elb.CreateRule(context.Background(), &awselb.CreateRuleInput{ListenerArn: b.listener(), Priority: aws.Int32(1),
			Actions:    []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: aws.String(b.other)}},
			Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/beta*"}}}}))(b)
	}
	only := func(b *bench) {
		got(b.elb.ModifyListener(context.Background(), &awselb.ModifyListenerInput{ListenerArn: b.listener(),
			DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: aws.String(b.other)}}}))(b)
	}
	for name, c := range map[string]struct {
		rules   func(*bench)
		by      string
		kept    bool // the newer set is the primary, and the older one stays
		wants   verdict.Wanted
		outcome sluice.Outcome
		says    string
		next    string
	}{
		"a test rule": {rules: beta, by: sluices, outcome: sluice.Succeeded, says: "of web:2 runs beside it"},
		"the only rule": {rules: only, by: sluices, outcome: sluice.Failed, says: "default rule of port 80 sends 100 % of the " +
			"requests to other, which runs another version", next: "aws elbv2 modify-listener --listener-arn"},
		"a part of the requests": {rules: func(b *bench) { b.forward(80, 20) }, by: sluices, outcome: sluice.Failed,
			says: "default rule of port 80 sends 20 % of the requests to other, which runs another version"},
		"the canary is named": {rules: beta, by: sluices, wants: verdict.Wanted{Revision: "web:2"}, outcome: sluice.TimedOut,
			next: "a pipeline that has ECS_PRIMARY_ROLLOUT"},
		"a set of another tool": {rules: beta, outcome: sluice.TimedOut, next: "wait again"},
		"the former primary is kept": {rules: func(b *bench) { b.forward(0, 100) }, by: sluices, kept: true,
			outcome: sluice.Succeeded, says: "of web:1 runs beside it"},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				b.balance()
				b.forward(100, 0)
				b.sets("web", b.revision("sim/web:v1"))
				fresh := b.setIn(b.other, b.revision("sim/web:v2"), c.by)
				b.until("both sets are steady", func() bool {
					all := b.service("web").TaskSets
					return all[0].StabilityStatus == "STEADY_STATE" && all[1].StabilityStatus == "STEADY_STATE"
				})
				c.rules(b)
				if c.kept {
					b.promote("web", fresh)
				}
				c.wants.Timeout = 5 * time.Minute
				began := b.clock.Now()
				v := b.wait("web", c.wants)
				if v.Outcome != c.outcome || !strings.Contains(v.Detail, c.says) || !strings.Contains(v.Next, c.next) {
					t.Errorf("%s: %s; next: %s\n%s", v.Outcome, v.Detail, v.Next, b.story())
				}
				if took := b.clock.Now().Sub(began); c.outcome != sluice.TimedOut && took > 3*time.Minute {
					t.Errorf("ended after %s", took)
				}
			})
		})
	}
}
