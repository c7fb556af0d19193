package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/printable"
)

// Renderer shows the events of a deployment as they happen.
type Renderer interface {
	// ShowEvent shows one event. One goroutine at a time calls it.
	ShowEvent(sluice.Envelope)
	// ReplayEvent updates the renderer by an event of an earlier run and shows nothing.
	ReplayEvent(sluice.Envelope)
	// ShowNote shows a line that is not an event.
	ShowNote(string)
	// Close ends the output. No other method is called after it.
	Close()
}

// lineRenderer writes one line per change, with the time since the first event.
type lineRenderer struct {
	w        io.Writer
	out      io.Writer // gets the output of containers; nil: it is written to w
	paint    Paint
	ci       CI // whose log w is
	began    time.Time
	last     time.Time // of the last event
	section  string    // that is open; empty: none
	lastText string
	current  string // the last text of the stage that runs; empty: none runs
	causes   causeMemory
	next     func(string) string // with the flags of this command line; nil: unchanged
}

func (l *lineRenderer) ShowEvent(e sluice.Envelope) {
	if l.began.IsZero() {
		l.began = e.At
	}
	l.last = e.At
	ev, full := e.Open(), eventLine(e)
	words := l.causes.shorten(ev, full)
	l.setCurrent(ev, words.text)
	if printed, ok := ev.(sluice.Printed); ok {
		l.printOutput(printed)
		return
	}
	if words.text == "" || words.text == l.lastText {
		return // the change is in fields that are not shown
	}
	l.lastText = words.text
	if l.writeSection(e, full) { // an annotation is read alone
		return
	}
	fmt.Fprintf(l.w, "%s %s%s\n", l.paint.Dim(FormatElapsed(e.At.Sub(l.began))), indentOf(ev),
		colorLine(l.paint, words.withIndent()))
	if ended, ok := ev.(sluice.StageEnded); ok && ended.Next != "" {
		next := ended.Next
		if l.next != nil {
			next = l.next(next)
		}
		fmt.Fprintf(l.w, "%s   next: %s\n", FormatElapsed(e.At.Sub(l.began)), next)
	}
}

// setCurrent keeps the first line of what a stage showed last, for [liveLines].
func (l *lineRenderer) setCurrent(ev sluice.Event, text string) {
	switch ev.(type) {
	case sluice.StageEnded, sluice.DeploymentEnded, sluice.DeploymentPaused:
		l.current = ""
	case sluice.StageStarted, sluice.Waiting, sluice.ApprovalAwaited, sluice.CapacityChanged, sluice.GateRead,
		sluice.LifecycleChanged, sluice.TaskChanged:
		if text != "" {
			l.current, _, _ = strings.Cut(text, "\n")
		}
	}
}

// withIndent indents all lines of the text except the first, so that none of them looks like the
// line of another event.
func (l line) withIndent() line {
	l.text = strings.ReplaceAll(l.text, "\n", "\n        ")
	return l
}

// printOutput prints a line of a container's output. It writes the line unchanged to out if out is
// set, as for sluice run.
func (l *lineRenderer) printOutput(p sluice.Printed) {
	if l.out != nil {
		fmt.Fprintln(l.out, p.Line)
		return
	}
	fmt.Fprintln(l.w, l.paint.Dim("        "+printable.Line(p.Container+" | "+p.Line)))
}

func (l *lineRenderer) ReplayEvent(e sluice.Envelope) {
	if l.began.IsZero() {
		l.began = e.At
	}
}

func (l *lineRenderer) ShowNote(s string) { fmt.Fprintln(l.w, s) }

// writeSection opens and closes the sections of a CI log and writes warnings as annotations. A failure is one annotation
// at the end of the deployment, which is not written here. It reports whether it has shown the event, so that no line is
// needed.
func (l *lineRenderer) writeSection(e sluice.Envelope, words line) bool {
	switch ev := e.Open().(type) {
	case sluice.StageStarted:
		l.closeSection(e.At)
		l.section = fmt.Sprintf("stage_%d_%d", ev.Index+1, ev.Attempt)
		if text := l.ci.openSection(l.paint, l.section, printable.Line(words.text), e.At); text != "" {
			fmt.Fprintln(l.w, text)
			return true
		}
	case sluice.DeploymentEnded, sluice.DeploymentPaused:
		l.closeSection(e.At)
	case sluice.Warned, sluice.ApprovalAwaited, sluice.Unanswered:
		if l.ci.annotates() {
			fmt.Fprintln(l.w, l.paint.Annotation("warning", l.paint.ARNs(strings.TrimPrefix(words.text, "warning: ")), ""))
		}
	}
	return false
}

func (l *lineRenderer) closeSection(at time.Time) {
	if text := l.ci.closeSection(l.paint, l.section, at); l.section != "" && text != "" {
		fmt.Fprintln(l.w, text)
	}
	l.section = ""
}

func (l *lineRenderer) Close() { l.closeSection(l.last) }

// indentOf returns the indent of an event: two spaces within a stage, none otherwise.
func indentOf(ev sluice.Event) string {
	switch ev.(type) {
	case sluice.DeploymentStarted, sluice.DeploymentEnded, sluice.DeploymentPaused, sluice.DeploymentResumed,
		sluice.StageStarted, sluice.RollbackStarted:
		return ""
	}
	return "  "
}

func colorLine(p Paint, l line) string {
	if !l.verbatim {
		l.text = p.ARNs(l.text)
	}
	switch l.level {
	case faint:
		return p.Dim(l.text)
	case title:
		return p.Bold(l.text)
	case success:
		return p.Good(l.text)
	case warning:
		return p.Warn(l.text)
	case failure:
		return p.Bad(l.text)
	}
	return l.text
}

// FormatElapsed formats a duration as minutes and seconds, with hours if there are any.
func FormatElapsed(d time.Duration) string {
	s := max(0, int(d/time.Second))
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}
