package discovered_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// bridged is Blue/Green beside a rolling service, rolled back when all is done, with a
// fault from then on.
func (b *nameBench) bridged(fault string) engine.RunResult {
	b.Helper()
	ctx := context.Background()
	id := b.StartNamed("sim/api:v2", heldAfter(namedBlueGreen, 5))
	if end := got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b); end.Outcome != "" {
		b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
	}
	if fault != "" {
		must(b, b.Sim.Inject(fault))
	}
	must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
	return got(b.Engine.Run(ctx, id, engine.Options{}))(b)
}

// The former version is found when its own health check says that it answers.
func TestABridgeIsCrossedWhenItHolds(t *testing.T) {
	byName(t, named{Controller: "ECS", Check: 5 * time.Second, Image: "?healthy-after=12s"}, func(b *nameBench) {
		end := b.bridged("")
		if end.Outcome != sluice.RolledBack || b.rolls() != "api sim/api:v1?healthy-after=12s 4;" ||
			b.Found() != "4 primary, 0 canary" {
			b.Errorf("%s (%s): %s %s\n%s", end.Outcome, end.Cause, b.rolls(), b.Found(), b.EventLog())
		}
		b.ExpectNobodyLost()
	})
}

// Where the former version cannot be started beside, the service is rolled back all
// the same, and who reads is told what that means.
func TestARollbackDoesNotWaitForItsBridge(t *testing.T) {
	byName(t, named{Controller: "ECS"}, func(b *nameBench) {
		end := b.bridged("no-capacity prod for=400s")
		if end.Outcome != sluice.RolledBack || b.rolls() != "api sim/api:v1 4;" || b.Found() != "4 primary, 0 canary" {
			b.Errorf("%s (%s): %s %s\n%s", end.Outcome, end.Cause, b.rolls(), b.Found(), b.EventLog())
		}
		if !strings.Contains(b.EventLog(), "cannot move callers off the tasks that ECS will stop: ") {
			b.Error(b.EventLog())
		}
	})
}
