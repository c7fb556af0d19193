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
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// A deployment of what serves has just been started, and somebody stops it: it is rolled back to the same
// revision. The first read is from before it, and by the next one the rollback is over. The success is of the
// deployment before.
func TestRollbackBetweenTwoSlowReadsIsSeen(t *testing.T) {
	for seed := range uint64(60) {
		for _, lag := range []int{1, 3, 6, 9} {
			draw := rand.New(rand.NewPCG(seed, 1))
			latency := func() time.Duration { return time.Duration(draw.IntN(200*int(seed)+1)) * time.Millisecond }
			slow := func(string) (there, back time.Duration) { return latency() / 3, latency() }
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
				j, calls := b.judge(b.slowCalls(slow))
				r := request("web:1")
				r.JustStarted, r.Timeout = true, 10*time.Minute
				if v, err := j.Wait(context.Background(), r); err != nil || v.Outcome != sluice.RolledBack {
					t.Errorf("seed %d, lag %d s: %s %v\n%s\n%q", seed, lag, v.Outcome, err, b.story(), *calls)
				}
			})
		}
	}
}

// slowCalls delays each call of an operation on its way to AWS, and on its way back.
func (b *bench) slowCalls(by func(operation string) (there, back time.Duration)) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("slow",
			func(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (
				middleware.SerializeOutput, middleware.Metadata, error) {
				there, back := by(middleware.GetOperationName(ctx))
				if err := b.clock.Sleep(ctx, there); err != nil {
					return middleware.SerializeOutput{}, middleware.Metadata{}, err
				}
				out, data, err := next.HandleSerialize(ctx, in)
				return out, data, cmp.Or(err, b.clock.Sleep(ctx, back))
			}), middleware.Before)
	}
}

// A CodeDeploy deployment has just been created, and a hook of it will fail. The first reads are from before it: they
// show the deployment before, which succeeded.
func TestCodeDeploymentBeforeTheOneJustCreated(t *testing.T) {
	for _, lag := range []int{0, 2, 5, 8} {
		for name, w := range map[string]verdict.Wanted{"the newest": {}, "its revision again": {Revision: "web:2", JustStarted: true}} {
			t.Run(fmt.Sprintf("%s, %ds", name, lag), func(t *testing.T) {
				onCode(t, codeOptions{seed: 21, group: onFailure}, func(b *codeBench) {
					arn := b.bringable("sim/web:v2")
					b.finishes(b.start(arn, ""))
					b.sleep(30 * time.Second)
					if lag > 0 {
						must(b, b.sim.Inject(fmt.Sprintf("stale *:* by=%ds", lag)))
					}
					got(b.watch.PollCodeDeploy(context.Background(), "prod", "web"))(b) // what the stale reads return
					id := b.start(arn, "", "AfterAllowTraffic", "refuse")
					b.sleep(time.Duration(lag) * time.Second)
					v := b.follow(w)
					b.is(v, sluice.RolledBack, "web:2", diagnosis.HookFailed)
					if v.Deployment != id {
						t.Errorf("it followed %s, not %s", v.Deployment, id)
					}
				})
			})
		}
	}
}

// The first reads of CodeDeploy are from before the end of a deployment: they show it in progress. Another one has
// been created since.
func TestCodeDeploymentThatEndedBeforeAnother(t *testing.T) {
	onCode(t, codeOptions{seed: 22, group: onFailure}, func(b *codeBench) {
		arn := b.bringable("sim/web:v2")
		b.start(arn, "")
		var id string
		b.until("another deployment is accepted", func() (accepted bool) {
			_, err := b.watch.PollCodeDeploy(context.Background(), "prod", "web") // what the stale reads return
			must(b, err)
			id, err = b.create(arn, "", "AfterAllowTraffic", "refuse")
			return err == nil
		})
		must(b, b.sim.Inject("stale *:* by=8s"))
		v := b.follow(verdict.Wanted{})
		b.is(v, sluice.RolledBack, "web:2", diagnosis.HookFailed)
		if v.Deployment != id {
			t.Errorf("it followed %s, not %s", v.Deployment, id)
		}
	})
}
