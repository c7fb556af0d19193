package show

import "github.com/sluice-ecs/sluice"

// WaitEvent returns one event of sluice wait as colored text. It is empty for an event that is not
// shown.
func WaitEvent(p Paint, e sluice.Event) string { return colorLine(p, waitLine(e)) }

// waitLine returns one event as text with its level. The end has none, because printResults prints the
// result.
func waitLine(e sluice.Event) line {
	l := line{plain, sluice.WaitText(e)}
	switch e := e.(type) {
	case sluice.FailureSeen:
		l.level = failure
	case sluice.LifecycleChanged:
		l.level = lifecycleLine(e).level
	case sluice.Noted:
		l.level = faint
	case sluice.Warned:
		l.level = warning
	}
	return l
}
