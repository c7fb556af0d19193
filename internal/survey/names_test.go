package survey_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// planned surveys and plans the application.
func (b *bench) planned() (*plan.Plan, error) {
	live, err := survey.ReadInputs(context.Background(), b.account, b.clock, b.app)
	if err != nil {
		return nil, err
	}
	return mode.Make(b.app, live, mode.Options{})
}

func (b *bench) wantError(name string, err error, texts ...string) {
	b.Helper()
	if err == nil {
		b.Fatalf("%s: no error, want one with %q", name, texts)
	}
	text := err.Error() + "\nnext: " + sluice.NextStep(err)
	for _, want := range texts {
		if !strings.Contains(text, want) {
			b.Errorf("%s: the error lacks %q:\n%s", name, want, text)
		}
	}
	if strings.Contains(text, "deregister-targets") != strings.Contains(strings.Join(texts, ""), "deregister-targets") {
		b.Errorf("%s: a command that removes targets, or its lack, is unexpected:\n%s", name, text)
	}
}

// A typo in a name is told with the names that exist, and never with a command that removes tasks of
// the service that was meant from its load balancer.
func TestTyposInNamesAreTold(t *testing.T) {
	for _, example := range []struct{ name, file string }{{"canary", "sluice.yaml"}, {"beside-rolling", "sluice.yaml"}} {
		onExample(t, example.name, example.file, func(b *bench) {
			b.app.Service.Input.ServiceName = aws.String("wbe")
			_, err := b.planned()
			b.wantError(example.name, err, "cluster prod has no service wbe (it has web), but the target groups have targets: ",
				" of service web", "next: correct serviceName: web exists")
			b.app.Cluster = "prdo"
			_, err = b.planned()
			b.wantError(example.name, err, "the cluster does not exist in Region us-east-1, which has prod",
				"next: correct the cluster's name: prod exists")
			b.app.Cluster = "elsewhere"
			_, err = b.planned()
			b.wantError(example.name, err, "which has prod", "aws ecs create-cluster --cluster-name elsewhere")
		})
	}
	onExample(t, "native", "sluice.yaml", func(b *bench) {
		b.app.Service.Input.ServiceName = aws.String("wbe")
		lb := &b.app.Service.Input.LoadBalancers[0] // the tasks of web are in the alternate group then
		lb.TargetGroupArn, lb.AdvancedConfiguration.AlternateTargetGroupArn =
			lb.AdvancedConfiguration.AlternateTargetGroupArn, lb.TargetGroupArn
		_, err := b.planned()
		b.wantError("native", err, "cluster prod has no service wbe (it has web), but the target groups have targets: ",
			" of service web", "next: correct serviceName")
	})
	onExample(t, "rolling", "sluice.yaml", func(b *bench) {
		b.app.Service.Input.ServiceName = aws.String("wbe")
		_, err := b.planned()
		b.wantError("rolling", err, "cluster prod has no service wbe (it has web), but the target groups have targets: ",
			" of service web", "next: correct serviceName: web exists")
		b.app.OnOtherTargets = sluice.AllowTargets
		p, err := b.planned()
		check(t, err)
		if text := strings.Join(p.Warnings, "\n"); !strings.Contains(text, "the cluster has a service web: if you mean that one") {
			t.Errorf("the plan of a typo does not warn: %q", p.Warnings)
		}
		b.app.Service.Input.ServiceName = aws.String("orders")
		if p, err = b.planned(); err != nil || strings.Contains(strings.Join(p.Warnings, "\n"), "if you mean") {
			t.Errorf("the plan of a new service: error %v, warnings %q", err, p.Warnings)
		}
	})
}

// A plan without permission to list services and clusters is the same but for the names.
func TestNamesAreOptional(t *testing.T) {
	onExample(t, "rolling", "sluice.yaml", func(b *bench) {
		check(t, b.faults.Inject("denied ecs:List*"))
		b.app.Service.Input.ServiceName = aws.String("wbe")
		if p, err := b.planned(); err != nil || strings.Contains(strings.Join(p.Warnings, "\n"), "if you mean") {
			t.Errorf("a plan without names: error %v, %+v", err, p)
		}
		b.app.Cluster = "prdo"
		_, err := b.planned()
		b.wantError("denied", err, "the cluster does not exist in Region us-east-1", "aws ecs create-cluster --cluster-name prdo")
	})
}

// The command that deregisters a target is printed only if the service exists and no task of the
// cluster has the address.
func TestDeregisteringIsAdvisedOnlyForTargetsOfNoTask(t *testing.T) {
	add := func(b *bench, address string) {
		target := elbtypes.TargetDescription{Id: aws.String(address), Port: aws.Int32(80)}
		if strings.HasPrefix(address, "10.") { // outside of the network
			target.AvailabilityZone = aws.String("all")
		}
		_, err := b.elb.RegisterTargets(context.Background(), &awselb.RegisterTargetsInput{
			TargetGroupArn: aws.String(b.app.Primary.ARN), Targets: []elbtypes.TargetDescription{target}})
		check(b.T, err)
	}
	for name, c := range map[string]struct {
		change func(*bench)
		want   []string
	}{
		"no task has the address": {func(b *bench) { add(b, "10.9.9.9") },
			[]string{"10.9.9.9 in web-primary", "next: deregister them: aws elbv2 deregister-targets", "Id=10.9.9.9"}},
		"a task of no service": {func(b *bench) { add(b, b.runTask()) },
			[]string{" of task ", "next: give the application a target group of its own"}},
		"the tasks cannot be read": {func(b *bench) {
			add(b, "10.9.9.9")
			check(b.T, b.faults.Inject("denied ecs:DescribeTasks skip=2"))
		}, []string{"10.9.9.9 in web-primary", "next: find whose it is: aws ec2 describe-network-interfaces", "Values=10.9.9.9"}},
	} {
		onExample(t, "canary", "sluice.yaml", func(b *bench) {
			c.change(b)
			_, err := b.planned()
			b.wantError(name, err, c.want...)
			var told *sluice.Error
			if !errors.As(err, &told) || told.Kind != sluice.Conflict {
				t.Errorf("%s: %v is no conflict", name, err)
			}
		})
	}
}

// runTask runs a task of no service and returns its address.
func (b *bench) runTask() string {
	ctx, c := context.Background(), awsecs.NewFromConfig(b.sim)
	out, err := c.RunTask(ctx, &awsecs.RunTaskInput{Cluster: aws.String("prod"), TaskDefinition: aws.String("web"),
		LaunchType: ecstypes.LaunchTypeFargate, NetworkConfiguration: &ecstypes.NetworkConfiguration{
			AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: []string{"subnet-0123456789abcdef0"}}}})
	check(b.T, err)
	check(b.T, b.clock.Sleep(ctx, time.Minute))
	tasks, err := c.DescribeTasks(ctx, &awsecs.DescribeTasksInput{Cluster: aws.String("prod"),
		Tasks: []string{*out.Tasks[0].TaskArn}})
	check(b.T, err)
	return *tasks.Tasks[0].Containers[0].NetworkInterfaces[0].PrivateIpv4Address
}

// Of two target groups, the missing one is named: with the ARN of the one that was meant, or with the command that creates
// it like the other. A group that the files name is none of the others.
func TestMissingTargetGroupIsNamed(t *testing.T) {
	onExample(t, "canary", "sluice.yaml", func(b *bench) {
		right, primary := b.app.Canary.ARN, b.app.Primary.ARN
		plans := func(name, canary, primary string, want ...string) {
			b.app.Canary.ARN, b.app.Primary.ARN = canary, primary
			_, err := b.planned()
			b.wantError(name, err, want...)
		}
		other := strings.Replace(right, "web-canary", "something", 1)
		plans("one of another name", other, primary, "look up target group ("+other+")", "it does not exist in Region us-east-1, which has web-canary",
			"aws elbv2 create-target-group --name something --protocol HTTP --port 80 --target-type ip --vpc-id vpc-",
			"--health-check-path /")
		for name, wrong := range map[string]string{
			"one of a similar name": strings.Replace(right, "web-canary", "web-canry", 1),
			"one with another id":   right[:len(right)-4] + "0000",
		} {
			plans(name, wrong, primary, "look up target group ("+wrong+")", "next: correct its ARN: web-canary is "+right)
		}
		absent := strings.Replace(primary, "web-primary", "web-prim", 1)
		plans("both", other, absent, "look up target group ("+absent+")", "look up target group ("+other+")",
			"next: correct its ARN")
	})
}

// The requests of a shift to exchanged target groups would be lost, and the canary would get all requests when it starts.
func TestExchangedTargetGroupsAreRefused(t *testing.T) {
	for _, example := range []struct{ name, want string }{
		{"canary", "the tasks that serve are not in the primary target group, web-canary, but in web-primary, which the file " +
			"names as the canary's"},
		{"beside-rolling", "the tasks that serve are not in the primary target group, web-canary, but in web, which the file " +
			"names as the canary's"},
	} {
		onExample(t, example.name, "sluice.yaml", func(b *bench) {
			ctx := context.Background()
			_, err := b.elb.ModifyListener(ctx, &awselb.ModifyListenerInput{ListenerArn: aws.String("arn:aws:elasticloadbalancing:" +
				"us-east-1:123456789012:listener/app/web/0123456789abcdef/0123456789abcdef"), DefaultActions: []elbtypes.Action{
				{Type: elbtypes.ActionTypeEnumForward, ForwardConfig: &elbtypes.ForwardActionConfig{TargetGroups: []elbtypes.TargetGroupTuple{
					{TargetGroupArn: aws.String(b.app.Primary.ARN), Weight: aws.Int32(100)},
					{TargetGroupArn: aws.String(b.app.Canary.ARN), Weight: aws.Int32(0)}}}}}})
			check(t, err)
			check(t, b.clock.Sleep(ctx, time.Minute))
			b.app.Primary.ARN, b.app.Canary.ARN = b.app.Canary.ARN, b.app.Primary.ARN
			_, err = b.planned()
			b.wantError(example.name, err, example.want,
				"next: correct input.targetGroups: exchange the ARNs of the primary and the canary")
			for i, stage := range b.app.Pipeline { // no share for the former primary
				if _, shifts := stage.With.(appfile.TrafficRouting); shifts {
					b.app.Pipeline[i].With = appfile.TrafficRouting{Weights: sluice.CanaryShare(100)}
				}
			}
			_, err = b.planned()
			b.wantError(example.name+" with a full shift", err, example.want)
			b.app.Primary.ARN, b.app.Canary.ARN = b.app.Canary.ARN, b.app.Primary.ARN
			if _, err := b.planned(); err != nil {
				b.Errorf("%s: the groups as they are: %v", example.name, err)
			}
		})
	}
}

// A quick sync into the other group loses the requests of a rule that forwards only to the group in which the former
// version serves: the plan is refused. A key of the file allows it, and without such a rule nothing is lost.
func TestExchangedTargetGroupsWithAnUnsteeredRule(t *testing.T) {
	for name, c := range map[string]struct {
		rule    bool
		policy  sluice.OnRoute
		refused bool
	}{
		"no such rule":            {false, "", false},
		"a rule":                  {true, "", true},
		"a rule, and it is meant": {true, sluice.AllowRoute, false},
	} {
		onExample(t, "canary", "sluice.yaml", func(b *bench) {
			ctx, listener := context.Background(), aws.String("arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/"+
				"app/web/0123456789abcdef/0123456789abcdef")
			forward := func(groups ...string) []elbtypes.Action {
				var all []elbtypes.TargetGroupTuple
				for i, g := range groups {
					all = append(all, elbtypes.TargetGroupTuple{TargetGroupArn: aws.String(g), Weight: aws.Int32(int32(100 - 100*i))})
				}
				return []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward,
					ForwardConfig: &elbtypes.ForwardActionConfig{TargetGroups: all}}}
			}
			_, err := b.elb.ModifyListener(ctx, &awselb.ModifyListenerInput{ListenerArn: listener,
				DefaultActions: forward(b.app.Primary.ARN, b.app.Canary.ARN)})
			check(t, err)
			if c.rule {
				_, err := b.elb.CreateRule(ctx, &awselb.CreateRuleInput{ListenerArn: listener, Priority: aws.Int32(7),
					Actions:    forward(b.app.Primary.ARN),
					Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/alone"}}}})
				check(t, err)
			}
			check(t, b.clock.Sleep(ctx, time.Minute))
			b.app.Primary.ARN, b.app.Canary.ARN = b.app.Canary.ARN, b.app.Primary.ARN
			b.app.Pipeline, b.app.OnUnhealthyRoute = nil, c.policy
			_, err = b.planned()
			switch {
			case c.refused:
				b.wantError(name, err, "the tasks that serve are not in the primary target group, web-canary",
					"rule 7 of port 80 forwards only to that group, and sluice does not change this rule: its requests would be lost",
					"next: correct input.targetGroups: exchange the ARNs of the primary and the canary")
			case err != nil:
				b.Errorf("%s: refused with %v, want a plan", name, err)
			}
		})
	}
}
