package stage_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
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

// testChangedCount kills the process after its n-th write, and reports whether there was one.
func testChangedCount(b *stagetest.Bench, policy, pipeline string, n int) bool {
	ctx := context.Background()
	files := b.Files("sim/web:v2", pipeline)
	if pipeline != "" {
		text := strings.Replace(string(files["sluice.yaml"].Data), "input:\n", "onOutsideChange: "+policy+"\ninput:\n", 1)
		files["sluice.yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	files["servicedef.yaml"] = &fstest.MapFile{Data: append(files["servicedef.yaml"].Data, "desiredCount: 4\n"...)}
	id := b.Start(files)
	g := b.KillAtWrite(n, true)
	at := b.RunUntilKilled(id)
	g.Left = -1
	if at == "" {
		return false
	}
	stagetest.Got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"), Service: aws.String("web"),
		DesiredCount: aws.Int32(8)}))(b)
	stagetest.Must(b, b.Clock.Sleep(ctx, time.Minute))
	end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
	s := stagetest.Got(b.ECS.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}}))(b).Services[0]
	state := fmt.Sprintf("%s, %d desired, %d running", end.Outcome, s.DesiredCount, s.RunningCount)
	told := strings.Contains(b.EventLog(), "desired count")
	switch {
	case strings.HasSuffix(at, "UntagResource"): // the deployment had ended
		return true
	case !told:
	case policy == "reassert" && state == "succeeded, 4 desired, 4 running":
		return true
	case policy == "adopt" && end.Outcome == sluice.Succeeded && s.DesiredCount == 8:
		return true
	case s.DesiredCount == 8 && s.RunningCount == 8 && (policy == "stop" || policy == "quick sync"):
		return true
	}
	b.Errorf("killed after write %d (%s): %s; the change is told: %t; %s\n%s", n, at, state, told, end.Cause, b.EventLog())
	return true
}
