package rehearse

import (
	"strings"

	"github.com/sluice-ecs/sluice"
)

// named: a failure has a cause and a way on, and no value of the environment is
// told (P6).
func (f *field) named() {
	r := f.result
	if r.Outcome != sluice.Succeeded && r.Cause == "" {
		f.violate("P6", "it ended %q without a cause", r.Outcome)
	}
	if words := f.mustName(); words != "" && !strings.Contains(r.Cause, words) {
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
