package show

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/sluice-ecs/sluice"
)

// JSONLines writes each event in the JSON of the journal, after a first line that names the
// schema.
type JSONLines struct {
	stream      *jsonStream
	application string // of the events; empty: unknown
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
	e.Application = j.application
	j.stream.mu.Lock()
	defer j.stream.mu.Unlock()
	j.stream.writeHead()
	j.stream.writeLine(e)
}

func (j *JSONLines) WriteHead() {
	j.stream.mu.Lock()
	defer j.stream.mu.Unlock()
	j.stream.writeHead()
}

// WriteLine writes v as one line of JSON. It does not escape characters for HTML.
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
	enc := json.NewEncoder(s.w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}

func (j *JSONLines) ReplayEvent(sluice.Envelope) {}

func (j *JSONLines) ShowNote(s string) { fmt.Fprintln(j.stream.notes, s) }

func (j *JSONLines) Close() { j.WriteHead() }
