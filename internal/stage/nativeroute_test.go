package stage_test

import (
	"context"
	"strings"
	"testing"
	"time"

	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// Another process takes the rule of callers away while ECS's own strategy bakes or removes the former tasks. No version
// gets a request then: the deployment ends soon, names the rule and how to restore it, and tries no rollback.
func TestNativeRuleThatIsLostIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		act         func(b *stagetest.Bench)
		cause, next string
	}{
		"fixed response": {func(b *stagetest.Bench) { b.Respond() }, "its action is fixed-response", "aws elbv2 describe-rules"},
		"listener": {func(b *stagetest.Bench) { b.DeleteListener() }, "its listener was deleted",
			" --protocol HTTP --port 80 --default-actions Type=forward,TargetGroupArn=arn:aws:"},
		"load balancer": {deleteBalancer, "its load balancer was deleted", "create the rule again"},
	} {
		for _, after := range []time.Duration{time.Second, 100 * time.Second, 290 * time.Second, 310 * time.Second} {
			t.Run(name+" after "+after.String(), func(t *testing.T) {
				configuration := stagetest.Strategies["BLUE_GREEN"] // it bakes for 300 s
				stagetest.RunNative(t, configuration, func(b *stagetest.Bench) {
					id := b.Start(b.NativeFiles("sim/web:v2", configuration))
					var acted time.Time
					b.Clock.Go(func() {
						b.UntilStage("BAKE_TIME")
						b.Sleep(after)
						c.act(b)
						acted = b.Clock.Now()
					})
					end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
					if took := b.Clock.Now().Sub(acted); took > 2*time.Minute || end.Outcome != sluice.Failed ||
						!strings.Contains(end.Cause, c.cause) || !strings.Contains(end.Next, c.next) ||
						strings.Contains(b.EventLog(), "StopServiceDeployment") {
						b.Errorf("%s after %s: %s\nnext: %s\n%s", end.Outcome, took, end.Cause, end.Next, b.EventLog())
					}
				})
			})
		}
	}
}

func deleteBalancer(b *stagetest.Bench) {
	ctx := context.Background()
	all := stagetest.Got(b.ELB.DescribeLoadBalancers(ctx, &awselb.DescribeLoadBalancersInput{}))(b)
	stagetest.Got(b.ELB.DeleteLoadBalancer(ctx, &awselb.DeleteLoadBalancerInput{
		LoadBalancerArn: all.LoadBalancers[0].LoadBalancerArn}))(b)
}

// A service that leaves a strategy of ECS's own is told where its tasks start: in the group of the pair that serves.
func TestLeavingAStrategyNamesTheGroupThatServes(t *testing.T) {
	configuration := stagetest.Strategies["CANARY"]
	stagetest.RunNative(t, configuration, func(b *stagetest.Bench) {
		for _, c := range []struct{ image, group string }{{"sim/web:v2", "web-primary"}, {"sim/web:v3", "web-canary"}} {
			p := stagetest.Got(b.Plan(b.NativeFiles(c.image, "strategy: ROLLING"), mode.Options{}))(b)
			want := "leaves strategy CANARY: the tasks start in target group " + c.group + ", which gets the production requests"
			if all := strings.Join(p.Warnings, "\n"); !strings.Contains(all, want) {
				b.Errorf("warnings: %s; want %s", all, want)
			}
			b.Deploy(b.NativeFiles("sim/web:v2", configuration))
		}
		if end := b.Deploy(b.NativeFiles("sim/web:v3", "strategy: ROLLING")); end.Outcome != sluice.Succeeded {
			b.Errorf("%s: %s", end.Outcome, end.Cause)
		}
		if got := b.CallersGet(); !strings.HasPrefix(got, "v3 ") {
			b.Errorf("callers get %s", got)
		}
	})
}
