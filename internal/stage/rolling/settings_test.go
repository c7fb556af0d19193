package rolling_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// UpdateService keeps a member of the deployment configuration that a request lacks: a rollback sets back what the
// former version did not have.
func TestRollbackSetsDeploymentSettingsBack(t *testing.T) {
	for name, settings := range map[string]string{
		"bake time":     "bakeTimeInMinutes: 2",
		"alarms":        "alarms: {alarmNames: [web-errors], enable: true, rollback: true}",
		"early success": "minimumHealthyPercent: 50\n  earlySuccessCriteria: {enable: true, healthyPercent: 75, sourceServiceRevisionCleanup: BLOCKING}",
	} {
		t.Run(name, func(t *testing.T) {
			testSettingsBack(t, settings, "sim/web:v2", sluice.Succeeded)
		})
		t.Run(name+", ECS rolls back", func(t *testing.T) {
			testSettingsBack(t, settings, "sim/web:v2-crash-after-5s-exit-3", sluice.RolledBack)
		})
	}
}

func testSettingsBack(t *testing.T, settings, image string, want sluice.Outcome) {
	ctx := context.Background()
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		read := func() ecstypes.DeploymentConfiguration {
			return *stagetest.Got(b.ECS.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
				Services: []string{"web"}}))(b).Services[0].DeploymentConfiguration
		}
		id := b.Start(b.RollingFiles(image, "deploymentConfiguration:\n  deploymentCircuitBreaker: {enable: true, rollback: true}\n  "+
			settings+"\n"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome != want {
			b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		if want == sluice.Succeeded {
			stagetest.Must(b, b.Clock.Sleep(ctx, time.Minute))
			stagetest.Must(b, b.Engine.Reopen(ctx, id))
			stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
			end = stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		}
		c := read()
		if end.Outcome != sluice.RolledBack || b.RollingState() != stagetest.RolledV1 || aws.ToInt32(c.BakeTimeInMinutes) != 0 ||
			c.Alarms != nil && c.Alarms.Enable || c.EarlySuccessCriteria != nil && c.EarlySuccessCriteria.Enable {
			b.Errorf("%s: %s; %s; %+v\n%s", end.Outcome, end.Cause, b.RollingState(), c, b.EventLog())
		}
		if want == sluice.Succeeded {
			b.ExpectNoneLost()
		}
	})
}
