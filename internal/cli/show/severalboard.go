package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// severalBoard is the progress of several applications on one terminal.
type severalBoard struct {
	area    *liveArea
	paint   Paint
	width   int // of the names
	entries []*boardEntry
}

// boardEntry is one application on the board.
type boardEntry struct {
	name  string
	state string // text before its deployment begins, or after its end
	board *Board // nil: no deployment yet
	ended bool   // no further events
}

// detail is how much of each running deployment the board shows.
type detail int

const (
	allStages detail = iota // each stage, and the tasks
	onlyTasks               // the running stage, and the tasks
	oneLine                 // the running stage
)

func newSeveralBoard(t Terminal, names []string, width int, c clock.Clock) *severalBoard {
	b := &severalBoard{paint: t.ErrPaint, width: width}
	for _, name := range names {
		b.entries = append(b.entries, &boardEntry{name: name, state: "waits for its turn"})
	}
	b.area = newLiveArea(t.Err, t.ErrPaint, t.Size, func(width, height int) []string {
		return b.renderLines(c.Now(), width, height)
	})
	return b
}

// renderLines returns the board as lines. If the height is too small, it shows less of each
// application, and then fewer applications.
func (b *severalBoard) renderLines(now time.Time, width, height int) []string {
	for d := allStages; d <= oneLine; d++ {
		var all []string
		for _, e := range b.entries {
			all = append(all, b.entryLines(e, now, width, d)...)
		}
		if height <= 0 || len(all) < height {
			return b.clipLines(all, width)
		}
	}
	return b.clipLines(b.fewLines(now, max(height-1, 1)), width)
}

func (b *severalBoard) clipLines(all []string, width int) []string {
	for i := range all {
		all[i] = b.paint.ClipLine(all[i], width)
	}
	return all
}

// fewLines returns one line for as many applications as there is room for: first those that run,
// then the others. The last line counts the rest.
func (b *severalBoard) fewLines(now time.Time, room int) []string {
	var first, others []*boardEntry
	for _, e := range b.entries {
		if e.board != nil && !e.ended {
			first = append(first, e)
		} else {
			others = append(others, e)
		}
	}
	var all []string
	ordered := append(first, others...)
	for _, e := range ordered[:min(room-1, len(ordered))] {
		all = append(all, b.headLine(e, now, oneLine))
	}
	return append(all, b.paint.Dim(fmt.Sprintf("and %s", sluice.Plural(len(ordered)-len(all), "more application"))))
}

func (b *severalBoard) entryLines(e *boardEntry, now time.Time, width int, d detail) []string {
	all := []string{b.headLine(e, now, d)}
	if e.board == nil || e.ended || d == oneLine {
		return all
	}
	if d == allStages {
		for _, l := range e.board.stageLines(now, b.paint, width-2) {
			all = append(all, "  "+l)
		}
	}
	return append(all, e.board.footLines(b.paint, width)...)
}

// headLine returns the name of an application, its state, and its running stage or its revisions.
func (b *severalBoard) headLine(e *boardEntry, now time.Time, d detail) string {
	name := b.paint.Bold(PadRight(clipName(e.name, b.width), b.width))
	switch {
	case e.board == nil:
		return name + "  " + b.paint.Dim(e.state)
	case e.ended:
		return name + "  " + FormatElapsed(e.board.elapsed(now)) + "  " + b.resultText(e)
	case d == allStages:
		return name + "  " + FormatElapsed(e.board.elapsed(now)) + "  " + PlanRevisions(e.board.plan)
	}
	return name + "  " + FormatElapsed(e.board.elapsed(now)) + "  " + e.board.stageText()
}

func (b *severalBoard) resultText(e *boardEntry) string {
	if strings.HasPrefix(e.state, string(sluice.Succeeded)) {
		return b.paint.Good(e.state)
	}
	return b.paint.Bad(e.state)
}

// elapsed returns how long the deployment has run.
func (b *Board) elapsed(now time.Time) time.Duration {
	switch {
	case b.began.IsZero():
		return 0
	case !b.ended.IsZero():
		now = b.ended
	}
	return now.Sub(b.began)
}

// stageText describes the stage that runs or ran last: "3 of 7 WAIT 10s".
func (b *Board) stageText() string {
	last := -1
	for i, s := range b.stages {
		if s.status != "" {
			last = i
		}
	}
	if last < 0 {
		return "begins"
	}
	what := b.plan.Stage(last)
	text := what.Name + " " + mode.StageText(b.plan, what)
	if last < len(b.plan.Stages) {
		text = fmt.Sprintf("%d of %d ", last+1, len(b.plan.Stages)) + text
	}
	return strings.TrimSpace(text)
}

// newRenderer returns the renderer of a deployment of an application. A later one replaces it.
func (b *severalBoard) newRenderer(entry int, pl *plan.Plan) Renderer {
	e := b.entries[entry]
	b.area.update(func() []string {
		e.board, e.ended = NewBoard(pl), false
		return nil
	})
	return &entryRenderer{board: b, entry: e}
}

// setState sets the text of an application that no deployment runs for.
func (b *severalBoard) setState(entry int, state string, ended bool) {
	b.area.update(func() []string {
		b.entries[entry].state, b.entries[entry].ended = state, ended
		return nil
	})
}

// entryRenderer shows the events of one application on the board.
type entryRenderer struct {
	board  *severalBoard
	entry  *boardEntry
	causes causeMemory
}

func (r *entryRenderer) ShowEvent(e sluice.Envelope) {
	r.board.area.update(func() []string {
		r.entry.board.ApplyEvent(e)
		return r.board.named(r.entry, linesAbove(r.board.paint.WithNames(r.entry.board.plan), e, &r.causes))
	})
}

func (r *entryRenderer) ReplayEvent(e sluice.Envelope) {
	r.board.area.mu.Lock()
	defer r.board.area.mu.Unlock()
	r.entry.board.ApplyEvent(e)
}

func (r *entryRenderer) ShowNote(s string) {
	r.board.area.update(func() []string { return r.board.named(r.entry, []string{s}) })
}

func (r *entryRenderer) Close() {}

// named puts the name of an application before lines.
func (b *severalBoard) named(e *boardEntry, all []string) []string {
	for i := range all {
		all[i] = linePrefix(b.paint, e.name, b.width) + all[i]
	}
	return all
}
