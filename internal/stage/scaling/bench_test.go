package scaling_test

import (
	"testing"

	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// options change the world of a test.
type options = stagetest.Options

// Texts that many of these tests use.
const (
	canaryPipeline  = stagetest.CanaryPipeline
	servesV1        = stagetest.ServesV1
	servesV2        = stagetest.ServesV2
	suspendsScaling = stagetest.SuspendsScaling
)

// bench is the bench of these tests, with methods for what only they need.
type bench struct{ *stagetest.Bench }

// on runs f on a fresh bench in virtual time.
func on(t testing.TB, o options, f func(*bench)) {
	t.Helper()
	stagetest.Run(t, o, func(b *stagetest.Bench) { f(&bench{b}) })
}

func must(t testing.TB, err error) {
	t.Helper()
	stagetest.Must(t, err)
}

func got[T any](out T, err error) func(testing.TB) T { return stagetest.Got(out, err) }

func heldAfterStage(n int) string { return stagetest.PipelineHeldAfter(n) }
