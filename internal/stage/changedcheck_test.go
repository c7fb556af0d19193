package stage_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// Another process or person changes the health check of the target group during a deployment, and no target passes it any
// more: the cause names the change, whatever way the tasks are started. The targets of a canary fail in their own group.
func TestHealthCheckThatWasChangedIsNamed(t *testing.T) {
	change := func(b *stagetest.Bench, group string) {
		b.AfterWrite("ecs:RegisterTaskDefinition", 0, func() {
			stagetest.Got(b.ELB.ModifyTargetGroup(context.Background(), &awselb.ModifyTargetGroupInput{
				TargetGroupArn: aws.String(group), HealthCheckPort: aws.String("9999"), HealthCheckPath: aws.String("/x")}))(b)
		})
	}
	want := func(b *stagetest.Bench, cause, next, group string) {
		b.Helper()
		text := "the health check of " + group + " was changed during the deployment: path / → /x, port " +
			"traffic-port → 9999"
		if !strings.Contains(cause, text) || !strings.Contains(next, "former health check") {
			b.Errorf("cause %q, want %q; next: %s\n%s", cause, text, next, b.EventLog())
		}
	}
	t.Run("task sets", func(t *testing.T) {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			change(b, b.Canary)
			end := b.Deploy(b.Files("sim/web:v2", stagetest.CanaryPipeline))
			want(b, end.Cause, end.Next, sluice.TargetGroupName(b.Canary))
		})
	})
	t.Run("rolling", func(t *testing.T) {
		stagetest.RunRolling(t, func(b *stagetest.Bench) {
			change(b, b.Primary)
			end := b.Deploy(b.RollingFiles("sim/web:v2", stagetest.Breaker))
			want(b, end.Cause, end.Next, sluice.TargetGroupName(b.Primary))
		})
	})
}
