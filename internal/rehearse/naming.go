package rehearse

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// checkCause checks that a failure has a cause and that no value of the environment is recorded
// (P6).
func (f *field) named() {
	r := f.result
	if r.Outcome != sluice.Succeeded && r.Cause == "" {
		f.violate("P6", "it ended %q without a cause", r.Outcome)
	}
	if words := f.mustName(); words != "" && !strings.Contains(strings.ToLower(r.Cause), strings.ToLower(words)) {
		f.violate("P6", "the cause does not name %q: %s", words, r.Cause)
	}
	kept, err := f.kept()
	if err != nil {
		f.broken("read the journal: %v", err)
	}
	if strings.Contains(kept, secret) || strings.Contains(f.log.String(), secret) {
		f.violate("P6", "a value of the environment stands in the journal or in an event")
	}
}

// checkReportedOnce checks that a process reports a failure when it changes, and not at each poll
// (P6).
func (f *field) news(e sluice.Envelope, ev sluice.FailureSeen) {
	key := fmt.Sprint(f.lives, " ", e.Stage, " ", ev)
	if f.told[key] {
		f.violate("P6", "it is told again: %s of %s, counted %d", ev.Cause, ev.Variant, ev.Count)
	}
	f.told[key] = true
}
