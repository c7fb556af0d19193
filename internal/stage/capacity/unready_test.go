package capacity_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// Tasks that were healthy when a stage ended may be gone when the next one begins. No
// weight moves to their target group until all of them are healthy again (P4).
func TestNoWeightUntilItsTasksAreHealthyAgain(t *testing.T) {
	const (
		toCanary = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}
    - {name: WAIT_APPROVAL}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 50}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
    - {name: ECS_CANARY_CLEAN}
`
		backByRouting = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 100}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 100}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: WAIT_APPROVAL}
    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
    - {name: ECS_CANARY_CLEAN}
`
		backByClean = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 100}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 100}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: WAIT_APPROVAL}
    - {name: ECS_CANARY_CLEAN}
`
	)
	for hosting, on := range map[string]func(testing.TB, func(*stagetest.Bench)){"task sets": stagetest.RunPlain,
		"services": stagetest.RunRolling} {
		for name, c := range map[string]struct {
			pipeline string
			gate     int // the stage that waits for the approval
			stops    sluice.Variant
		}{
			"the canary":                          {toCanary, 1, sluice.Canary},
			"the primary, by ECS_TRAFFIC_ROUTING": {backByRouting, 3, sluice.Primary},
			"the primary, by ECS_CANARY_CLEAN":    {backByClean, 3, sluice.Primary},
		} {
			t.Run(name+"/"+hosting, func(t *testing.T) {
				t.Parallel()
				on(t, func(b *stagetest.Bench) {
					files := b.Files("sim/web:v2", c.pipeline)
					if hosting == "services" {
						files = b.CanaryServiceFiles("sim/web:v2", c.pipeline, "")
					}
					id := b.RunToApproval(files)
					stopTasks(b, c.stops, hosting)
					healthy := healthyAtShift(b, c.stops)
					stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, "approve", c.gate, "ann"))
					end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
					if end.Outcome != sluice.Succeeded {
						b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
					}
					if want := map[sluice.Variant]int{sluice.Canary: 2, sluice.Primary: 4}[c.stops]; *healthy != want {
						b.Errorf("%d targets were healthy when the weight moved, want %d\n%s", *healthy, want,
							b.EventLog())
					}
					b.ExpectNoneLost()
				})
			})
		}
	}
}

// stopTasks stops every task of a variant. ECS starts others.
func stopTasks(b *stagetest.Bench, v sluice.Variant, hosting string) {
	b.Helper()
	in := &awsecs.ListTasksInput{Cluster: aws.String("prod")}
	switch {
	case hosting == "task sets":
		in.StartedBy = b.TaskSetID(v == sluice.Primary)
	case v == sluice.Canary:
		in.ServiceName = aws.String("web-canary")
	default:
		in.ServiceName = aws.String("web")
	}
	arns := stagetest.Got(b.ECS.ListTasks(context.Background(), in))(b).TaskArns
	if len(arns) == 0 {
		b.Fatalf("the %s has no task to stop", v)
	}
	for _, arn := range arns {
		stagetest.Got(b.ECS.StopTask(context.Background(), &awsecs.StopTaskInput{Cluster: aws.String("prod"),
			Task: aws.String(arn)}))(b)
	}
}

// healthyAtShift is how many targets of a variant are healthy when the next share is reported
// that sends requests to it; -1 until then.
func healthyAtShift(b *stagetest.Bench, v sluice.Variant) *int {
	healthy, before := new(int), b.Engine.OnEvent
	*healthy = -1
	b.Engine.OnEvent = func(e sluice.Envelope) {
		before(e)
		shifted, ok := e.Open().(sluice.TrafficShifted)
		if !ok || *healthy >= 0 {
			return
		}
		group, share := b.Primary, shifted.ToPrimary
		if v == sluice.Canary {
			group, share = b.Canary, shifted.ToCanary
		}
		if share > 0 {
			*healthy = b.Healthy(group)
		}
	}
	return healthy
}
