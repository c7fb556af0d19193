package rolling_test

import (
	"testing"

	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// options change the world of a test.
type options = stagetest.Options

// Texts that many of these tests use.
const (
	breaker        = stagetest.Breaker
	cleanCanary    = stagetest.CleanCanary
	primaryRollout = stagetest.PrimaryRollout
	rolledV1       = stagetest.RolledV1
	rolledV2       = stagetest.RolledV2
	servesV1       = stagetest.ServesV1
	canaryPipeline = stagetest.CanaryPipeline
	shiftBack      = stagetest.ShiftBack
)

// bench is the bench of these tests, with methods for what only they need.
type bench struct{ *stagetest.Bench }

// on runs f on a fresh bench in virtual time.
func on(t testing.TB, o options, f func(*bench)) {
	t.Helper()
	stagetest.Run(t, o, func(b *stagetest.Bench) { f(&bench{b}) })
}

// rolls runs f on a bench whose service ECS rolls.
func rolls(t testing.TB, f func(*bench)) {
	t.Helper()
	stagetest.RunRolling(t, func(b *stagetest.Bench) { f(&bench{b}) })
}

func must(t testing.TB, err error) {
	t.Helper()
	stagetest.Must(t, err)
}

func got[T any](out T, err error) func(testing.TB) T { return stagetest.Got(out, err) }

func pipelined(stages ...string) string { return stagetest.Pipeline(stages...) }
