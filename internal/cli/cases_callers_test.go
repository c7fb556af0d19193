package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// send makes the listener forward to one of its two groups.
func (b *caseBench) send(group string) {
	b.t.Helper()
	ctx, api := context.Background(), awselb.NewFromConfig(b.sim.Config())
	groups, err := api.DescribeTargetGroups(ctx, nil)
	fail(b.t, err)
	config := &elbtypes.ForwardActionConfig{}
	balancer := ""
	for _, g := range groups.TargetGroups {
		weight := int32(0)
		if aws.ToString(g.TargetGroupName) == group {
			weight = 100
		}
		config.TargetGroups = append(config.TargetGroups,
			elbtypes.TargetGroupTuple{TargetGroupArn: g.TargetGroupArn, Weight: aws.Int32(weight)})
		if len(g.LoadBalancerArns) > 0 {
			balancer = g.LoadBalancerArns[0]
		}
	}
	listeners, err := api.DescribeListeners(ctx, &awselb.DescribeListenersInput{LoadBalancerArn: aws.String(balancer)})
	fail(b.t, err)
	_, err = api.ModifyListener(ctx, &awselb.ModifyListenerInput{ListenerArn: listeners.Listeners[0].ListenerArn,
		DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, ForwardConfig: config}}})
	fail(b.t, err)
}

// weights returns the weights of the first rule: "web 100, web-canary 0".
func (b *caseBench) weights() string {
	b.t.Helper()
	ctx, api := context.Background(), awselb.NewFromConfig(b.sim.Config())
	balancers, err := api.DescribeLoadBalancers(ctx, nil)
	fail(b.t, err)
	listeners, err := api.DescribeListeners(ctx,
		&awselb.DescribeListenersInput{LoadBalancerArn: balancers.LoadBalancers[0].LoadBalancerArn})
	fail(b.t, err)
	var all []string
	for _, g := range listeners.Listeners[0].DefaultActions[0].ForwardConfig.TargetGroups {
		name := strings.Split(aws.ToString(g.TargetGroupArn), "/")[1]
		all = append(all, name+" "+map[bool]string{true: "gets requests", false: "gets none"}[aws.ToInt32(g.Weight) > 0])
	}
	return strings.Join(all, ", ")
}

// The rule sends everything to the empty group. Nothing is deployed; the printed command mends the rule. A deployment
// that the file allows does not restore the outage in its rollback.
func TestCaseRollbackToAnEmptyGroup(t *testing.T) {
	const name = "01-rollback-to-an-empty-group"
	playCase(t, name, nil, func(b *caseBench) {
		b.expect("plan", 1, "callers do not reach the service: default rule of port 80 sends 100 % of the requests to "+
			"web-canary, which has no targets", "next: give the weight to the group that can serve: aws elbv2 modify-listener")
		b.expect("deploy", 1, "callers do not reach the service")
		b.expect("verify", 1, "callers do not reach the service")
		b.expect("diff", 1, "callers do not reach the service")
		b.expect("status", 0, "callers do not reach the service: default rule of port 80 sends 100 % of the requests")
		b.expect("wait", 5, "callers do not get it: default rule of port 80 sends 100 % of the requests to web-canary")
		if w := b.weights(); w != "web gets none, web-canary gets requests" {
			t.Error(w)
		}
	})
	playCase(t, name, nil, func(b *caseBench) {
		for _, command := range []string{"plan", "status"} {
			_, out := b.run(command)
			_, text, _ := strings.Cut(out, "aws elbv2 modify-listener --listener-arn ")
			listener, text, _ := strings.Cut(text, " --default-actions '")
			text, _, _ = strings.Cut(text, "'")
			var actions []elbtypes.Action
			fail(t, json.Unmarshal([]byte(text), &actions))
			_, err := awselb.NewFromConfig(b.sim.Config()).ModifyListener(context.Background(),
				&awselb.ModifyListenerInput{ListenerArn: aws.String(listener), DefaultActions: actions})
			fail(t, err)
			if w := b.weights(); w != "web gets requests, web-canary gets none" {
				t.Errorf("the command of %s: %s", command, w)
			}
			if command == "plan" {
				b.expect("plan", 0)
				b.send("web-canary")
			}
		}
	})
	allow := caseEdit{"sluice.yaml", `"cluster": "prod",`, `"cluster": "prod", "onUnhealthyRoute": "allow",`}
	playCase(t, name, []caseEdit{allow}, func(b *caseBench) {
		b.expect("deploy", 3, "it is now web 100, web-canary 0")
		if w := b.weights(); w != "web gets requests, web-canary gets none" {
			t.Error(w)
		}
	})
}

// Each target of the group fails its health checks, so the load balancer sends requests to all of them: callers reach
// the service, and no command says that they do not. It is no success.
func TestGroupWithoutHealthyTargetFailsOpen(t *testing.T) {
	const why = "no target of web is healthy, so the load balancer sends requests to all 4 targets (default rule of port 80: " +
		"100 % of the requests)"
	playCase(t, "01-rollback-to-an-empty-group", nil, func(b *caseBench) {
		b.send("web")
		b.failChecks("web")
		b.expect("plan", 0, why, "!do not reach")
		b.expect("verify", 1, why, "!do not reach")
		b.expect("status", 0, "warning: "+why, "!do not reach",
			"next: see why no target of the group can serve: aws elbv2 describe-target-health --target-group-arn ")
		b.expect("wait", 5, "failed", "!do not get it")
	})
}

// failChecks makes the health check of a group expect a code that no task returns, until all of them are unhealthy.
func (b *caseBench) failChecks(group string) {
	b.t.Helper()
	ctx, api := context.Background(), awselb.NewFromConfig(b.sim.Config())
	groups, err := api.DescribeTargetGroups(ctx, &awselb.DescribeTargetGroupsInput{Names: []string{group}})
	fail(b.t, err)
	_, err = api.ModifyTargetGroup(ctx, &awselb.ModifyTargetGroupInput{TargetGroupArn: groups.TargetGroups[0].TargetGroupArn,
		Matcher: &elbtypes.Matcher{HttpCode: aws.String("299")}})
	fail(b.t, err)
	fail(b.t, b.clock.Sleep(ctx, 30*time.Second))
}

// The same rule of a service whose files name one target group only: the other one is no group of the service, and it
// is empty. A rolling deployment does not move the weight.
func TestCaseRuleOfAnEmptyGroupOfOthers(t *testing.T) {
	playCase(t, "01-rollback-to-an-empty-group", nil, func(b *caseBench) {
		rolling, err := os.ReadFile("testdata/cases/02-dies-after-it-was-healthy/sluice.yaml")
		fail(t, err)
		fail(t, os.WriteFile(filepath.Join(b.files, "sluice.yaml"), rolling, 0o600))
		const why = "default rule of port 80 sends 100 % of the requests to web-canary, which has no healthy target"
		b.expect("plan", 1, "callers do not reach the service: "+why,
			"next: give the weight to the group that can serve: aws elbv2 modify-listener")
		b.expect("deploy", 1, why)
		b.expect("verify", 1, why)
		b.expect("status", 0, why)
		b.expect("wait", 5, why)
		b.send("web")
		b.expect("wait", 0, "succeeded")
		b.expect("deploy", 0, "succeeded")
	})
}

// CodeDeploy's production listener sends no requests to any group. Every command says it, before CodeDeploy's first
// deployment and after one; the test listener, which forwards to a group that serves, does not hide it.
func TestCodeDeployListenerWithoutWeight(t *testing.T) {
	playCase(t, "../../../../examples/codedeploy", nil, func(b *caseBench) {
		for _, serves := range []string{"web-blue", "web-green"} {
			const why = "default rule of port 80 gives weight to no target group"
			b.send("")
			b.expect("plan", 1, why)
			b.expect("verify", 1, why)
			b.expect("status", 0, why)
			b.expect("wait", 5, why)
			b.send(serves)
			b.expect("verify", 0, "!callers do not reach")
			b.expect("status", 0, "!callers do not reach")
			b.expect("wait", 0, "succeeded")
			b.expect("deploy", 0)
		}
	})
}

// forwards sets the default action of the listener of a port, or adds the listener. Without a group it answers itself.
func (b *caseBench) forwards(port int32, group string) {
	b.t.Helper()
	ctx, api := context.Background(), awselb.NewFromConfig(b.sim.Config())
	balancers, err := api.DescribeLoadBalancers(ctx, nil)
	fail(b.t, err)
	action := elbtypes.Action{Type: elbtypes.ActionTypeEnumFixedResponse,
		FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("503")}}
	if group != "" {
		groups, err := api.DescribeTargetGroups(ctx, &awselb.DescribeTargetGroupsInput{Names: []string{group}})
		fail(b.t, err)
		action = elbtypes.Action{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: groups.TargetGroups[0].TargetGroupArn}
	}
	balancer := balancers.LoadBalancers[0].LoadBalancerArn
	listeners, err := api.DescribeListeners(ctx, &awselb.DescribeListenersInput{LoadBalancerArn: balancer})
	fail(b.t, err)
	for _, l := range listeners.Listeners {
		if *l.Port == port {
			_, err = api.ModifyListener(ctx, &awselb.ModifyListenerInput{ListenerArn: l.ListenerArn,
				DefaultActions: []elbtypes.Action{action}})
			fail(b.t, err)
			return
		}
	}
	_, err = api.CreateListener(ctx, &awselb.CreateListenerInput{LoadBalancerArn: balancer, Port: aws.Int32(port),
		Protocol: elbtypes.ProtocolEnumHttp, DefaultActions: []elbtypes.Action{action}})
	fail(b.t, err)
}

// A listener of another port, whose group CodeDeploy empties: after the deployment that the file allows and that
// failed, each command says the same of it.
func TestListenerBesideThatOfCodeDeploy(t *testing.T) {
	allows := caseEdit{"sluice.yaml", "cluster: prod", "cluster: prod\nonUnhealthyRoute: allow"}
	playCase(t, "../../../../examples/codedeploy", []caseEdit{allows}, func(b *caseBench) {
		const why = "default rule of port 443 sends 100 % of the requests to web-blue, which has no targets"
		b.forwards(443, "web-blue")
		b.expect("deploy", 5, "callers do not get it: "+why)
		b.expect("wait", 5, "callers do not get it: "+why)
		b.expect("status", 0, why)
		b.expect("plan", 0, why)
		b.forwards(443, "web-green")
		b.expect("wait", 0, "succeeded")
	})
}

// A person changes the rule of callers during a deployment, which fails: the wait after it says so too, as long as the
// rule is so, and no newer deployment has begun.
func TestWaitAfterAFailedDeployment(t *testing.T) {
	playCase(t, "../../../../examples/rolling", nil, func(b *caseBench) {
		const why = "callers do not get it: default rule of port 80 no longer forwards: its action is fixed-response"
		b.clock.Go(func() {
			for s := b.describeWeb(); len(s.Deployments) > 1 || !strings.HasSuffix(*s.TaskDefinition, ":2"); s = b.describeWeb() {
				fail(b.t, b.clock.Sleep(context.Background(), time.Second))
			}
			b.forwards(80, "")
		})
		b.expect("deploy", 5, why)
		b.expect("wait", 5, why)
		b.forwards(80, "web")
		b.expect("wait", 0, "succeeded")
		b.edit(caseEdit{"taskdef.yaml", "sim/web:v2", "sim/web:v3"})
		b.expect("register", 0)
		_, err := awsecs.NewFromConfig(b.sim.Config()).UpdateService(context.Background(), &awsecs.UpdateServiceInput{
			Cluster: aws.String("prod"), Service: aws.String("web"), TaskDefinition: aws.String("web")})
		fail(t, err)
		b.expect("wait", 0, "succeeded")
		b.forwards(80, "")
		b.expect("wait", 0, "the service receives no requests")
	})
}

// ECS's own strategy names the rule of callers. Once it is deleted, or answers itself, no deployment succeeds.
func TestCaseRuleOfAStrategyIsGone(t *testing.T) {
	const rule = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener-rule/app/web/0123456789abcdef/" +
		"0123456789abcdef/0000000000000001"
	playCase(t, "15-back-to-rolling", nil, func(b *caseBench) {
		text, err := os.ReadFile(filepath.Join(b.files, "servicedef-before.json"))
		fail(t, err)
		fail(t, os.WriteFile(filepath.Join(b.files, "servicedef.json"), text, 0o600))
		b.expect("deploy", 0, "succeeded")
		all := func(why string) {
			b.expect("plan", 1, why)
			b.expect("verify", 1, why)
			b.expect("status", 0, why)
			b.expect("wait", 5, why)
			b.edit(caseEdit{"taskdef.json", "sim/web:v2", "sim/web:v3"})
			b.expect("deploy", 1, why)
			b.edit(caseEdit{"taskdef.json", "sim/web:v3", "sim/web:v2"})
		}
		api := awselb.NewFromConfig(b.sim.Config())
		_, err = api.ModifyRule(context.Background(), &awselb.ModifyRuleInput{RuleArn: aws.String(rule), Actions: []elbtypes.Action{{
			Type:                elbtypes.ActionTypeEnumFixedResponse,
			FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("503")}}}})
		fail(t, err)
		all("rule 1 of port 80 no longer forwards: its action is fixed-response")
		_, err = api.DeleteRule(context.Background(), &awselb.DeleteRuleInput{RuleArn: aws.String(rule)})
		fail(t, err)
		all("rule 0000000000000001 of port 80 no longer exists: the rule was deleted")
	})
}

// Every task is healthy for some seconds and is then killed. The circuit breaker does not count that, and sluice does.
func TestCaseDiesAfterItWasHealthy(t *testing.T) {
	playCase(t, "02-dies-after-it-was-healthy", nil, func(b *caseBench) {
		b.expect("deploy", 3, "exit code 137", "rolled back", "!succeeded")
	})
	playCase(t, "02-dies-after-it-was-healthy", nil, func(b *caseBench) {
		b.update("")
		code, out, log := b.sluice("wait", "--cluster", "prod", "--service", "web", "--region", "us-east-1")
		if code != 5 && code != 3 || !strings.Contains(out+log, "exit code 137") {
			t.Errorf("exit %d\n%s%s", code, out, log)
		}
	})
}

// Files of ecspresso have no key for a bake time: the flag gives it, and overrides that of sluice.yaml. Tasks that die
// after AWS's success are a failure then.
func TestBakeOfTheCommandLine(t *testing.T) {
	const name = "02-dies-after-it-was-healthy"
	image := func(tag string) []caseEdit {
		return []caseEdit{{"taskdef.json", "sim/web:v2-oom-after-25s", "sim/web:" + tag}}
	}
	ecspresso := func(b *caseBench) {
		fail(b.t, os.Remove(filepath.Join(b.files, "sluice.yaml")))
		fail(b.t, os.WriteFile(filepath.Join(b.files, "ecspresso.yml"), []byte("region: us-east-1\ncluster: prod\n"+
			"service: web\ntask_definition: taskdef.json\nservice_definition: servicedef.json\n"), 0o600))
	}
	playCase(t, name, image("v2-crash-after-90s"), func(b *caseBench) {
		ecspresso(b)
		b.expect("plan --bake -2m", 1, "--bake is \"-2m\", but must be a duration")
		b.expect("deploy --bake 3m", 5, "exit code 1", "!succeeded")
	})
	playCase(t, name, image("v2"), func(b *caseBench) {
		ecspresso(b)
		began := b.clock.Now()
		b.expect("deploy --bake 3m", 0, "succeeded", "success needs 3m0s of baking")
		if took := b.clock.Now().Sub(began); took < 3*time.Minute {
			t.Errorf("succeeded after %s", took)
		}
	})
	bakes := caseEdit{"sluice.yaml", `"cluster": "prod",`, `"cluster": "prod", "bake": "1h",`}
	playCase(t, name, append(image("v2"), bakes), func(b *caseBench) {
		began := b.clock.Now()
		b.expect("deploy --bake 0s", 0, "succeeded", "!baking")
		if took := b.clock.Now().Sub(began); took > 10*time.Minute {
			t.Errorf("succeeded after %s", took)
		}
	})
}

// The drain of AWS's default, 300 s, is no reason to give up.
func TestCaseWaitOutlastsTheDrain(t *testing.T) {
	playCase(t, "03-wait-gives-up-after-three-minutes", nil, func(b *caseBench) {
		began := b.clock.Now()
		b.update("")
		code, out, log := b.sluice("wait", "--cluster", "prod", "--service", "web", "--region", "us-east-1")
		if took := b.clock.Now().Sub(began); code != 0 || took < 5*time.Minute {
			t.Errorf("exit %d after %s\n%s%s", code, took, out, log)
		}
	})
}

// update registers the task definition of the case and deploys it as another tool would.
func (b *caseBench) update(string) {
	b.t.Helper()
	code, out, log := b.sluice("register", "files", "--region", "us-east-1")
	if code != 0 {
		b.t.Fatalf("register: exit %d\n%s%s", code, out, log)
	}
	_, err := awsecs.NewFromConfig(b.sim.Config()).UpdateService(context.Background(), &awsecs.UpdateServiceInput{
		Cluster: aws.String("prod"), Service: aws.String("web"), TaskDefinition: aws.String("web")})
	fail(b.t, err)
}

// Only essential containers decide the health of a task.
func TestCaseSidecarThatIsNotEssential(t *testing.T) {
	playCase(t, "04-sidecar-that-is-not-essential", nil, func(b *caseBench) { b.expect("deploy", 0, "succeeded") })
}

// A service goes from ECS's own strategy back to rolling updates, and callers get the version of the files.
func TestCaseBackToRolling(t *testing.T) {
	playCase(t, "15-back-to-rolling", nil, func(b *caseBench) {
		files := map[string][]byte{}
		for _, name := range []string{"servicedef.json", "servicedef-before.json"} {
			text, err := os.ReadFile(filepath.Join(b.files, name))
			fail(t, err)
			files[name] = text
		}
		write := func(name string) {
			fail(t, os.WriteFile(filepath.Join(b.files, "servicedef.json"), files[name], 0o600))
		}
		write("servicedef-before.json")
		b.expect("deploy", 0, "succeeded")
		write("servicedef.json")
		b.expect("deploy", 0, "leaves strategy BLUE_GREEN", "succeeded")
		b.expect("plan", 0, "No changes")

		// After one deployment of ECS's own the other group serves. Tasks that roll into the first one get no requests.
		write("servicedef-before.json")
		b.edit(caseEdit{"taskdef.json", "sim/web:v2", "sim/web:v3"})
		b.expect("deploy", 0, "succeeded")
		write("servicedef.json")
		b.expect("deploy", 1, "rule 1 of port 80 sends the requests to target group web-green, and the files start the tasks "+
			"in web-blue only", "!succeeded: ")
		b.edit(caseEdit{"sluice.yaml", `"cluster"`, `"onUnhealthyRoute": "allow", "cluster"`})
		b.expect("deploy", 5, "failed", "but callers do not get it", "web-green", "!succeeded: ")
	})
}

// A container that starts after another one has ended with 0 never starts if that one ends with 1.
func TestCaseStartOrder(t *testing.T) {
	playCase(t, "16-start-order", nil, func(b *caseBench) {
		b.expect("deploy", 3, "rolled back", "container setup ended with exit code 1")
	})
}
