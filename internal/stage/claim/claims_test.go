package claim_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// othersClaim is the claim of a deployment that another machine runs.
const othersClaim = "slc-other 2100-01-01T00:00:00Z"

// claimByOthers sets the claim of another deployment on the service.
func claimByOthers(b *stagetest.Bench) {
	b.Helper()
	stagetest.Got(b.ECS.TagResource(context.Background(),
		&awsecs.TagResourceInput{ResourceArn: b.ServiceARN(),
			Tags: []ecstypes.Tag{{Key: aws.String(plan.ClaimTag), Value: aws.String(othersClaim)}}}))(b)
}

// claimText is the claim on the service.
func claimText(b *stagetest.Bench) string {
	b.Helper()
	out := stagetest.Got(b.ECS.DescribeServices(context.Background(),
		&awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"web"},
			Include:  []ecstypes.ServiceField{ecstypes.ServiceFieldTags}}))(b)
	for _, tag := range out.Services[0].Tags {
		if *tag.Key == plan.ClaimTag {
			return *tag.Value
		}
	}
	return ""
}

// writesSince are the engine's write calls from the nth call on.
func writesSince(b *stagetest.Bench, n int) (writes []string) {
	for _, c := range b.Calls[n:] {
		if c.Write {
			writes = append(writes, c.Operation)
		}
	}
	return writes
}

// Two deployments claim the service at the same moment. The one that reads the other's
// claim back ends without another write, also if later reads lag and show its own claim.
func TestClaimIsReadBack(t *testing.T) {
	for name, lags := range map[string]bool{"reads are current": false, "a later read lags": true} {
		t.Run(name, func(t *testing.T) {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				sent, reads := 0, 0
				b.WatchAttempts(&stagetest.Attempts{After: func(operation string) {
					switch {
					case operation == "TagResource" && sent == 0:
						sent = len(b.Calls) + 1
						// what a later read may repeat
						stagetest.Got(ecs.Service{API: b.ECS, Cluster: "prod",
							Name: "web"}.Observe(context.Background()))(b)
						b.Clock.Go(func() {
							stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Second))
							claimByOthers(b)
						})
					case operation == "DescribeServices" && sent > 0:
						if reads++; reads == 1 && lags {
							stagetest.Must(b, b.Sim.Inject("stale ecs:DescribeServices by=1500ms times=3"))
						}
					}
				}})
				end := b.Deploy(b.Files("sim/web:v2", stagetest.CanaryPipeline))
				b.Sim.ClearFaults()
				if writes := writesSince(b, sent); sent == 0 || len(writes) > 0 {
					b.Errorf("it wrote %v after the claim\n%s", writes, b.EventLog())
				}
				b.ExpectEnd(end, sluice.Superseded, "another deployment owns the claim",
					"PRIMARY sim/web:v1 100% 4 running; tag sluice:deployment; primary 100 canary 0")
				if claimText(b) != othersClaim {
					b.Errorf("the claim is %q", claimText(b))
				}
				b.ExpectNoneLost()
			})
		})
	}
}

// A write that cannot be sent for minutes is not sent after another deployment took the
// service in that time.
func TestWriteIsNotSentOnAClaimReadLongAgo(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ran := b.RunBeside(b.Engine, b.Start(b.Files("sim/web:v2", stagetest.CanaryPipeline)))
		stagetest.Must(b, b.Sim.Inject("no-send ecs:CreateTaskSet for=150s"))
		b.Until("the canary cannot be created", func() bool {
			for _, c := range b.Calls {
				if c.Operation == "CreateTaskSet" && c.Err != nil {
					return true
				}
			}
			return false
		})
		claimByOthers(b)
		b.Until("it is over", func() bool { return ran.Done })
		stagetest.Must(b, ran.Err)
		b.ExpectEnd(ran.RunResult, sluice.Superseded, "slc-other",
			"PRIMARY sim/web:v1 100% 4 running; tag sluice:deployment; primary 100 canary 0")
		if claimText(b) != othersClaim {
			b.Errorf("the claim is %q", claimText(b))
		}
		b.ExpectNoneLost()
	})
}

// A write that AWS throttles for minutes says nothing about the claim: if the claim is
// still ours, the deployment goes on.
func TestWriteThatWaitedLongReadsItsClaimAgain(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ran := b.RunBeside(b.Engine, b.Start(b.Files("sim/web:v2", stagetest.CanaryPipeline)))
		stagetest.Must(b, b.Sim.Inject("throttle ecs:CreateTaskSet for=150s"))
		b.Until("it is over", func() bool { return ran.Done })
		stagetest.Must(b, ran.Err)
		b.ExpectEnd(ran.RunResult, sluice.Succeeded, "", stagetest.ServesV2)
		b.ExpectNoneLost()
	})
}

// Another deployment claims the service after the first read of it, while other reads take long. The claim is read
// again before it is written, and not overwritten.
func TestClaimIsReadAgainAfterSlowReads(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		slow := false
		b.WatchAttempts(&stagetest.Attempts{After: func(operation string) {
			if operation == "DescribeRules" && !slow {
				slow = true
				claimByOthers(b)
				stagetest.Must(b, b.Clock.Sleep(context.Background(), 10*time.Second))
			}
		}})
		end := b.Deploy(b.Files("sim/web:v2", stagetest.CanaryPipeline))
		if !slow || end.Outcome != sluice.Superseded || claimText(b) != othersClaim {
			b.Errorf("%s: %s; the claim is %q\n%s", end.Outcome, end.Cause, claimText(b), b.EventLog())
		}
	})
}
