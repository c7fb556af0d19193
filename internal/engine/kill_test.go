package engine_test

import (
	"fmt"
	"testing"
)

// Killed before or after any write and resumed, the end is the same as if it had
// not been killed (P5).
func TestKilledAtEveryWriteAndResumed(t *testing.T) {
	for name, c := range map[string]struct{ image, pipeline, end string }{
		"canary": {"sim/web:v2", canaryPipeline,
			"succeeded: PRIMARY sim/web:v2 100% 4 running; primary 100 canary 0"},
		"quick sync": {"sim/web:v2", "", "succeeded: PRIMARY sim/web:v2 100% 4 running; primary 100 canary 0"},
		"rollback":   {"sim/web:v2?crash-after=2s", canaryPipeline, "rolled back: " + servesV1},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%v", name, after), func(t *testing.T) {
				t.Parallel()
				for n, more := 1, true; more; n++ {
					on(t, options{}, func(b *bench) {
						more = b.KillAndResume(n, after, b.Files(c.image, c.pipeline),
							c.end)
					})
				}
			})
		}
	}
}
