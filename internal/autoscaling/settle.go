package autoscaling

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// ChooseTarget returns the state that a target should have: goal, except for values that differ
// from ours, the state that the deployment last wrote. It keeps values that another actor changed
// during the deployment and describes each in a phrase. It compares the suspensions as one value,
// because a user who resumes scaling resumes all of it.
func ChooseTarget(now, ours, goal sluice.Scalable) (to sluice.Scalable, foreign []string) {
	to = now
	if chooseValue(now.Suspended, ours.Suspended, goal.Suspended, &to.Suspended) {
		foreign = append(foreign, describeSuspended(now, ours))
	}
	if chooseValue(now.Min, ours.Min, goal.Min, &to.Min) {
		foreign = append(foreign, describeMinimum(now, ours))
	}
	if chooseValue(now.Max, ours.Max, goal.Max, &to.Max) {
		foreign = append(foreign, describeMaximum(now, ours))
	}
	return to, foreign
}

// chooseValue sets one value to goal if the value is still the one that the deployment wrote. It
// reports whether another actor changed the value. It ignores a change of a value that the
// deployment does not restore.
func chooseValue[T comparable](now, ours, goal T, to *T) (foreign bool) {
	switch {
	case now == goal || ours == goal:
	case now == ours:
		*to = goal
	default:
		return true
	}
	return false
}

// ExternalChanges describes the values that another actor changed after the deployment set them.
func ExternalChanges(now, was, ours sluice.Scalable) (foreign []string) {
	if ours.Suspended != was.Suspended && now.Suspended != ours.Suspended {
		foreign = append(foreign, describeSuspended(now, ours))
	}
	if ours.Min != was.Min && now.Min != ours.Min {
		foreign = append(foreign, describeMinimum(now, ours))
	}
	if ours.Max != was.Max && now.Max != ours.Max {
		foreign = append(foreign, describeMaximum(now, ours))
	}
	return foreign
}

func describeSuspended(now, ours sluice.Scalable) string {
	return fmt.Sprintf("suspended is %q, not %q", now.Suspended, ours.Suspended)
}

func describeMinimum(now, ours sluice.Scalable) string {
	return fmt.Sprintf("the minimum is %d, not %d", now.Min, ours.Min)
}

func describeMaximum(now, ours sluice.Scalable) string {
	return fmt.Sprintf("the maximum is %d, not %d", now.Max, ours.Max)
}

// FindTarget returns the target of a dimension, if there is one.
func FindTarget(all []sluice.Scalable, dimension string) (sluice.Scalable, bool) {
	for _, t := range all {
		if t.Dimension == dimension {
			return t, true
		}
	}
	return sluice.Scalable{}, false
}
