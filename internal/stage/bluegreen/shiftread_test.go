package bluegreen_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// A process is killed right after it asked CodeDeploy for a deployment, and AWS's lists
// do not show it yet. The rollback finds it all the same, and stops it.
func TestRollbackFindsTheDeploymentOfCodeDeployThatWasAskedFor(t *testing.T) {
	for _, resumed := range []bool{false, true} {
		for _, by := range []string{"4s", "9s", "14s", "20s"} {
			t.Run(fmt.Sprintf("resumed=%v/%s", resumed, by), func(t *testing.T) {
				t.Parallel()
				shifts(t, shop{config: "CodeDeployDefault.ECSCanary10Percent5Minutes"}, func(b *stagetest.Bench) {
					ctx := context.Background()
					id := b.Start(shiftFiles(b, "sim/web:v2", ""))
					g := b.KillAtWrite(2, true)
					if at := b.RunUntilKilled(id); at != "after CreateDeployment" {
						b.Fatalf("killed at %q", at)
					}
					g.Left = -1
					stagetest.Must(b, b.Sim.Inject("stale codedeploy:* by="+by+" for=1m"))
					outcome, state := sluice.Succeeded, shiftedV2
					if !resumed {
						outcome, state = sluice.RolledBack, shiftedV1
						stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
					}
					end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
					b.Sim.ClearFaults()
					expectServiceEnd(b, end, outcome, "", state)
					if n := countShifts(b); n != 1 {
						b.Errorf("%d deployments of CodeDeploy\n%s", n, b.EventLog())
					}
					b.ExpectNoneLost()
				})
			})
		}
	}
}

// CodeDeploy's answer to the creation is lost, and its lists do not show the deployment
// yet: it is not taken for another one's.
func TestDeploymentOfCodeDeployWithoutAnAnswerIsFound(t *testing.T) {
	for _, by := range []string{"4s", "9s", "14s"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			shifts(t, shop{}, func(b *stagetest.Bench) {
				id := b.Start(shiftFiles(b, "sim/web:v2", ""))
				stagetest.Must(b, b.Sim.Inject("lost-reply codedeploy:CreateDeployment times=1"))
				stagetest.Must(b, b.Sim.Inject("stale codedeploy:* by="+by+" for=1m"))
				end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				b.Sim.ClearFaults()
				expectServiceEnd(b, end, sluice.Succeeded, "", shiftedV2)
				if n := countShifts(b); n != 1 {
					b.Errorf("%d deployments of CodeDeploy", n)
				}
				b.ExpectNoneLost()
			})
		})
	}
}

// A person stops CodeDeploy's deployment without its rollback while the new task set is
// made. The rollback does not take a read from before that for the end of its work.
func TestRollbackOfAStoppedDeploymentOfCodeDeployReadsPastItsTaskSet(t *testing.T) {
	for _, fault := range []string{"stale ecs:* by=4s", "stale ecs:* by=9s", "stale ecs:* by=14s",
		"stale ecs:* by=14s p=0.5", "stale *:* by=9s", "stale *:* by=14s", "stale *:* by=19s"} {
		for _, after := range []time.Duration{time.Second, 3 * time.Second, 6 * time.Second, 9 * time.Second} {
			t.Run(fmt.Sprintf("%s/%s", fault, after), func(t *testing.T) {
				t.Parallel()
				shifts(t, shop{config: "CodeDeployDefault.ECSCanary10Percent5Minutes"}, func(b *stagetest.Bench) {
					ctx, watch, told := context.Background(), b.Engine.OnEvent, false
					id := b.Start(shiftFiles(b, "sim/web:v2", ""))
					b.Engine.OnEvent = func(e sluice.Envelope) {
						watch(e)
						l, ok := e.Open().(sluice.LifecycleChanged)
						if !ok || told || l.Name != "Install" {
							return
						}
						told = true
						b.Clock.Go(func() {
							stagetest.Must(b, b.Clock.Sleep(ctx, after))
							list := stagetest.Got(codeDeployClient(b).ListDeployments(ctx,
								&awscd.ListDeploymentsInput{}))(b)
							stagetest.Got(codeDeployClient(b).StopDeployment(ctx,
								&awscd.StopDeploymentInput{DeploymentId: &list.Deployments[0]}))(b)
							stagetest.Must(b, b.Sim.Inject(fault))
						})
					}
					end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
					b.Sim.ClearFaults()
					expectServiceEnd(b, end, sluice.RolledBack, "", shiftedV1)
					b.ExpectNoneLost()
				})
			})
		}
	}
}

// Nor is one that a deployment of CodeDeploy, which a rollback has to stop, does not exist.
func TestOneAnswerThatADeploymentOfCodeDeployIsGoneIsNotBelieved(t *testing.T) {
	stagetest.DenyEachCall(t, "GetDeployment", "DeploymentDoesNotExistException",
		func(t *testing.T, n int) (reached bool) {
			shifts(t, shop{config: "CodeDeployDefault.ECSCanary10Percent5Minutes"}, func(b *stagetest.Bench) {
				denied := b.DenyCallWhen(func() bool { return hasRollbackBegun(b) }, n, "GetDeployment",
					&cdtypes.DeploymentDoesNotExistException{})
				expectServiceEnd(b, rollBackAt(b, shiftFiles(b, "sim/web:v2", ""), "AllowTraffic", "InProgress"),
					sluice.RolledBack, "",
					shiftedV1)
				if n := countShifts(b); n != 1 {
					b.Errorf("%d deployments of CodeDeploy", n)
				}
				reached = denied()
			})
			return reached
		})
}

// hasRollbackBegun reports whether a rollback has begun.
func hasRollbackBegun(b *stagetest.Bench) bool {
	return slices.ContainsFunc(b.Events, func(e sluice.Envelope) bool {
		_, ok := e.Open().(sluice.RollbackStarted)
		return ok
	})
}
