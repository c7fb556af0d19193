package engine_test

import (
	"strings"
	"testing"
)

// The same seed and the same inputs give the same world and the same events,
// byte for byte.
func TestSameSeedSameLog(t *testing.T) {
	var logs [2]strings.Builder
	for i := range logs {
		on(t, options{Seed: 7}, func(b *bench) {
			b.Deploy(b.Files("sim/web:v2?healthy-after=7s", canaryPipeline))
			must(b, b.Sim.World().WriteLog(&logs[i]))
			logs[i].WriteString(b.EventLog())
		})
	}
	if logs[0].String() != logs[1].String() {
		t.Errorf("two runs differ:\n%s", firstDifference(logs[0].String(), logs[1].String()))
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\n" + y[i]
		}
	}
	return "one is longer"
}
