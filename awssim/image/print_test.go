package image_test

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/awssim/image"
)

func TestWhatContainersPrint(t *testing.T) {
	for ref, want := range map[string]string{
		"sim/web:v1":                                   "version v1 starts",
		"sim/web:v2-crash-after-5s-exit-3":             "version v2 starts; fatal: exit 3",
		"sim/web:v2-crash-after-5s?exit=0&prints=done": "version v2 starts; done",
		"sim/web:v2-crash-after-5s?prints=no+database|giving up": "version v2 starts; no database; giving up; " +
			"fatal: exit 1",
		"sim/web:v2-crash-after-5s?exit=137&prints=a%0Ab":         "version v2 starts; a; b",
		"sim/web:v2-exec-format":                                  "exec /usr/local/bin/app: exec format error",
		"sim/web:v2?never-healthy&prints=listening on port 81":    "version v2 starts; listening on port 81",
		"sim/web:v2-crash-after-1s?exit=255&prints=exec /app: no": "version v2 starts; exec /app: no",
	} {
		b, err := image.Parse(ref)
		if err != nil {
			t.Error(err)
			continue
		}
		lines := b.StartOutput()
		if b.CrashAfter > 0 {
			lines = append(lines, b.ExitOutput(b.ExitCode)...)
		}
		if got := strings.Join(lines, "; "); got != want {
			t.Errorf("%s prints %q, want %q", ref, got, want)
		}
	}
	if _, err := image.Parse("sim/web:v1?prints= "); err == nil ||
		!strings.Contains(err.Error(), "option prints: needs a line") {
		t.Errorf("nothing to print: %v", err)
	}
}
