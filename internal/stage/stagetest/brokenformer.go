package stagetest

import (
	"context"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// BreakVersion lets the tasks that ECS starts of a revision of family web from now on behave as those of another image:
// its secret was deleted, or a tag of its image was moved.
func (b *Bench) BreakVersion(revision int, image string) {
	b.Helper()
	Must(b, b.Sim.World().Do(Key, func(tx *world.Tx) error {
		for _, arn := range tx.TaskDefinitions.Keys() {
			if td, _ := tx.TaskDefinitions.Get(arn); td.Family == "web" && td.Revision == revision {
				td.Containers[0].Image = image
			}
		}
		return nil
	}))
}

// RollBackEnded rolls back a deployment that has ended.
func (b *Bench) RollBackEnded(id string) engine.RunResult {
	b.Helper()
	ctx := context.Background()
	b.Events = nil
	Must(b, b.Engine.Reopen(ctx, id))
	Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
	return Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
}

// longestBrokenRollback is how long a rollback to a version that fails within seconds may take, with what AWS needs.
const longestBrokenRollback = 4 * time.Minute

// ExpectBrokenFormer fails the test if a rollback to web:1, which does not work, ended in another way than a failure
// with that cause, late, or with a next step that leads to the same version again.
func (b *Bench) ExpectBrokenFormer(end engine.RunResult, cause string) {
	b.Helper()
	var began time.Time
	_, rollback, _ := strings.Cut(end.Cause, "; rollback: ")
	names, inRollback := false, 0
	for _, e := range b.Events {
		if _, is := e.Open().(sluice.RollbackStarted); is {
			began = e.At
		}
	}
	took := b.Clock.Now().Sub(began)
	for _, text := range []string{"web:1 does not work: ", "web:1 is restored, and does not work: ", "web:1 failed: ",
		"web:1 was rolled back to web:2: "} {
		names = names || strings.Contains(end.Cause, text)
		inRollback += strings.Count(rollback, text)
	}
	if end.Outcome != sluice.Failed || !names || inRollback > 1 || !strings.Contains(end.Cause, cause) {
		b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
	}
	if !began.IsZero() && took > longestBrokenRollback {
		b.Errorf("the rollback took %s\n%s", took, b.EventLog())
	}
	if strings.Contains(end.Next, "rollback") || strings.Contains(end.Next, "deploy again") ||
		!strings.HasSuffix(end.Next, "deploy a version that works") && !strings.HasSuffix(end.Next, "--quick-sync") {
		b.Errorf("next: %s", end.Next)
	}
}
