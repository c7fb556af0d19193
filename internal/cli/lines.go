package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/printable"
)

// renderer shows events as they come.
type renderer interface {
	// event shows one event. It is called by one goroutine at a time.
	event(sluice.Envelope)
	// recall takes in an event of an earlier run without showing it.
	recall(sluice.Envelope)
	// note shows a line that is no event.
	note(string)
	// close ends the showing; nothing comes after it.
	close()
}

// lines writes one line per change: the time since the first event, the words.
type lines struct {
	w      io.Writer
	out    io.Writer // what containers print goes here; nil: among the lines
	paint  paint
	groups bool // GitHub Actions: stages fold, warnings and errors are annotated
	began  time.Time
	open   bool // a group is
	last   string
}

func (l *lines) event(e sluice.Envelope) {
	if l.began.IsZero() {
		l.began = e.At
	}
	ev, words := e.Open(), say(e)
	if printed, ok := ev.(sluice.Printed); ok {
		l.print(printed)
		return
	}
	if words.text == "" || words.text == l.last {
		return // it changed in what is not shown
	}
	l.last = words.text
	if l.groups && l.group(ev, words) {
		return
	}
	fmt.Fprintf(l.w, "%s %s%s\n", l.paint.dim(elapsed(e.At.Sub(l.began))), indent(ev), colored(l.paint, words.indented()))
	if ended, ok := ev.(sluice.StageEnded); ok && ended.Next != "" {
		fmt.Fprintf(l.w, "%s   next: %s\n", elapsed(e.At.Sub(l.began)), ended.Next)
	}
}

// indented sets off further lines of a text, so that none of them looks like a line
// of its own.
func (l line) indented() line {
	l.text = strings.ReplaceAll(l.text, "\n", "\n        ")
	return l
}

// print shows what a container printed: as it is, if it is what the verb is
// there for.
func (l *lines) print(p sluice.Printed) {
	if l.out != nil {
		fmt.Fprintln(l.out, p.Line)
		return
	}
	fmt.Fprintln(l.w, l.paint.dim("        "+printable.Line(p.Container+" | "+p.Line)))
}

func (l *lines) recall(e sluice.Envelope) {
	if l.began.IsZero() {
		l.began = e.At
	}
}

func (l *lines) note(s string) { fmt.Fprintln(l.w, s) }

// group opens and closes the folds of a CI log, and annotates. It reports
// whether that tells the event already.
func (l *lines) group(ev sluice.Event, words line) bool {
	_, starts := ev.(sluice.StageStarted)
	_, ends := ev.(sluice.DeploymentEnded)
	_, pauses := ev.(sluice.DeploymentPaused)
	if starts || ends || pauses {
		l.fold()
	}
	switch {
	case starts:
		fmt.Fprintln(l.w, l.paint.own.Raw("::")+"group::"+printable.Line(words.text))
		l.open = true
		return true
	case words.level == warning:
		fmt.Fprintln(l.w, l.paint.annotation("warning", strings.TrimPrefix(words.text, "warning: "), ""))
	case words.level == failure:
		fmt.Fprintln(l.w, l.paint.annotation("error", words.text, ""))
	}
	return false
}

func (l *lines) fold() {
	if l.open {
		fmt.Fprintln(l.w, l.paint.own.Raw("::")+"endgroup::")
		l.open = false
	}
}

func (l *lines) close() { l.fold() }

// indent sets off what happens within a stage.
func indent(ev sluice.Event) string {
	switch ev.(type) {
	case sluice.DeploymentStarted, sluice.DeploymentEnded, sluice.DeploymentPaused, sluice.DeploymentResumed,
		sluice.StageStarted, sluice.RollbackStarted:
		return ""
	}
	return "  "
}

func colored(p paint, l line) string {
	switch l.level {
	case faint:
		return p.dim(l.text)
	case title:
		return p.bold(l.text)
	case success:
		return p.good(l.text)
	case warning:
		return p.warn(l.text)
	case failure:
		return p.bad(l.text)
	}
	return l.text
}

// elapsed is minutes and seconds, with hours if there are any.
func elapsed(d time.Duration) string {
	s := max(0, int(d/time.Second))
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// jsonLines writes each event as it is journaled, after a line that names the
// schema.
type jsonLines struct {
	w     io.Writer
	notes io.Writer // for people
	told  bool
}

func (j *jsonLines) event(e sluice.Envelope) {
	j.head()
	j.line(e)
}

func (j *jsonLines) head() {
	if !j.told {
		j.told = true
		j.line(struct {
			Schema string `json:"schema"`
		}{sluice.EventSchema})
	}
}

// line writes v. Characters are not escaped for HTML.
func (j *jsonLines) line(v any) {
	enc := json.NewEncoder(j.w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}

func (j *jsonLines) recall(sluice.Envelope) {}

func (j *jsonLines) note(s string) { fmt.Fprintln(j.notes, s) }

func (j *jsonLines) close() { j.head() }
