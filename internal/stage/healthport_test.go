package stage_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// The health check of the target group moves to another port while the tasks start, and every target fails it. The
// failure names that port and the former one, and the next step is about it and not about the port of the program.
func TestHealthCheckOnAnotherPortIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		run   func(testing.TB, func(*stagetest.Bench))
		files func(*stagetest.Bench) fstest.MapFS
	}{
		"task sets": {stagetest.RunPlain, func(b *stagetest.Bench) fstest.MapFS { return b.Files("sim/web:v2", "") }},
		"rolling, tasks fail": {stagetest.RunRolling, func(b *stagetest.Bench) fstest.MapFS {
			return b.RollingFiles("sim/web:v2", "")
		}},
		"rolling, stalled": {stagetest.RunRolling, func(b *stagetest.Bench) fstest.MapFS {
			return b.RollingFiles("sim/web:v2", "healthCheckGracePeriodSeconds: 3600\n")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c.run(t, func(b *stagetest.Bench) {
				files := stagetest.AddLines(c.files(b), "sluice.yaml", "planner: {autoRollback: false}\n")
				id := b.Start(files)
				b.OnEvent(func(e sluice.Event) bool {
					x, ok := e.(sluice.CapacityChanged)
					return ok && x.Variant == sluice.Primary && x.Pending > 0
				}, func() {
					stagetest.Got(b.ELB.ModifyTargetGroup(context.Background(), &awselb.ModifyTargetGroupInput{
						TargetGroupArn: aws.String(b.Primary), HealthCheckPort: aws.String("9999")}))(b)
				})
				end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				if strings.Count(end.Cause, "on port 9999") != 1 || !strings.Contains(end.Next, "restore its former health check") {
					b.Errorf("%s: %s\nnext: %s\n%s", end.Outcome, end.Cause, end.Next, b.EventLog())
				}
			})
		})
	}
}
