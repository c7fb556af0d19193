package discovered_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// rollBackBridged is Blue/Green beside a rolling service, rolled back when all is done, with a
// fault from then on.
func rollBackBridged(b *stagetest.NameBench, fault string) engine.RunResult {
	b.Helper()
	ctx := context.Background()
	id := b.StartNamed("sim/api:v2", heldAfter(stagetest.NamedBlueGreen, 5))
	if end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b); end.Outcome != "" {
		b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
	}
	if fault != "" {
		stagetest.Must(b, b.Sim.Inject(fault))
	}
	stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
	return stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
}

// The former version is found when its own health check says that it answers.
func TestABridgeIsCrossedWhenItHolds(t *testing.T) {
	stagetest.RunByName(t, stagetest.Named{Controller: "ECS", Check: 5 * time.Second, Image: "?healthy-after=12s"},
		func(b *stagetest.NameBench) {
			end := rollBackBridged(b, "")
			if end.Outcome != sluice.RolledBack || rollingState(b) != "api sim/api:v1?healthy-after=12s 4;" ||
				b.Found() != "4 primary, 0 canary" {
				b.Errorf("%s (%s): %s %s\n%s", end.Outcome, end.Cause, rollingState(b), b.Found(), b.EventLog())
			}
			b.ExpectNobodyLost()
		})
}

// Where the former version cannot be started beside, the service is rolled back all
// the same, and who reads is told what that means.
func TestARollbackDoesNotWaitForItsBridge(t *testing.T) {
	stagetest.RunByName(t, stagetest.Named{Controller: "ECS"}, func(b *stagetest.NameBench) {
		end := rollBackBridged(b, "no-capacity prod for=400s")
		if end.Outcome != sluice.RolledBack || rollingState(b) != "api sim/api:v1 4;" ||
			b.Found() != "4 primary, 0 canary" {
			b.Errorf("%s (%s): %s %s\n%s", end.Outcome, end.Cause, rollingState(b), b.Found(), b.EventLog())
		}
		if !strings.Contains(b.EventLog(), "cannot move callers off the tasks that ECS will stop: ") {
			b.Error(b.EventLog())
		}
	})
}
