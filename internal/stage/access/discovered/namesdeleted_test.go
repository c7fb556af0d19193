package discovered_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// deleteName deletes the Cloud Map service of the name, as another process may: its
// instances first, which AWS asks for.
func deleteName(b *stagetest.NameBench) {
	b.Helper()
	ctx, name := context.Background(), aws.String("srv-0123456789abcdef")
	for _, i := range stagetest.Got(b.Discovery.ListInstances(ctx,
		&awssd.ListInstancesInput{ServiceId: name}))(b).Instances {
		stagetest.Got(b.Discovery.DeregisterInstance(ctx,
			&awssd.DeregisterInstanceInput{ServiceId: name, InstanceId: i.Id}))(b)
	}
	stagetest.Must(b, b.Clock.Sleep(ctx, time.Minute))
	stagetest.Got(b.Discovery.DeleteService(ctx, &awssd.DeleteServiceInput{Id: name}))(b)
}

// Another process deletes the Cloud Map service during a deployment. The rollback removes
// what it can, says what it cannot restore and fails; a rollback after that ends and says
// that nobody resolves the name, where the old version still stands. Else the new one
// stays: ECS starts nothing under a name that is gone.
func TestRollbackAfterTheNameWasDeleted(t *testing.T) {
	const arn = "service/srv-0123456789abcdef"
	for _, controller := range []string{"EXTERNAL", "ECS"} {
		for after, stays := range map[int]string{1: "PRIMARY sim/api:v1?term=80s 4", 3: "PRIMARY sim/api:v2 4"} {
			t.Run(fmt.Sprintf("%s after stage %d", controller, after), func(t *testing.T) {
				t.Parallel()
				stagetest.RunByName(t, stagetest.Named{Controller: controller, Image: "?term=80s"},
					func(b *stagetest.NameBench) {
						ctx := context.Background()
						id := b.Start(b.NamedFiles("sim/api:v2", heldAfter(stagetest.NamedBlueGreen, after)))
						stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
						deleteName(b)
						stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Approve, after, "ann"))
						end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
						sets := b.TaskSets()
						if end.Outcome != sluice.Failed || !strings.Contains(end.Cause, arn) ||
							!strings.Contains(end.Next, "sluice rollback "+id) || controller == "EXTERNAL" &&
							sets != stays {
							b.Errorf("%s: %s; next: %s\n%s\n%s", end.Outcome, end.Cause, end.Next, sets, b.EventLog())
						}
						stagetest.Must(b, b.Engine.Reopen(ctx, id))
						stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
						if end = stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b); after == 1 &&
							(end.Outcome != sluice.Failed || !strings.Contains(end.Cause, "api:1 runs again, but the Cloud Map "+
								"service srv-0123456789abcdef does not exist")) {
							b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
						}
					})
			})
		}
	}
}
