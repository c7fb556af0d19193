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
func (b *bench) claimByOthers() {
	b.Helper()
	out := got(b.ECS.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}}))(b)
	got(b.ECS.TagResource(context.Background(), &awsecs.TagResourceInput{ResourceArn: out.Services[0].ServiceArn,
		Tags: []ecstypes.Tag{{Key: aws.String(plan.ClaimTag), Value: aws.String(othersClaim)}}}))(b)
}

// claimed is the claim on the service.
func (b *bench) claimed() string {
	b.Helper()
	out := got(b.ECS.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
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
func (b *bench) writesSince(n int) (writes []string) {
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
			on(t, options{}, func(b *bench) {
				sent, reads := 0, 0
				b.WatchAttempts(&stagetest.Attempts{After: func(operation string) {
					switch {
					case operation == "TagResource" && sent == 0:
						sent = len(b.Calls) + 1
						// what a later read may repeat
						got(ecs.Service{API: b.ECS, Cluster: "prod", Name: "web"}.Observe(context.Background()))(b)
						b.Clock.Go(func() {
							must(b, b.Clock.Sleep(context.Background(), time.Second))
							b.claimByOthers()
						})
					case operation == "DescribeServices" && sent > 0:
						if reads++; reads == 1 && lags {
							must(b, b.Sim.Inject("stale ecs:DescribeServices by=1500ms times=3"))
						}
					}
				}})
				end := b.Deploy(b.Files("sim/web:v2", canaryPipeline))
				b.Sim.ClearFaults()
				if writes := b.writesSince(sent); sent == 0 || len(writes) > 0 {
					b.Errorf("it wrote %v after the claim\n%s", writes, b.EventLog())
				}
				b.ExpectEnd(end, sluice.Superseded, "another deployment owns the claim",
					"PRIMARY sim/web:v1 100% 4 running; tag sluice:deployment; primary 100 canary 0")
				if b.claimed() != othersClaim {
					b.Errorf("the claim is %q", b.claimed())
				}
				b.ExpectNoneLost()
			})
		})
	}
}

// A write that cannot be sent for minutes is not sent after another deployment took the
// service in that time.
func TestWriteIsNotSentOnAClaimReadLongAgo(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ran := b.RunBeside(b.Engine, b.Start(b.Files("sim/web:v2", canaryPipeline)))
		must(b, b.Sim.Inject("no-send ecs:CreateTaskSet for=150s"))
		b.Until("the canary cannot be created", func() bool {
			for _, c := range b.Calls {
				if c.Operation == "CreateTaskSet" && c.Err != nil {
					return true
				}
			}
			return false
		})
		b.claimByOthers()
		b.Until("it is over", func() bool { return ran.Done })
		must(b, ran.Err)
		b.ExpectEnd(ran.RunResult, sluice.Superseded, "slc-other",
			"PRIMARY sim/web:v1 100% 4 running; tag sluice:deployment; primary 100 canary 0")
		if b.claimed() != othersClaim {
			b.Errorf("the claim is %q", b.claimed())
		}
		b.ExpectNoneLost()
	})
}

// A write that AWS throttles for minutes says nothing about the claim: if the claim is
// still ours, the deployment goes on.
func TestWriteThatWaitedLongReadsItsClaimAgain(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ran := b.RunBeside(b.Engine, b.Start(b.Files("sim/web:v2", canaryPipeline)))
		must(b, b.Sim.Inject("throttle ecs:CreateTaskSet for=150s"))
		b.Until("it is over", func() bool { return ran.Done })
		must(b, ran.Err)
		b.ExpectEnd(ran.RunResult, sluice.Succeeded, "", servesV2)
		b.ExpectNoneLost()
	})
}
