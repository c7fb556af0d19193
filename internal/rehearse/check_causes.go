package rehearse

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// causeChecks checks what sluice reports about failures.
type causeChecks struct {
	env      *Environment
	report   *Report
	reported map[string]bool // failures
}

// checkCause checks that a failure has a cause and that no value of the environment is recorded
// (P6). journal is what the journal contains about the deployment.
func (c *causeChecks) checkCause(journal string) {
	r := c.report.Result
	if r.Outcome != sluice.Succeeded && r.Cause == "" {
		c.report.AddViolation("P6", "the deployment ended %q without a cause", r.Outcome)
	}
	if words := c.env.Case.requiredCause(); words != "" && r.Outcome != sluice.Succeeded && // that is broken promise P2
		!strings.Contains(strings.ToLower(r.Cause), strings.ToLower(words)) {
		c.report.AddViolation("P6", "the cause does not name %q: %s", words, r.Cause)
	}
	if strings.Contains(journal, Secret) || strings.Contains(c.report.log.String(), Secret) {
		c.report.AddViolation("P6", "a value of an environment variable is in the journal or in an event")
	}
}

// checkReportedOnce checks that a process reports a failure when it changes, and not at each poll
// (P6).
func (c *causeChecks) checkReportedOnce(process int, e sluice.Envelope, ev sluice.FailureSeen) {
	key := fmt.Sprint(process, " ", e.Stage, " ", ev)
	if c.reported[key] {
		c.report.AddViolation("P6", "a failure is reported twice: %s of %s, counted %d", ev.Cause, ev.Variant, ev.Count)
	}
	c.reported[key] = true
}
