package stage_test

import (
	"context"
	"strings"
	"testing"
	"time"

	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// Another process takes the rule of callers away while ECS's own strategy bakes or removes the former tasks. No version gets
// a request then: the deployment ends soon, names the rule and how to restore it, and tries no rollback.
func TestNativeRuleThatIsLostIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		act         func(b *stagetest.Bench)
		cause, next string
	}{
		"fixed response": {func(b *stagetest.Bench) { b.Respond() }, "its action is fixed-response", "aws elbv2 describe-rules"},
		"listener":       {func(b *stagetest.Bench) { b.DeleteListener() }, "its listener was deleted", "create the rule again"},
		"load balancer":  {deleteBalancer, "its listener was deleted", "create the rule again"},
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
