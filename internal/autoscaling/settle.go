package autoscaling

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// Settle decides what a target should be: goal, except where it is no longer as we
// left it. What somebody else changed meanwhile stays, and is told in a phrase
// each. The suspensions count as one, for a person who resumes scaling means it
// whole.
func Settle(now, ours, goal sluice.Scalable) (to sluice.Scalable, foreign []string) {
	to = now
	if settle(now.Suspended, ours.Suspended, goal.Suspended, &to.Suspended) {
		foreign = append(foreign, suspendedIs(now, ours))
	}
	if settle(now.Min, ours.Min, goal.Min, &to.Min) {
		foreign = append(foreign, minimumIs(now, ours))
	}
	if settle(now.Max, ours.Max, goal.Max, &to.Max) {
		foreign = append(foreign, maximumIs(now, ours))
	}
	return to, foreign
}

// settle sets one member if it is still ours to set. It reports whether somebody
// else changed it; one that we leave as it was is nobody's to mind.
func settle[T comparable](now, ours, goal T, to *T) (foreign bool) {
	switch {
	case now == goal || ours == goal:
	case now == ours:
		*to = goal
	default:
		return true
	}
	return false
}

// Undone is what somebody else changed of what we had set, in phrases.
func Undone(now, was, ours sluice.Scalable) (foreign []string) {
	if ours.Suspended != was.Suspended && now.Suspended != ours.Suspended {
		foreign = append(foreign, suspendedIs(now, ours))
	}
	if ours.Min != was.Min && now.Min != ours.Min {
		foreign = append(foreign, minimumIs(now, ours))
	}
	if ours.Max != was.Max && now.Max != ours.Max {
		foreign = append(foreign, maximumIs(now, ours))
	}
	return foreign
}

func suspendedIs(now, ours sluice.Scalable) string {
	return fmt.Sprintf("suspended is %q, not %q", now.Suspended, ours.Suspended)
}

func minimumIs(now, ours sluice.Scalable) string {
	return fmt.Sprintf("the minimum is %d, not %d", now.Min, ours.Min)
}

func maximumIs(now, ours sluice.Scalable) string {
	return fmt.Sprintf("the maximum is %d, not %d", now.Max, ours.Max)
}

// Of is the target of a dimension, if it is among them.
func Of(all []sluice.Scalable, dimension string) (sluice.Scalable, bool) {
	for _, t := range all {
		if t.Dimension == dimension {
			return t, true
		}
	}
	return sluice.Scalable{}, false
}
