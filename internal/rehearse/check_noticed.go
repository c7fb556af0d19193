package rehearse

import (
	"regexp"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// MaxNoticeDelay is how long a changed rule may stay undetected. Two polls are at most 20 s apart,
// and a second poll 6 s later must confirm the change.
const MaxNoticeDelay = 45 * time.Second

// maxLostRuleDelay is how long it may stay undetected in a deployment that steers no rule: they are read every two
// minutes, and two polls are at most 20 s apart.
const maxLostRuleDelay = 145 * time.Second

// externalChangePattern matches the texts of events that report an external change.
var externalChangePattern = regexp.MustCompile(`onOutsideChange|external (change|edit)|another (process|person|actor)`)

// ReportsExternalChange reports whether sluice has seen an external change by this event. A rollback
// compares nothing any more, and the end of a deployment waits for callers that a rule does not lead to its version.
func ReportsExternalChange(e sluice.Envelope) bool {
	switch ev := e.Open().(type) {
	case sluice.RollbackStarted:
		return true
	case sluice.Waiting:
		return strings.HasPrefix(ev.For, "callers to reach")
	}
	return externalChangePattern.Match(e.Data)
}

// recordRuleDrift records when another actor set a rule to weights that it never had, or in a deployment that steers no
// rule, to none of the service. With ECS's own strategies ECS sets them, and the end of the deployment shows whether
// callers get the version.
func (c *ruleChecks) recordRuleDrift(r *world.Rule, now [2]int32) {
	of := c.env.Case
	first := c.env.weightsOf(&world.Rule{Actions: c.initialActions[r.ARN]})
	sum := now[0] + now[1]
	if sum == 100 || sum == first[0]+first[1] || !of.IsAttentive() || c.rollsBack || of.World.Strategy.Kind != "" ||
		of.IsRollingSync() && sum > 0 ||
		sum == 0 && of.World.UsesCodeDeploy() { // a rule that is gone: only the end of the deployment reads it
		return
	}
	c.ruleDriftAt = c.env.Clock.Now()
}

// checkDriftNoticed checks that sluice reports an external change at the next poll, in any stage or
// wait (P6). A rollback does not compare rules.
func (c *ruleChecks) checkDriftNoticed(e sluice.Envelope) {
	if _, back := e.Open().(sluice.RollbackStarted); back {
		c.rollsBack = true
	}
	if c.ruleDriftAt.IsZero() {
		return
	}
	limit := MaxNoticeDelay
	if c.env.Case.IsRollingSync() {
		limit = maxLostRuleDelay
	}
	if late := e.At.Sub(c.ruleDriftAt); late > limit {
		c.report.AddViolation("P6", "an external change of a rule was not detected for %s, in %s", late, e.Stage)
		c.ruleDriftAt = time.Time{}
	}
	if ReportsExternalChange(e) {
		c.ruleDriftAt = time.Time{}
	}
}
