package diagnosis

import (
	"cmp"
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// ExplainTarget returns why callers cannot be sent to a target. ok is false for a target without a
// problem.
func ExplainTarget(t sluice.Target) (c Cause, ok bool) {
	if t.State != "unhealthy" && t.Reason != "Target.NotInUse" {
		return Cause{}, false
	}
	text := fmt.Sprintf("target %s:%d is %s: %s", t.ID, t.Port, t.State, cmp.Or(t.Description, t.Reason))
	return Cause{Kind: kindOfProbe(t.Description), Text: text, Count: 1}, true
}

// kindOfProbe returns the kind of a failed health check from the target group's description. Without
// a status code the connection was refused.
func kindOfProbe(said string) Kind {
	if said == "Health checks failed" {
		return WrongPort
	}
	if r, ok := reasonOf(said); ok && r.kind == NotRouted {
		return NotRouted
	}
	return BalancerHealth
}

// ExplainSlowStart returns a cause for tasks that start or run without becoming healthy. ok is
// false if no task does.
func ExplainSlowStart(running, pending, desired int) (c Cause, ok bool) {
	text := ""
	switch {
	case pending > 0:
		text = sluice.Plural(pending, "task") + " still starting"
	case running >= desired && desired > 0:
		text = sluice.Plural(running, "task") + " running, but not yet healthy in every check"
	default:
		return Cause{}, false
	}
	return Cause{Kind: SlowStart, Text: text, Count: 1}, true
}
