package stage_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

func TestBlueGreenKeepsTheOldPrimaryUntilTheClean(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", stagetest.BlueGreenPipeline))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		if want := "ACTIVE sim/web:v1 100% 4 running; ACTIVE sim/web:v2 100% 4 running; PRIMARY sim/web:v2 100% 4 " +
			"running; tag sluice:deployment; primary 0 canary 100"; b.State() != want {
			b.Fatalf("%s, want %s\n%s", b.State(), want, b.EventLog())
		}
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Approve, 3, "ann"))
		b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", stagetest.ServesV2)
		b.ExpectNoneLost()
	})
}

// The old primary was kept warm: going back starts no task.
func TestRollbackToAWarmPrimaryStartsNothing(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", stagetest.BlueGreenPipeline))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.Calls = nil
		b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "",
			stagetest.ServesV1)
		b.ExpectNoneLost()
		for _, c := range b.Calls {
			if strings.HasSuffix(c.Operation, "CreateTaskSet") {
				b.Error("a task set was created")
			}
		}
	})
}

func TestQuickSyncRemovesWhatEarlierDeploymentsLeft(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(2)))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Abort, 0, "ann"))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if b.Weights() != "primary 90 canary 10" {
			b.Fatalf("the aborted deployment left %s", b.State())
		}
		b.ExpectEnd(b.Deploy(b.Files("sim/web:v3", "")), sluice.Succeeded, "",
			"PRIMARY sim/web:v3 100% 4 running; primary 100 canary 0")
		b.ExpectNoneLost()
	})
}

func TestRecreateStopsTheOldTasksFirst(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		end := b.Deploy(b.Files("sim/web:v2", "quickSync: {recreate: true}\n"))
		b.ExpectEnd(end, sluice.Succeeded, "", stagetest.ServesV2)
		if r := b.Tally.Report(); r.Failed == 0 {
			b.Error("no request was lost: the old tasks did not stop first")
		}
	})
}

// At canary time nothing is written that the running primary would notice.
func TestCanaryRolloutLeavesTheServiceAlone(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		files := b.Files("sim/web:v2", stagetest.PipelineHeldAfter(1))
		files["servicedef.yaml"] = &fstest.MapFile{Data: append(files["servicedef.yaml"].Data,
			[]byte("desiredCount: 8\nenableExecuteCommand: true\nhealthCheckGracePeriodSeconds: 30\n")...)}
		files["taskdef.yaml"] = &fstest.MapFile{Data: append(files["taskdef.yaml"].Data,
			[]byte("taskRoleArn: arn:aws:iam::123456789012:role/web\n")...)}
		stagetest.Got(b.Engine.Run(context.Background(), b.Start(files), engine.Options{NoWait: true}))(b)
		s := stagetest.Got(b.ECS.DescribeServices(context.Background(),
			&awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
				Services: []string{"web"}}))(b).Services[0]
		if s.DesiredCount != 4 || s.EnableExecuteCommand || aws.ToInt32(s.HealthCheckGracePeriodSeconds) != 0 {
			b.Errorf("desired %d, exec %v, grace %d", s.DesiredCount, s.EnableExecuteCommand,
				aws.ToInt32(s.HealthCheckGracePeriodSeconds))
		}
	})
}

// What the deployment changed of the service comes back with the rollback.
func TestRollbackRestoresTheService(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		files := b.Files("sim/web:v2", stagetest.PipelineHeldAfter(4))
		files["servicedef.yaml"] = &fstest.MapFile{Data: append(files["servicedef.yaml"].Data,
			[]byte("desiredCount: 6\nhealthCheckGracePeriodSeconds: 30\n")...)}
		id := b.Start(files)
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "",
			stagetest.ServesV1)
		s := stagetest.Got(b.ECS.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"web"}}))(b).Services[0]
		if s.DesiredCount != 4 || aws.ToInt32(s.HealthCheckGracePeriodSeconds) != 0 {
			b.Errorf("desired %d, grace %d", s.DesiredCount, aws.ToInt32(s.HealthCheckGracePeriodSeconds))
		}
		b.ExpectNoneLost()
	})
}
