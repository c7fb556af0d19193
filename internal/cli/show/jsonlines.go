package show

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/sluice-ecs/sluice"
)

// JSONLines writes each event in the JSON of the journal, after a first line that names the
// schema.
type JSONLines struct {
	stream      *jsonStream
	application string // of the events; empty: unknown
	from        string // the revision that served before
	revision    string // the revision that is deployed; empty: no event has named it yet
}

// jsonStream is the output of one or several JSONLines.
type jsonStream struct {
	w           io.Writer
	notes       io.Writer // for people
	mu          sync.Mutex
	headWritten bool
}

func NewJSONLines(w, notes io.Writer) *JSONLines {
	return &JSONLines{stream: &jsonStream{w: w, notes: notes}}
}

// Of returns JSONLines for the events of an application, on the same output.
func (j *JSONLines) Of(application string) *JSONLines {
	return &JSONLines{stream: j.stream, application: application}
}

func (j *JSONLines) ShowEvent(e sluice.Envelope) {
	j.stream.mu.Lock()
	defer j.stream.mu.Unlock()
	j.noteRevision(e)
	e.Application, e.Revision = j.application, cmp.Or(e.Revision, j.revision)
	j.stream.writeHead()
	j.stream.writeLine(e)
}

func (j *JSONLines) WriteHead() {
	j.stream.mu.Lock()
	defer j.stream.mu.Unlock()
	j.stream.writeHead()
}

// WriteLine writes v as one line of JSON.
func (j *JSONLines) WriteLine(v any) {
	j.stream.mu.Lock()
	defer j.stream.mu.Unlock()
	j.stream.writeLine(v)
}

func (s *jsonStream) writeHead() {
	if !s.headWritten {
		s.headWritten = true
		s.writeLine(struct {
			Schema string `json:"schema"`
		}{sluice.EventSchema})
	}
}

func (s *jsonStream) writeLine(v any) {
	_ = WriteJSON(s.w, v)
}

// ReplayEvent writes nothing: the event was written when it occurred.
func (j *JSONLines) ReplayEvent(e sluice.Envelope) {
	j.stream.mu.Lock()
	defer j.stream.mu.Unlock()
	j.noteRevision(e)
}

// noteRevision stores the revision that a deployment deploys as soon as an event names it: the start, if it is
// registered already, its registration, or else the first tasks of a revision that did not serve before.
func (j *JSONLines) noteRevision(e sluice.Envelope) {
	switch ev := e.Open().(type) {
	case sluice.DeploymentStarted:
		j.from, j.revision = ev.From, ""
		if strings.Contains(ev.To, ":") {
			j.revision = ev.To
		}
	case sluice.Wrote:
		if j.revision == "" && ev.Operation == "ecs:RegisterTaskDefinition" && ev.Cause == "" {
			j.revision = ev.Result // a later one is the copy that a rollback registers
		}
	case sluice.CapacityChanged:
		if j.revision == "" && ev.Variant != sluice.Leaving && ev.Revision != j.from {
			j.revision = ev.Revision
		}
	}
}

func (j *JSONLines) ShowNote(s string) { fmt.Fprintln(j.stream.notes, s) }

func (j *JSONLines) Close() { j.WriteHead() }
