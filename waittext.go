package sluice

import "fmt"

// WaitText returns an event of a wait as one line for users. It is empty for an event that a wait does not
// show: its end is in its result.
func WaitText(e Event) string {
	switch e := e.(type) {
	case Waiting:
		return e.Detail
	case FailureSeen:
		if e.Task != "" {
			return fmt.Sprintf("%s stopped: %s (task %s)", Plural(e.Count, "task"), e.Cause, e.Task)
		}
		return e.Cause
	case LifecycleChanged:
		if e.Message != "" {
			return e.Name + ": " + e.Status + ": " + e.Message
		}
		return e.Name + ": " + e.Status
	case Noted:
		return e.Message
	case Warned:
		return "warning: " + e.Message
	}
	return ""
}
