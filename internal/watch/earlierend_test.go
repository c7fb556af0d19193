package watch_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
)

// A deployment of what serves has just been started, and somebody stops it: it is rolled back to the same
// revision. The first read is from before it, and by the next one the rollback is over. The success is of the
// deployment before.
func TestRollbackBetweenTwoSlowReadsIsSeen(t *testing.T) {
	for seed := range uint64(60) {
		for _, lag := range []int{1, 3, 6, 9} {
			draw := rand.New(rand.NewPCG(seed, 1))
			latency := func() time.Duration { return time.Duration(draw.IntN(200*int(seed)+1)) * time.Millisecond }
			on(t, options{}, func(b *bench) {
				b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
				b.deploy("web", "")
				b.until("the end of a deployment", func() bool { return b.service("web").Deployments[0].RolloutState == "COMPLETED" })
				b.deploy("web", "")
				forced := aws.ToString(b.service("web").CurrentServiceDeployment)
				_, err := b.ecs.StopServiceDeployment(context.Background(), &awsecs.StopServiceDeploymentInput{
					ServiceDeploymentArn: aws.String(forced), StopType: ecstypes.StopServiceDeploymentStopTypeRollback})
				must(b, err)
				must(b, b.sim.Inject(fmt.Sprintf("stale ecs:* by=%ds", lag)))
				j, calls := b.judge(b.slowCalls(latency))
				r := request("web:1")
				r.JustStarted, r.Timeout = true, 10*time.Minute
				if v, err := j.Wait(context.Background(), r); err != nil || v.Outcome != sluice.RolledBack {
					t.Errorf("seed %d, lag %d s: %s %v\n%s\n%q", seed, lag, v.Outcome, err, b.story(), *calls)
				}
			})
		}
	}
}

// slowCalls delays each call on its way to AWS, and on its way back.
func (b *bench) slowCalls(by func() time.Duration) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("slow",
			func(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (
				middleware.SerializeOutput, middleware.Metadata, error) {
				if err := b.clock.Sleep(ctx, by()/3); err != nil {
					return middleware.SerializeOutput{}, middleware.Metadata{}, err
				}
				out, data, err := next.HandleSerialize(ctx, in)
				return out, data, cmp.Or(err, b.clock.Sleep(ctx, by()))
			}), middleware.Before)
	}
}
