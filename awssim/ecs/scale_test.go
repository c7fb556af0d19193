package ecs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice/awssim/ecs"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

// many fills a world with services of so many tasks each and lets them settle.
func many(tb testing.TB, services, tasks int) *worldtest.Harness {
	tb.Helper()
	b := worldtest.NewHarness(world.Options{LogLimit: 1000})
	room, ctx := ecs.New(b.World), world.WithKey(tb.Context(), worldtest.Key)
	fatal := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	_, err := room.CreateCluster(ctx, &awsecs.CreateClusterInput{ClusterName: aws.String("web")})
	fatal(err)
	_, err = room.RegisterTaskDefinition(ctx, fargate("api", "sim/web:v1"))
	fatal(err)
	for i := range services {
		svc, set := externalInput(int32(tasks)), setInput("api", b.AddGroup(fmt.Sprintf("g%d", i)), 100)
		svc.ServiceName = aws.String(fmt.Sprintf("s%d", i))
		set.Service = svc.ServiceName
		_, err = room.CreateService(ctx, svc)
		fatal(err)
		_, err = room.CreateTaskSet(ctx, set)
		fatal(err)
	}
	b.Run(10 * time.Minute)
	running := 0
	b.Do(func(tx *world.Tx) {
		for _, t := range tx.Tasks.All() {
			if t.IsRunning() {
				running++
			}
		}
	})
	if running != services*tasks {
		tb.Fatalf("%d tasks run, want %d", running, services*tasks)
	}
	return b
}

func TestAnIdleWorldHasNothingDue(t *testing.T) {
	b := many(t, 100, 2)
	if at, ok := b.World.NextDue(); ok {
		t.Errorf("something is due at %s", at)
	}
	b.Run(24 * time.Hour)
}

func TestTenThousandTasksStart(t *testing.T) { many(t, 1000, 10) }

func TestOneServiceOfFiveThousandTasksStarts(t *testing.T) { many(t, 1, 5000) }

func BenchmarkStartTasks(b *testing.B) {
	for range b.N {
		many(b, 100, 10)
	}
}
