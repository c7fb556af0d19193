package discovered_test

import (
	"cmp"
	"flag"
	"testing"

	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// Texts that many of these tests use.
const (
	namedBlueGreen = stagetest.NamedBlueGreen
	namedCanary    = stagetest.NamedCanary
	namedV1        = stagetest.NamedV1
	namedV2        = stagetest.NamedV2
)

// named has the options of a world whose service callers find by a name.
type named = stagetest.Named

// nameBench is the bench of these tests, with methods for what only they need.
type nameBench struct{ *stagetest.NameBench }

// byName runs f in a new world whose service callers find by a name.
func byName(t testing.TB, o named, f func(*nameBench)) {
	t.Helper()
	stagetest.RunByName(t, o, func(b *stagetest.NameBench) { f(&nameBench{b}) })
}

func must(t testing.TB, err error) {
	t.Helper()
	stagetest.Must(t, err)
}

func got[T any](out T, err error) func(testing.TB) T { return stagetest.Got(out, err) }

var runs = flag.Int("runs", 0, "how often each flow is tried; 0: as often as usual")

// tries is how often each flow is tried if that is usual.
func tries(usual int) int { return cmp.Or(*runs, usual) }
