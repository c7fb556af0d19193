package stage_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

const firstCrashes = "sim/web:v1-crash-after-5s-exit-3"

// firstVersions are the files of a service that does not exist, in each way of deploying, with a version that crashes.
func firstVersions(b *stagetest.Bench) map[string]fstest.MapFS {
	all := map[string]fstest.MapFS{
		"task sets":       b.Files(firstCrashes, stagetest.CanaryPipeline),
		"rolling":         b.RollingFiles(firstCrashes, "desiredCount: 2\n"),
		"rolling, worker": b.WorkerFiles(firstCrashes, "desiredCount: 2\n"),
		"rolling, with a breaker": b.RollingFiles(firstCrashes,
			"desiredCount: 2\n"+stagetest.Breaker),
		"canary service": b.CanaryServiceFiles(firstCrashes, stagetest.CanaryPipeline, "desiredCount: 2\n"),
	}
	for name, configuration := range stagetest.Strategies {
		all[name] = b.NativeFiles(firstCrashes, configuration)
	}
	return all
}

// The first version of a service never works. Nothing served before, so nothing is rolled back, and no advice says that
// a rollback could restore something.
func TestFirstVersionThatFailsIsNotRolledBack(t *testing.T) {
	t.Parallel()
	var names []string
	stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
		for name := range firstVersions(b) {
			names = append(names, name)
		}
	})
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
				expectNoFormer(b, b.Deploy(firstVersions(b)[name]))
			})
		})
	}
	t.Run("Cloud Map", func(t *testing.T) {
		t.Parallel()
		stagetest.RunByName(t, stagetest.Named{}, func(b *stagetest.NameBench) {
			files := b.NamedFiles(strings.Replace(firstCrashes, "web", "api", 1), "")
			text := strings.Replace(string(files["servicedef.yaml"].Data), "serviceName: api", "serviceName: api2", 1)
			files["servicedef.yaml"].Data = []byte(text + "desiredCount: 2\n")
			expectNoFormer(b.Bench, b.Deploy(files))
		})
	})
}

func expectNoFormer(b *stagetest.Bench, end engine.RunResult) {
	b.Helper()
	if end.Outcome != sluice.Failed || !strings.Contains(end.Cause, "exit code 3") ||
		!strings.Contains(end.Cause, "no version served before") {
		b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
	}
	if strings.Contains(end.Next, "rollback") ||
		!strings.HasSuffix(end.Next, "deploy a version that works, or delete the service: sluice delete --terminate --force") {
		b.Errorf("next: %s\n%s", end.Next, b.EventLog())
	}
}

// A person rolls the first version back while it starts.
func TestFirstVersionThatAPersonRollsBack(t *testing.T) {
	t.Parallel()
	stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.RollingFiles("sim/web:v1", "desiredCount: 2\n"))
		b.OnEvent(func(ev sluice.Event) bool { _, ok := ev.(sluice.CapacityChanged); return ok }, func() {
			stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		})
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if want := "requested by a user; no version served before, so none is restored: web:1 stays"; end.Outcome !=
			sluice.Failed || end.Cause != want {
			b.Errorf("%s: %s, want %s\n%s", end.Outcome, end.Cause, want, b.EventLog())
		}
	})
}
