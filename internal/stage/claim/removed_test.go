package claim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// removeClaim removes the claim tag, as a tool does that removes unknown tags.
func removeClaim(b *stagetest.Bench) {
	b.Helper()
	stagetest.Got(b.ECS.UntagResource(context.Background(), &awsecs.UntagResourceInput{ResourceArn: b.ServiceARN(),
		TagKeys: []string{plan.ClaimTag}}))(b)
}

// rollBack rolls back a deployment, also one that has ended.
func rollBack(b *stagetest.Bench, id string) engine.RunResult {
	b.Helper()
	ctx := context.Background()
	stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
	stagetest.Must(b, b.Engine.Reopen(ctx, id))
	return stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
}

func expectClaimWrittenAgain(b *stagetest.Bench) {
	b.Helper()
	if !strings.Contains(b.EventLog(), "tag sluice:deployment was removed. sluice writes it again") {
		b.Errorf("the claim was not written again\n%s", b.EventLog())
	}
	if claimText(b) != "" {
		b.Errorf("the claim is left over: %s", claimText(b))
	}
	b.ExpectNoneLost()
}

// Another tool removes the claim tag of a canary on task sets. No other deployment has the service, so the
// deployment claims it again and goes on, and a later rollback works.
func TestRemovedClaimIsWrittenAgain(t *testing.T) {
	for _, after := range []string{"ecs:TagResource", "ecs:CreateTaskSet", "elasticloadbalancing:ModifyListener",
		"ecs:UpdateServicePrimaryTaskSet"} {
		t.Run(after, func(t *testing.T) {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				b.AfterWrite(after, 3*time.Second, func() { removeClaim(b) })
				end := b.Deploy(b.Files("sim/web:v2", stagetest.CanaryPipeline))
				b.ExpectEnd(end, sluice.Succeeded, "", stagetest.ServesV2)
				expectClaimWrittenAgain(b)
				b.ExpectEnd(rollBack(b, end.ID), sluice.RolledBack, "", stagetest.ServesV1)
				b.ExpectNoneLost()
			})
		})
	}
}

// The same for a canary that is a service of its own, and during its rollback.
func TestRemovedClaimOfACanaryService(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		b.AfterWrite("ecs:CreateService", 3*time.Second, func() { removeClaim(b) })
		end := b.Deploy(b.CanaryServiceFiles("sim/web:v2", stagetest.Pipeline(stagetest.CanaryRollout,
			stagetest.ShiftFifth, stagetest.PrimaryRollout, stagetest.ShiftBack, stagetest.CleanCanary), ""))
		b.ExpectCanaryServiceGone(end, sluice.Succeeded, "", stagetest.RolledV2)
		expectClaimWrittenAgain(b)
		b.AfterWrite("ecs:UpdateService", 3*time.Second, func() { removeClaim(b) })
		b.ExpectCanaryServiceGone(rollBack(b, end.ID), sluice.RolledBack, "", stagetest.RolledV1)
		b.ExpectNoneLost()
	})
}

// A rolling deployment writes nothing more after the tag was removed, and a later rollback works.
func TestRollbackAfterTheClaimOfARollingDeploymentWasRemoved(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		b.AfterWrite("ecs:UpdateService", 3*time.Second, func() { removeClaim(b) })
		end := b.Deploy(b.RollingFiles("sim/web:v2", stagetest.Breaker))
		b.ExpectRolled(end, sluice.Succeeded, "", stagetest.RolledV2)
		b.ExpectRolled(rollBack(b, end.ID), sluice.RolledBack, "", stagetest.RolledV1)
		if strings.Contains(b.EventLog(), "was removed") {
			b.Errorf("a rollback after the end misses a claim that the deployment released\n%s", b.EventLog())
		}
		b.ExpectNoneLost()
	})
}

// While a deployment waits at its end for AWS to show its removed claim, somebody deletes the service: the
// outcome is not the one of the reads before.
func TestChangeWhileTheClaimIsWaitedForAtTheEnd(t *testing.T) {
	for change, want := range map[string]sluice.Outcome{"none": sluice.Succeeded, "delete": sluice.Gone} {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			b.AfterWrite("ecs:DeleteTaskSet", time.Second, func() { removeClaim(b) })
			ran := b.RunBeside(b.Engine, b.Start(b.Files("sim/web:v2", "")))
			b.Until("the claim is waited for", func() bool { return strings.Contains(b.EventLog(), "AWS to show tag") })
			if change == "delete" {
				stagetest.Must(b, b.Clock.Sleep(context.Background(), 3*time.Second))
				stagetest.Got(b.ECS.DeleteService(context.Background(), &awsecs.DeleteServiceInput{
					Cluster: aws.String("prod"), Service: aws.String("web"), Force: aws.Bool(true)}))(b)
			}
			b.Until("it is over", func() bool { return ran.Done })
			if stagetest.Must(b, ran.Err); ran.Outcome != want {
				b.Errorf("change %s: outcome %s (%s), want %s\n%s", change, ran.Outcome, ran.Cause, want, b.EventLog())
			}
		})
	}
}

// A tool that removes the tag at once each time pauses the deployment. The rollback that the advice names
// restores the previous version once the tool has stopped.
func TestClaimThatIsRemovedAgainAndAgainPauses(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx, removes := context.Background(), true
		id := b.Start(b.Files("sim/web:v2", stagetest.CanaryPipeline))
		watch := b.Engine.OnEvent
		b.Engine.OnEvent = func(e sluice.Envelope) {
			watch(e)
			if w, ok := e.Open().(sluice.Wrote); ok && removes && w.Operation == "ecs:TagResource" {
				b.Clock.Go(func() { removeClaim(b) })
			}
		}
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if end.State != journal.Paused || !strings.Contains(b.EventLog(), "sluice wrote it again 3 times") {
			b.Fatalf("%s %s %s\n%s", end.State, end.Outcome, end.Cause, b.EventLog())
		}
		removes = false
		b.ExpectEnd(rollBack(b, id), sluice.RolledBack, "", stagetest.ServesV1)
		b.ExpectNoneLost()
	})
}

// The tag was removed, and a version of another tool serves: the deployment pauses, and the claim is not
// written. A rollback, which a person asks for, restores the previous version.
func TestRemovedClaimBesideAnotherVersion(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(2)))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		removeClaim(b)
		b.PromoteAnother("terraform")
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Approve, 2, "ann"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if end.State != journal.Paused || claimText(b) != "" ||
			!strings.Contains(b.EventLog(), "serves, which this deployment did not deploy") {
			b.Errorf("%s %s %s; claim %q\n%s", end.State, end.Outcome, end.Cause, claimText(b), b.EventLog())
		}
		b.ExpectEnd(rollBack(b, id), sluice.RolledBack, "",
			"ACTIVE sim/web:v3 100% 4 running; PRIMARY sim/web:v1 100% 4 running; primary 100 canary 0")
	})
}

// AWS's load balancers do not answer at the end of a deployment, and another one takes the claim meanwhile: its claim
// stays, because the read of ours from before is too old.
func TestClaimTakenWhileTheEndIsConfirmed(t *testing.T) {
	for image, want := range map[string]sluice.Outcome{"sim/web:v2": sluice.Succeeded,
		"sim/web:v2?crash-after=30s&exit=3": sluice.RolledBack} {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			last := map[sluice.Outcome]string{sluice.Succeeded: "ECS_CANARY_CLEAN", sluice.RolledBack: "ECS_ROLLBACK"}[want]
			stage := ""
			b.OnEvent(func(e sluice.Event) bool {
				if s, ok := e.(sluice.StageStarted); ok {
					stage = s.Name
				}
				_, ended := e.(sluice.StageEnded)
				return ended && stage == last
			}, func() {
				stagetest.Must(b, b.Sim.Inject("outage elasticloadbalancing:* for=2m"))
				b.Clock.Go(func() {
					stagetest.Must(b, b.Clock.Sleep(context.Background(), 45*time.Second))
					claimByOthers(b)
				})
			})
			end := b.Deploy(b.Files(image, stagetest.CanaryPipeline))
			if got := claimText(b); end.Outcome != want || got != othersClaim {
				b.Errorf("%s, and the claim is %q, want %s and %q\n%s", end.Outcome, got, want, othersClaim, b.EventLog())
			}
		})
	}
}
