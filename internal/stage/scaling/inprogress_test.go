package scaling_test

import (
	"context"
	"testing"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// Another sluice deploys the revision of the files, and a tool removed its claim. Nothing but auto scaling changes then,
// and the deployment in progress decides whether callers get the revision.
func TestOnlyScalingChangesDuringADeployment(t *testing.T) {
	for name, c := range map[string]struct {
		image   string
		more    string // of the service definition
		outcome sluice.Outcome
		cause   string
		state   string
	}{
		"it succeeds": {"sim/web:v2", stagetest.Breaker, sluice.Succeeded, "", stagetest.RolledV2},
		"it fails": {"sim/web:v2?healthy-after=1h&crash-after=2s", stagetest.Breaker, sluice.RolledBack,
			"exit code 1 of container web", stagetest.RolledV1},
		"it fails, and nobody ends it": {"sim/web:v2?healthy-after=1h&crash-after=2s",
			"deploymentConfiguration: {deploymentCircuitBreaker: {enable: false, rollback: false}}\n", sluice.Failed,
			"exit code 1 of container web", "ACTIVE sim/web:v1 COMPLETED 4 running; PRIMARY sim/web:v2?healthy-after=1h&crash-after=2s IN_PROGRESS 0 running"},
	} {
		t.Run(name, func(t *testing.T) {
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				ctx := context.Background()
				b.Scalable(2, 8, sluice.AllSuspended)
				b.LeaveToECS(c.image, c.more)
				stagetest.Got(b.ECS.UntagResource(ctx, &awsecs.UntagResourceInput{ResourceArn: b.ServiceARN(),
					TagKeys: []string{plan.ClaimTag}}))(b)
				stagetest.Must(b, b.Journal.Close())
				b.Journal = stagetest.Got(journal.Open(journal.Memory, b.Clock))(b) // of another machine
				b.Engine.Journal = b.Journal
				b.Deployments = 7
				lo := 3
				p := stagetest.Got(planScaled(b, b.RollingFiles(c.image, c.more),
					appfile.Scaling{Resume: true, Min: &lo}))(b)
				if len(p.Stages) != 1 || p.Stages[0].Name != plan.StageScaling {
					b.Fatalf("stages %+v for %+v, want only the one of auto scaling", p.Stages, p.Changes)
				}
				id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
				b.ExpectRolled(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), c.outcome, c.cause, c.state)
			})
		})
	}
}
