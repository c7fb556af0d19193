package rehearse

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// checkCause checks that a failure has a cause and that no value of the environment is recorded
// (P6).
func (f *Rehearsal) checkCause() {
	r := f.Result
	if r.Outcome != sluice.Succeeded && r.Cause == "" {
		f.AddViolation("P6", "the deployment ended %q without a cause", r.Outcome)
	}
	if words := f.requiredCause(); words != "" && !strings.Contains(strings.ToLower(r.Cause), strings.ToLower(words)) {
		f.AddViolation("P6", "the cause does not name %q: %s", words, r.Cause)
	}
	kept, err := f.journalText()
	if err != nil {
		f.Fail("read the journal: %v", err)
	}
	if strings.Contains(kept, Secret) || strings.Contains(f.log.String(), Secret) {
		f.AddViolation("P6", "a value of an environment variable is in the journal or in an event")
	}
}

// checkReportedOnce checks that a process reports a failure when it changes, and not at each poll
// (P6).
func (f *Rehearsal) checkReportedOnce(e sluice.Envelope, ev sluice.FailureSeen) {
	key := fmt.Sprint(f.processCount, " ", e.Stage, " ", ev)
	if f.reportedFailures[key] {
		f.AddViolation("P6", "a failure is reported twice: %s of %s, counted %d", ev.Cause, ev.Variant, ev.Count)
	}
	f.reportedFailures[key] = true
}
