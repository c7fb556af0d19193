package show

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/sluice-ecs/sluice/internal/clock"
)

// Several shows the deployments of several applications that run concurrently: on a terminal as one
// board, otherwise as lines that begin with the name of the application, or as one stream of JSON
// Lines.
type Several struct {
	terminal Terminal
	names    []string
	width    int // of the names
	board    *severalBoard
	json     *JSONLines
	mu       sync.Mutex // one line at a time
}

// maxNameWidth is how many characters of an application's name are shown.
const maxNameWidth = 20

// NewSeveral returns the output for applications of those names.
func (t Terminal) NewSeveral(names []string, c clock.Clock) *Several {
	s := &Several{terminal: t, names: names}
	for _, name := range names {
		s.width = min(max(s.width, len([]rune(name))), maxNameWidth)
	}
	switch {
	case t.JSON:
		s.json = NewJSONLines(t.Out, t.Err)
	case t.Size != nil && t.CI == NoCI:
		s.board = newSeveralBoard(t, names, s.width, c)
	}
	return s
}

// Terminal returns what the commands of one application write to.
func (s *Several) Terminal(entry int) Terminal {
	t := s.terminal
	t.Size, t.CI, t.OutPaint = nil, t.CI.withoutSections(), Paint{own: t.OutPaint.own, verbose: t.OutPaint.verbose}
	t.Err = &namedWriter{several: s, entry: entry}
	if s.json != nil {
		t.stream = s.json.Of(s.names[entry])
		return t
	}
	t.Out, t.board, t.entry = t.Err, s.board, entry
	return t
}

// SetState shows the state of an application: before its deployment, or after its end.
func (s *Several) SetState(entry int, state string, ended bool) {
	if s.board != nil {
		s.board.setState(entry, state, ended)
	}
}

// ShowNote shows a line that belongs to no application.
func (s *Several) ShowNote(text string) {
	if s.board != nil {
		s.board.area.update(func() []string { return []string{text} })
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.terminal.Err, text)
}

// Close ends the output. The last state of the board stays on the screen.
func (s *Several) Close() {
	switch {
	case s.board != nil:
		s.board.area.close(true)
	case s.json != nil:
		s.json.WriteHead()
	}
}

// writeLine writes a line of an application.
func (s *Several) writeLine(entry int, line string) {
	if s.board != nil {
		s.board.area.update(func() []string { return s.board.named(s.board.entries[entry], []string{line}) })
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.terminal.ErrPaint
	if !strings.HasPrefix(line, p.own.Raw("::")) { // a command of a CI system must begin its line
		line = linePrefix(p, s.names[entry], s.width) + line
	}
	fmt.Fprintln(s.terminal.Err, line)
}

// linePrefix returns the name of an application as the begin of a line.
func linePrefix(p Paint, name string, width int) string {
	return p.Bold(PadRight(clipName(name, width), width)) + " | "
}

// clipName cuts a name that is longer than width.
func clipName(name string, width int) string {
	if all := []rune(name); len(all) > width && width > 0 {
		return string(all[:width-1]) + "…"
	}
	return name
}

// namedWriter writes each complete line with the name of its application.
type namedWriter struct {
	several *Several
	entry   int
	mu      sync.Mutex
	partial bytes.Buffer // of a line that is not complete
}

func (w *namedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.partial.Write(p)
	for {
		line, err := w.partial.ReadString('\n')
		if err == io.EOF {
			w.partial.WriteString(line)
			return len(p), nil
		}
		w.several.writeLine(w.entry, strings.TrimSuffix(line, "\n"))
	}
}
