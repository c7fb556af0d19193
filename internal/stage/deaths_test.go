package stage_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// Every way of deploying rolls a version back whose tasks die after they were healthy: if they die before the stages
// end, or within the bake time of the application. The stages themselves see healthy tasks.
func TestVersionThatDiesLaterIsRolledBack(t *testing.T) {
	canary := stagetest.Pipeline(stagetest.CanaryRollout, stagetest.PrimaryRollout, stagetest.CleanCanary)
	for _, c := range []struct{ image, bake string }{{"sim/web:v2-oom-after-50s", ""},
		{"sim/web:v2-crash-after-200s", "bake: 4m\n"}} {
		for name, files := range map[string]func(*stagetest.Bench) fstest.MapFS{
			"quick sync": func(b *stagetest.Bench) fstest.MapFS { return b.Files(c.image, "") },
			"task sets":  func(b *stagetest.Bench) fstest.MapFS { return b.Files(c.image, canary) },
		} {
			t.Run(name+" "+c.image, func(t *testing.T) {
				stagetest.RunPlain(t, func(b *stagetest.Bench) { expectRolledBack(b, files(b), c.bake) })
			})
		}
		for name, files := range map[string]func(*stagetest.Bench) fstest.MapFS{
			"rolling": func(b *stagetest.Bench) fstest.MapFS { return b.RollingFiles(c.image, stagetest.Breaker) },
			"canary service": func(b *stagetest.Bench) fstest.MapFS {
				return b.CanaryServiceFiles(c.image, canary, stagetest.Breaker)
			},
		} {
			t.Run(name+" "+c.image, func(t *testing.T) {
				stagetest.RunRolling(t, func(b *stagetest.Bench) { expectRolledBack(b, files(b), c.bake) })
			})
		}
	}
}

// expectRolledBack deploys, and requires a rollback because of tasks that died.
func expectRolledBack(b *stagetest.Bench, files fstest.MapFS, bake string) {
	b.Helper()
	end := b.Deploy(stagetest.AddLines(files, "sluice.yaml", bake))
	if end.Outcome != sluice.RolledBack || !strings.Contains(b.EventLog(), "tasks stopped: exit code 1") {
		b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
	}
}
