package rehearse

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/clock"
)

// Report records what a rehearsal finds: its log, the broken promises and the result.
type Report struct {
	Result Result
	clock  clock.Clock
	start  time.Time // of the world
	log    strings.Builder
}

// LogLine adds a line to the log.
func (r *Report) LogLine(format string, args ...any) {
	fmt.Fprintf(&r.log, "%s %s\n", r.clock.Now().Sub(r.start).Round(time.Millisecond),
		fmt.Sprintf(format, args...))
}

// Fail records an error of the rehearsal itself or of the simulator.
func (r *Report) Fail(format string, args ...any) {
	r.AddViolation("rehearsal", format, args...)
}

// AddViolation records that a promise is broken.
func (r *Report) AddViolation(promise, format string, args ...any) {
	text := promise + ": " + fmt.Sprintf(format, args...)
	r.LogLine("violated: %s", text)
	r.Result.Violations = append(r.Result.Violations, text)
}
