package show

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// WaitEvent returns one event of sluice wait as colored text. It is empty for an event that is not
// shown.
func WaitEvent(p Paint, e sluice.Event) string { return colorLine(p, waitLine(e)) }

// waitLine returns one event as text. The end has none, because printResults prints the result.
func waitLine(e sluice.Event) line {
	switch e := e.(type) {
	case sluice.Waiting:
		return line{level: plain, text: e.Detail}
	case sluice.FailureSeen:
		text := e.Cause
		if e.Task != "" {
			text = fmt.Sprintf("%s stopped: %s (task %s)", sluice.Plural(e.Count, "task"), e.Cause, e.Task)
		}
		return line{level: failure, text: text}
	case sluice.LifecycleChanged:
		return lifecycleLine(e)
	case sluice.Noted:
		return line{level: faint, text: e.Message}
	case sluice.Warned:
		return line{level: warning, text: "warning: " + e.Message}
	}
	return line{}
}
