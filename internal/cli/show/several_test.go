package show

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// runningBoard returns a board of n applications. All but the last have a deployment in progress.
func runningBoard(n int) *severalBoard {
	b := &severalBoard{width: 6, area: &liveArea{w: &bytes.Buffer{}, size: func() (int, int) { return 80, 24 },
		render: func(int, int) []string { return nil }}}
	for i := range n {
		e := &boardEntry{name: fmt.Sprint("app", i), state: "waits for its turn"}
		b.entries = append(b.entries, e)
		if i < n-1 {
			r := b.newRenderer(i, canaryPlan())
			for _, ev := range failedCanaryEvents()[:12] {
				r.ShowEvent(ev)
			}
		}
	}
	return b
}

// The board of several applications fits the terminal, whatever its size, and shows those that run.
func TestSeveralBoardFitsTheTerminal(t *testing.T) {
	for _, c := range []struct {
		applications, height int
		want                 []string
	}{
		{3, 60, []string{"app0", "4 WAIT", "app1", "app2", "waits for its turn"}},
		{3, 12, []string{"app0", "canary  web:2", "app1", "app2"}},
		{3, 4, []string{"app0", "app1", "app2"}},
		{9, 5, []string{"app0", "app1", "app2", "and 6 more applications"}},
		{9, 2, []string{"and 9 more applications"}},
	} {
		for _, width := range []int{30, 80} {
			rows := runningBoard(c.applications).renderLines(start, width, c.height)
			if len(rows) >= c.height {
				t.Errorf("%d applications: %d rows on a terminal of %d", c.applications, len(rows), c.height)
			}
			text := strings.Join(rows, "\n")
			for _, r := range rows {
				if visible(r) > width {
					t.Errorf("%d columns on a terminal of %d: %q", visible(r), width, r)
				}
			}
			for _, want := range c.want {
				if !strings.Contains(text, want[:min(len(want), 20)]) {
					t.Errorf("%d applications on %dx%d: no %q in\n%s", c.applications, width, c.height, want, text)
				}
			}
		}
	}
}

// Without a terminal, the lines of each application begin with its name, and no line is torn.
func TestSeveralAsLines(t *testing.T) {
	var b bytes.Buffer
	s := Terminal{Out: &b, Err: &b}.NewSeveral([]string{"web", "a-very-long-name-of-an-application"},
		clock.NewVirtual(start))
	first, second := s.Terminal(0), s.Terminal(1)
	fmt.Fprint(first.Err, "torn ")
	fmt.Fprint(second.Err, "one\ntwo\n")
	fmt.Fprint(first.Err, "line\n")
	r := first.NewRenderer(canaryPlan(), clock.NewVirtual(start))
	e := sluice.Seal("slc-1", "", sluice.Warned{Message: "late"})
	e.At = start
	r.ShowEvent(e)
	s.ShowNote("pausing")
	s.Close()
	want := "a-very-long-name-of… | one\na-very-long-name-of… | two\n" +
		"web                  | torn line\nweb                  | 00:00   warning: late\npausing\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// A status line shows the call that has lasted longest, and leaves nothing on the screen.
func TestStatusLineOfCalls(t *testing.T) {
	var calls Calls
	if got := calls.Text(0); got != "reading AWS 00:00" {
		t.Error(got)
	}
	endFirst := calls.Begin("ecs:DescribeServices", "prod/web")
	endSecond := calls.Begin("elasticloadbalancing:DescribeRules",
		"arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/app/web/1/2")
	if got := calls.Text(0); got != "reading AWS 00:00: ecs:DescribeServices prod/web, for 00:00" {
		t.Error(got)
	}
	endFirst()
	if got := calls.Text(0); !strings.Contains(got, ": elasticloadbalancing:DescribeRules listener of web, for") {
		t.Error(got)
	}
	endSecond()
	screen := &screen{}
	l := &StatusLine{&liveArea{w: screen, size: func() (int, int) { return 80, 24 },
		render: func(int, int) []string { return []string{"reading"} }, stop: make(chan struct{}), done: make(chan struct{})}}
	close(l.area.done)
	l.ShowNote("AWS does not respond")
	if got := strings.Join(screen.rows, "|"); got != "AWS does not respond|reading" {
		t.Error(got)
	}
	l.Close()
	if got := strings.Join(screen.rows, "|"); got != "AWS does not respond" {
		t.Error(got)
	}
	if (Terminal{Out: screen, Err: screen}).NewStatusLine(nil) != nil {
		t.Error("a status line without a terminal")
	}
}
