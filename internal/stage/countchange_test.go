package stage_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// Another process or person changes the desired count while ECS rolls the service: the outcome tells it.
func TestOutcomeTellsAChangedCount(t *testing.T) {
	for want, count := range map[string]int32{"desired count changed from 4 to 6 by others": 6, "": 4} {
		stagetest.RunRolling(t, func(b *stagetest.Bench) {
			b.AfterWrite("ecs:UpdateService", 0, func() {
				stagetest.Got(b.ECS.UpdateService(context.Background(), &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
					Service: aws.String("web"), DesiredCount: aws.Int32(count)}))(b)
			})
			files := b.RollingFiles("sim/web:v2", stagetest.Breaker)
			end := b.Deploy(files)
			if end.Outcome != sluice.Succeeded || !strings.Contains(end.Cause, want) || want == "" && end.Cause != "" {
				b.Errorf("%s: %q, want %q", end.Outcome, end.Cause, want)
			}
		})
	}
}
