package rolling_test

import (
	"context"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// primaryImage is the image of what is PRIMARY in the world itself, whatever the APIs
// answer.
func primaryImage(b *stagetest.Bench) (image string) {
	stagetest.Must(b, b.Sim.World().Do(stagetest.Key, func(tx *world.Tx) error {
		if s, ok := tx.Services.Get("prod/web"); ok && s.Primary() != nil {
			image = s.Primary().Definition.Containers[0].Image
		}
		return nil
	}))
	return image
}

// imageAtEnd keeps what is PRIMARY in the moment in which the end of a deployment is told.
func imageAtEnd(b *stagetest.Bench) *string {
	image, watch := new(string), b.Engine.OnEvent
	b.Engine.OnEvent = func(e sluice.Envelope) {
		watch(e)
		if _, ok := e.Open().(sluice.DeploymentEnded); ok {
			*image = primaryImage(b)
		}
	}
	return image
}

// bothWays are the applications of a service that ECS rolls, alone and with a canary
// service.
func bothWays(b *stagetest.Bench) map[string]fstest.MapFS {
	return map[string]fstest.MapFS{
		"rolling": b.RollingFiles("sim/web:v2", stagetest.Breaker),
		"services": b.CanaryServiceFiles("sim/web:v2",
			stagetest.Pipeline(stagetest.PrimaryRollout, stagetest.ShiftBack, stagetest.CleanCanary),
			stagetest.Breaker),
	}
}

// A read that is older than the write of the deployment shows what was before as what
// serves. The rollback must not take that for its work.
func TestRollbackReadsPastItsOwnWrite(t *testing.T) {
	for _, way := range []string{"rolling", "services"} {
		for _, fault := range stagetest.StaleReads() {
			for after := time.Second; after <= 6*time.Second; after += time.Second {
				t.Run(fmt.Sprintf("%s/%s/%s", way, fault, after), func(t *testing.T) {
					t.Parallel()
					stagetest.RunRolling(t, func(b *stagetest.Bench) {
						outliveReads(b)
						id := b.Start(bothWays(b)[way])
						stagetest.Must(b, b.Sim.Inject(fault))
						atEnd := imageAtEnd(b)
						b.AfterWrite("ecs:UpdateService", after,
							func() {
								stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, journal.Rollback, 0,
									"ann"))
							})
						expectReturned(b, stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b),
							*atEnd)
					})
				})
			}
		}
	}
}

// A call that is refused right after the update begins the rollback within a second.
func TestAutomaticRollbackReadsPastItsOwnWrite(t *testing.T) {
	for _, way := range []string{"rolling", "services"} {
		for _, fault := range stagetest.StaleReads() {
			t.Run(way+"/"+fault, func(t *testing.T) {
				t.Parallel()
				stagetest.RunRolling(t, func(b *stagetest.Bench) {
					outliveReads(b)
					files := bothWays(b)[way]
					files["servicedef.yaml"].Data = append(files["servicedef.yaml"].Data,
						"tags: [{key: team, value: shop}]\n"...)
					id := b.Start(files)
					stagetest.Must(b, b.Sim.Inject(fault))
					b.Engine.Account = accountRefusingTags(b)
					atEnd := imageAtEnd(b)
					expectReturned(b, stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b),
						*atEnd)
				})
			})
		}
	}
}

// outliveReads waits until no stale read shows the claim of the first deployment any more.
func outliveReads(b *stagetest.Bench) {
	b.Helper()
	stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
}

// expectReturned asserts that v1 is PRIMARY, alone and whole, now and when the end was told.
func expectReturned(b *stagetest.Bench, end engine.RunResult, atEnd string) {
	b.Helper()
	b.Sim.ClearFaults()
	if end.Outcome != sluice.RolledBack || atEnd != "sim/web:v1" {
		b.Errorf("%s: %s; PRIMARY at the end: %s\n%s", end.Outcome, end.Cause, atEnd, b.EventLog())
	}
	b.Until("v1 serves alone", func() bool { return b.RollingState() == stagetest.RolledV1 })
	b.ExpectNoneLost()
}

// accountRefusing is an account of which AWS refuses some calls.
func accountRefusing(b *stagetest.Bench, refuse func(input any) bool) *account.Account {
	stand := func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("refusing",
			func(ctx context.Context, in middleware.InitializeInput,
				next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				if refuse(in.Parameters) {
					return middleware.InitializeOutput{}, middleware.Metadata{},
						&smithy.GenericAPIError{Code: "InvalidParameterException", Message: "refused",
							Fault: smithy.FaultClient}
				}
				return next.HandleInitialize(ctx, in)
			}), middleware.After)
	}
	return b.OpenAccount(stand)
}

// accountRefusingTags is an account of which AWS refuses every tag but the claim.
func accountRefusingTags(b *stagetest.Bench) *account.Account {
	return accountRefusing(b, func(input any) bool {
		tag, ok := input.(*awsecs.TagResourceInput)
		return ok && *tag.Tags[0].Key != plan.ClaimTag
	})
}

// A canary is created: a rollback right after that does not believe a read without it.
func TestRollbackReadsPastTheCreationOfTheCanary(t *testing.T) {
	for _, fault := range stagetest.StaleReads() {
		for _, after := range []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second} {
			t.Run(fmt.Sprintf("%s/%s", fault, after), func(t *testing.T) {
				t.Parallel()
				stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
					id := b.Start(b.Files("sim/web:v2", stagetest.CanaryPipeline))
					stagetest.Must(b, b.Sim.Inject(fault))
					b.AfterWrite("ecs:CreateTaskSet", after, func() {
						stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, journal.Rollback, 0, "ann"))
					})
					end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
					b.Sim.ClearFaults()
					stagetest.Must(b, b.Clock.Sleep(context.Background(), 2*time.Minute))
					b.ExpectEnd(end, sluice.RolledBack, "requested by a user", stagetest.ServesV1)
					b.ExpectNoneLost()
				})
			})
		}
	}
}

// Task sets are made, promoted, scaled and deleted: a rollback right after any of these
// does not believe a read from before it.
func TestRollbackOfTaskSetsReadsPastItsOwnWrites(t *testing.T) {
	for _, operation := range []string{"ecs:CreateTaskSet", "ecs:UpdateServicePrimaryTaskSet", "ecs:UpdateTaskSet",
		"ecs:DeleteTaskSet"} {
		for _, fault := range stagetest.StaleReads() {
			for _, after := range []time.Duration{time.Second, 3 * time.Second, 6 * time.Second} {
				t.Run(fmt.Sprintf("%s/%s/%s", operation, fault, after), func(t *testing.T) {
					t.Parallel()
					stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
						id := b.Start(b.Files("sim/web:v2", ""))
						stagetest.Must(b, b.Sim.Inject(fault))
						atEnd := imageAtEnd(b)
						b.AfterWrite(operation, after,
							func() {
								stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, journal.Rollback, 0,
									"ann"))
							})
						end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
						b.Sim.ClearFaults()
						if end.Outcome != sluice.RolledBack || *atEnd != "sim/web:v1" {
							b.Errorf("%s: %s; PRIMARY at the end: %s\n%s", end.Outcome, end.Cause, *atEnd, b.EventLog())
						}
						for range 100 {
							stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Second))
						}
						if state := b.State(); state != stagetest.ServesV1 {
							b.Errorf("%s\n%s", state, b.EventLog())
						}
						b.ExpectNoneLost()
					})
				})
			}
		}
	}
}
