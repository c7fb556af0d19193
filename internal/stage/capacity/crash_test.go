package capacity_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// The first crash of a canary is told at the poll after it. ECS needs seconds more to stop the task, and its exit code is
// known before that.
func TestFirstCrashIsToldAtThePollAfterIt(t *testing.T) {
	const poll = 4 * time.Second // the longest pause while tasks start, with a read of AWS
	for _, after := range []int{1, 4, 9, 14, 20, 35} {
		image := fmt.Sprintf("sim/web:v2?healthy-after=1h&exit=3&crash-after=%ds", after)
		pipeline := stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.PrimaryRollout,
			stagetest.ShiftBack, stagetest.CleanCanary)
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			expectToldWithin(b, "web", poll, func() { b.Deploy(b.Files(image, pipeline)) })
		})
		stagetest.RunRolling(t, func(b *stagetest.Bench) {
			expectToldWithin(b, "web-canary", poll, func() { b.Deploy(b.CanaryServiceFiles(image, pipeline, stagetest.Breaker)) })
		})
	}
}

// expectToldWithin deploys, and compares the first failure that is told with the first task that ECS lists as stopped.
func expectToldWithin(b *stagetest.Bench, service string, limit time.Duration, deploy func()) {
	b.Helper()
	var died, told time.Time
	b.Engine.OnEvent = func(e sluice.Envelope) {
		b.Events = append(b.Events, e)
		if _, ok := e.Open().(sluice.FailureSeen); ok && told.IsZero() {
			told = e.At
		}
	}
	b.Clock.Go(func() {
		for died.IsZero() {
			stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Second))
			out, err := b.ECS.ListTasks(context.Background(), &awsecs.ListTasksInput{Cluster: aws.String("prod"),
				ServiceName: &service, DesiredStatus: "STOPPED"})
			if err == nil && len(out.TaskArns) > 0 {
				died = b.Clock.Now()
			}
		}
	})
	deploy()
	if late := told.Sub(died); told.IsZero() || late > limit {
		b.Errorf("the first crash was told %s after it\n%s", late, b.EventLog())
	}
}
