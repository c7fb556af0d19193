package stage_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// A person changes the desired count that the file sets while no process runs, at each write of a pipeline and of a
// quick sync: the policy decides as it does while a process runs (docs/reference/external-changes.md). The count is not
// taken back without a word.
func TestChangedCountWhileNoProcessRuns(t *testing.T) {
	for policy, pipeline := range map[string]string{"stop": stagetest.CanaryPipeline, "adopt": stagetest.CanaryPipeline,
		"reassert": stagetest.CanaryPipeline, "quick sync": ""} {
		t.Run(policy, func(t *testing.T) {
			for n, more := 1, true; more; n++ {
				stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
					more = testChangedCount(b, policy, pipeline, n)
				})
			}
		})
	}
}

// In a rolling update and in ECS's own strategies, a count that others set is kept and told, whenever they set it.
func TestChangedCountOfServicesThatECSUpdates(t *testing.T) {
	const blueGreen = "strategy: BLUE_GREEN, bakeTimeInMinutes: 1"
	for name, c := range map[string]struct {
		run   func(f func(*stagetest.Bench))
		files func(b *stagetest.Bench) fstest.MapFS
	}{
		"rolling": {func(f func(*stagetest.Bench)) { stagetest.RunRolling(t, f) },
			func(b *stagetest.Bench) fstest.MapFS {
				return b.RollingFiles("sim/web:v2", stagetest.Breaker+"desiredCount: 5\n")
			}},
		"BLUE_GREEN": {func(f func(*stagetest.Bench)) { stagetest.RunNative(t, blueGreen, f) },
			func(b *stagetest.Bench) fstest.MapFS {
				files := b.NativeFiles("sim/web:v2", blueGreen)
				files["servicedef.yaml"].Data = bytes.Replace(files["servicedef.yaml"].Data, []byte("desiredCount: 4"),
					[]byte("desiredCount: 5"), 1)
				return files
			}},
	} {
		for n, more := 1, true; more; n++ {
			c.run(func(b *stagetest.Bench) {
				id := b.Start(c.files(b))
				at := killAndScale(b, id, n)
				if more = at != ""; !more {
					return
				}
				end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				b.ExpectNoneLost()
				s := describeWeb(b)
				if state := fmt.Sprintf("%s, %d desired, %d running: %s", end.Outcome, s.DesiredCount, s.RunningCount,
					end.Cause); state != "succeeded, 8 desired, 8 running: desired count changed from 5 to 8 by others" {
					b.Errorf("%s, killed %s (write %d): %s\n%s", name, at, n, state, b.EventLog())
				}
			})
		}
	}
}

// With onOutsideChange: reassert, a rolling update sets the count of the file although others set another before it.
func TestReassertedCountOfARollingUpdate(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		files := b.RollingFiles("sim/web:v2", stagetest.Breaker+"desiredCount: 5\n")
		files["sluice.yaml"].Data = append(files["sluice.yaml"].Data, "\nonOutsideChange: reassert\n"...)
		id := b.Start(files)
		if at := killAndScale(b, id, 2); !strings.HasSuffix(at, "RegisterTaskDefinition") {
			b.Fatalf("killed %s", at)
		}
		end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		s := describeWeb(b)
		if state := fmt.Sprintf("%s, %d desired, %d running: %s", end.Outcome, s.DesiredCount, s.RunningCount,
			end.Cause); state != "succeeded, 5 desired, 5 running: " {
			b.Errorf("%s\n%s", state, b.EventLog())
		}
		b.ExpectNoneLost()
	})
}

// testChangedCount kills the process after its n-th write, and reports whether there was one.
func testChangedCount(b *stagetest.Bench, policy, pipeline string, n int) bool {
	files := b.Files("sim/web:v2", pipeline)
	if pipeline != "" {
		text := strings.Replace(string(files["sluice.yaml"].Data), "input:\n", "onOutsideChange: "+policy+"\ninput:\n", 1)
		files["sluice.yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	files["servicedef.yaml"] = &fstest.MapFile{Data: append(files["servicedef.yaml"].Data, "desiredCount: 4\n"...)}
	id := b.Start(files)
	at := killAndScale(b, id, n)
	if at == "" {
		return false
	}
	end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
	b.ExpectNoneLost()
	s := describeWeb(b)
	state := fmt.Sprintf("%s, %d desired, %d running", end.Outcome, s.DesiredCount, s.RunningCount)
	told := strings.Contains(b.EventLog(), "the desired count was set from 4 to 8")
	want := map[string]string{"reassert": "succeeded, 4 desired, 4 running", "adopt": "succeeded, 8 desired, 8 running",
		"stop": "rolled back, 8 desired, 8 running", "quick sync": "rolled back, 8 desired, 8 running"}[policy]
	if hadEnded := strings.HasSuffix(at, "UntagResource"); !hadEnded && (!told || state != want) {
		b.Errorf("killed after write %d (%s): %s, want %s; the change is told: %t; %s\n%s", n, at, state, want, told, end.Cause,
			b.EventLog())
	}
	return true
}

// killAndScale runs a deployment until it is killed after its n-th write, and sets the desired count to 8. It returns
// where it was killed; empty: there was no such write.
func killAndScale(b *stagetest.Bench, id string, n int) (at string) {
	ctx := context.Background()
	g := b.KillAtWrite(n, true)
	at = b.RunUntilKilled(id)
	g.Left = -1
	if at != "" {
		stagetest.Got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("web"), DesiredCount: aws.Int32(8)}))(b)
		stagetest.Must(b, b.Clock.Sleep(ctx, time.Minute))
	}
	return at
}

func describeWeb(b *stagetest.Bench) ecstypes.Service {
	return stagetest.Got(b.ECS.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{
		Cluster: aws.String("prod"), Services: []string{"web"}}))(b).Services[0]
}
