package engine_test

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

// A person can end or take back a deployment while its migration runs.
func TestCommandsDuringAMigration(t *testing.T) {
	for kind, want := range map[string]sluice.Outcome{journal.Abort: sluice.Stopped,
		journal.Rollback: sluice.RolledBack} {
		on(t, options{}, func(b *bench) {
			id := b.Start(stagetest.WithSteps(b.Files("sim/web:v2", ""), "sim/job:v1-crash-after-1h-exit-0", ""))
			b.Clock.Go(func() {
				must(b, b.Clock.Sleep(context.Background(), 5*time.Minute))
				must(b, b.Engine.SendCommand(context.Background(), id, kind, 0, "ann"))
			})
			b.ExpectEnd(got(b.Engine.Run(context.Background(), id, engine.Options{}))(b), want, "", servesV1)
			if !strings.Contains(b.EventLog(), "the task keeps running in ECS: ") {
				b.Errorf("it is not said that the task goes on\n%s", b.EventLog())
			}
		})
	}
}
