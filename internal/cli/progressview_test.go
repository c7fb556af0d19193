package cli

import (
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
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
	l := newProgressView(s, paint{}, newProgressBoard(canaryPlan()), now, func() (int, int) { return 100, 24 })
	for _, e := range failedCanaryEvents() {
		l.showEvent(e)
	}
	l.showNote("pausing")
	l.close()
	golden(t, "live.txt", strings.Join(s.rows, "\n")+"\n")
}

// A board that is too high for the terminal keeps the running stage in sight;
// one that is too wide is cut, not broken.
func TestBoardFitsTheTerminal(t *testing.T) {
	b := newProgressBoard(canaryPlan())
	for _, e := range failedCanaryEvents()[:12] {
		b.applyEvent(e)
	}
	rows := b.renderLines(start, 30, 6, paint{on: true})
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

func TestExitCodeOfErrors(t *testing.T) {
	denied := &sluice.Error{Op: "plan", Err: &sluice.Error{Kind: sluice.Denied}, Kind: sluice.Conflict}
	for want, err := range map[int]error{
		sluice.ExitDenied:     denied,
		sluice.ExitStopped:    errInterrupted,
		sluice.ExitSuperseded: &sluice.Error{Kind: sluice.Overtaken},
		sluice.ExitUsage:      &sluice.Error{Kind: sluice.NotFound},
	} {
		if got := exitCode(err); got != want {
			t.Errorf("%v: exit code %d, not %d", err, got, want)
		}
	}
}

func TestAnnotationsAreOneLine(t *testing.T) {
	if got, want := (paint{}).annotationText("error", "50% of\r\ntwo", "file=a"),
		"::error file=a::50%25 of%0D%0Atwo"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
