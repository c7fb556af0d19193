package show

import (
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/cli/goldentest"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// screen is as much of a terminal as the live view uses: lines, and the moves up
// and down to the end that erase.
type screen struct{ rows []string }

func (s *screen) Write(b []byte) (int, error) {
	text := string(b)
	for text != "" {
		switch {
		case strings.HasPrefix(text, "\x1b["):
			end := strings.IndexAny(text, "AJ")
			s.escape(text[2:end], text[end])
			text = text[end+1:]
		case text[0] == '\r':
			text = text[1:]
		default:
			row, rest, _ := strings.Cut(text, "\n")
			s.rows = append(s.rows, row)
			text = rest
		}
	}
	return len(b), nil
}

func (s *screen) escape(count string, what byte) {
	if n, err := strconv.Atoi(count); what == 'A' && err == nil {
		s.rows = s.rows[:len(s.rows)-n]
	}
}

func TestLiveKeepsTheLastBoard(t *testing.T) {
	s := &screen{}
	now := clock.NewVirtual(start)
	l := newProgressView(s, Paint{}, NewBoard(canaryPlan()), now, func() (int, int) { return 100, 24 })
	for _, e := range failedCanaryEvents() {
		l.ShowEvent(e)
	}
	l.ShowNote("pausing")
	l.Close()
	goldentest.Check(t, "live.txt", strings.Join(s.rows, "\n")+"\n")
}

// A board that is too high for the terminal keeps the running stage in sight;
// one that is too wide is cut, not broken.
func TestBoardFitsTheTerminal(t *testing.T) {
	b := NewBoard(canaryPlan())
	for _, e := range failedCanaryEvents()[:12] {
		b.ApplyEvent(e)
	}
	rows := b.renderLines(start, 30, 6, Paint{on: true})
	if len(rows) > 5 {
		t.Errorf("%d rows on a terminal of 6", len(rows))
	}
	running := false
	for _, r := range rows {
		running = running || strings.Contains(r, "running")
		if n := visible(r); n > 30 {
			t.Errorf("%d columns on a terminal of 30: %q", n, r)
		}
	}
	if !running {
		t.Errorf("the running stage is out of sight:\n%s", strings.Join(rows, "\n"))
	}
}

func visible(s string) int {
	n, escape := 0, false
	for _, r := range s {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			n++
		}
	}
	return n
}
