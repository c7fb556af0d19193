package stage_test

import (
	"context"
	"strings"
	"testing"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// Another tool removes the claim tag while ECS rolls the service: the deployment waits before it ends, and says why.
func TestPauseAfterARemovedClaimIsExplained(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		b.AfterWrite("ecs:UpdateService", 0, func() {
			stagetest.Got(b.ECS.UntagResource(context.Background(), &awsecs.UntagResourceInput{ResourceArn: b.ServiceARN(),
				TagKeys: []string{plan.ClaimTag}}))(b)
		})
		end := b.Deploy(b.RollingFiles("sim/web:v2", stagetest.Breaker))
		if end.Outcome != sluice.Succeeded || !strings.Contains(b.EventLog(), "another process or person removed it") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
	})
}
