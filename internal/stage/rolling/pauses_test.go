package rolling_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

const (
	withoutPause = "strategy: BLUE_GREEN, bakeTimeInMinutes: 1, lifecycleHooks: []"
	withPause    = "strategy: BLUE_GREEN, bakeTimeInMinutes: 1, lifecycleHooks: [{targetType: PAUSE, " +
		"lifecycleStages: [POST_SCALE_UP], timeoutConfiguration: {timeoutInMinutes: 30, action: CONTINUE}}]"
)

// The files drop the hook at which ECS waited for a person. A rollback does not bring it back: it would wait while callers
// get the version that is rolled back. A hook that the service has now stays, and the rollback says that it waits there.
func TestRollbackAddsNoPause(t *testing.T) {
	for name, c := range map[string]struct {
		after string
		told  string
		hooks int
	}{
		"dropped": {withoutPause, "the rollback leaves out the hook at which ECS waited for a person before (POST_SCALE_UP)", 0},
		"kept":    {withPause, "ECS pauses this rollback at a hook of the service (POST_SCALE_UP), until it is answered", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stagetest.RunNative(t, withPause, func(b *stagetest.Bench) {
				ctx := context.Background()
				end := b.Deploy(b.NativeFiles("sim/web:v2", c.after))
				if end.Outcome != sluice.Succeeded {
					b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
				b.Events = nil
				stagetest.Must(b, b.Engine.SendCommand(ctx, end.Deployment.ID, journal.Rollback, 0, "ann"))
				stagetest.Must(b, b.Engine.Reopen(ctx, end.Deployment.ID))
				end = stagetest.Got(b.Engine.Run(ctx, end.Deployment.ID, engine.Options{}))(b)
				log := b.EventLog()
				if end.Outcome != sluice.RolledBack || b.RollingState() != stagetest.RolledV1 || !strings.Contains(log, c.told) {
					b.Errorf("%s: %s; %s\n%s", end.Outcome, end.Cause, b.RollingState(), log)
				}
				if waits := strings.Contains(log, "awaits an answer"); waits != (c.hooks > 0) {
					b.Errorf("the rollback waits for a person: %t\n%s", waits, log)
				}
				live := stagetest.Got(b.ECS.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
					Services: []string{"web"}}))(b).Services[0]
				var hooks []ecstypes.DeploymentLifecycleHook
				if live.DeploymentConfiguration != nil {
					hooks = live.DeploymentConfiguration.LifecycleHooks
				}
				if len(hooks) != c.hooks {
					b.Errorf("%d hooks, want %d", len(hooks), c.hooks)
				}
			})
		})
	}
}
