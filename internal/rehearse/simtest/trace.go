package simtest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// Trace is what a change of sluice's internals must not change. It contains what one case wrote to
// AWS, saved in the journal and emitted, in that order, and how it ended; a line each.
type Trace struct {
	Writes, Saved, Events, End string

	Refused []string // events that the schema of events does not allow, and why
}

// Digest returns a trace in one line. Its four parts show which part of two traces differs.
func (t Trace) Digest() string {
	of := func(text string) string { return fmt.Sprintf("%.5x", sha256.Sum256([]byte(text))) }
	return fmt.Sprintf("writes %s saved %s events %s end %s", of(t.Writes), of(t.Saved), of(t.Events), of(t.End))
}

// RunTraced runs a case as [Run] does, and traces it. check returns why an event is none that its schema allows.
func RunTraced(c rehearse.Case, check func(sluice.Envelope) error) (rehearse.Result, Trace) {
	t := &tracer{check: check}
	r := runCase(c, t).Report.Result
	return r, t.buildTrace(r)
}

// tracer writes a trace while a case runs. A nil tracer writes none.
type tracer struct {
	writes, saved, events strings.Builder
	check                 func(sluice.Envelope) error
	refused               []string
}

func (t *tracer) traceWrite(operation string, input any) {
	if t == nil {
		return
	}
	text, err := json.Marshal(input)
	fmt.Fprintf(&t.writes, "%s %s%s\n", operation, text, errorSuffix(err))
}

// traceRow receives each row of the journal after it is written.
func (t *tracer) traceRow(f *rehearse.Rehearsal, op string) {
	key, isSaved := strings.CutPrefix(op, "save ")
	if t == nil || !isSaved {
		return
	}
	value, err := f.Processes.LoadValue(key)
	fmt.Fprintf(&t.saved, "%s %s%s\n", key, value, errorSuffix(err))
}

func (t *tracer) traceEvent(e sluice.Envelope) {
	if t == nil {
		return
	}
	fmt.Fprintf(&t.events, "[%s] %s %s\n", e.Stage, e.Kind, e.Data)
	if err := t.check(e); err != nil {
		t.refused = append(t.refused, err.Error())
	}
}

// buildTrace omits from the result how often AWS was read, and when.
func (t *tracer) buildTrace(r rehearse.Result) Trace {
	r.Calls, r.Log = 0, ""
	end, err := json.MarshalIndent(r, "", " ")
	return Trace{Writes: t.writes.String(), Saved: t.saved.String(), Events: t.events.String(),
		End: fmt.Sprintf("%s%s\n", end, errorSuffix(err)), Refused: t.refused}
}

func errorSuffix(err error) string {
	if err == nil {
		return ""
	}
	return " " + err.Error()
}
