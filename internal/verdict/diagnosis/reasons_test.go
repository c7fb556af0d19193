package diagnosis

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
)

// published is one line of testdata/published.txt.
type published struct{ place, kind, remedy, text string }

func readPublished(t *testing.T) (all []published) {
	t.Helper()
	data, err := os.ReadFile("testdata/published.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.SplitN(strings.TrimSpace(line), "; ", 4); !strings.HasPrefix(line, "#") {
			all = append(all, published{f[0], f[1], f[2], f[3]})
		}
	}
	return all
}

// cause is the cause that sluice finds where AWS publishes the reason.
func (p published) cause() Cause {
	switch p.place {
	case "start":
		c, _ := ExplainStop(Stopped{StoppedTask: sluice.StoppedTask{ID: "t", StopCode: "TaskFailedToStart",
			StoppedReason: p.text}}, nil)
		return c
	case "event":
		c, _ := explainEvent(Event{Message: p.text})
		return c
	case "target":
		c, _ := ExplainTarget(sluice.Target{ID: "10.0.0.1", Port: 80, State: "unhealthy", Description: p.text})
		return c
	}
	return Cause{Kind: kindOfText(p.text), Text: p.text}
}

// Each reason that AWS publishes has its kind and its own remedy.
func TestPublishedReasonsHaveTheirRemedies(t *testing.T) {
	all := readPublished(t)
	if len(all) < 60 {
		t.Errorf("%d published reasons, want at least 60", len(all))
	}
	for _, p := range all {
		if c := p.cause(); string(c.Kind) != p.kind || !strings.Contains(c.Advice(), p.remedy) {
			t.Errorf("%s %q:\n is %q with %q\n want %q with %q", p.place, p.text, c.Kind, c.Advice(), p.kind, p.remedy)
		}
	}
}

// Every row of the table explains a published reason, and no row hides a later one.
func TestEveryReasonIsPublished(t *testing.T) {
	used := map[string]bool{}
	for _, p := range readPublished(t) {
		r, ok := firstReason(p.cause().Text, func(r reason) bool { return string(r.kind) == p.kind })
		if ok {
			used[r.match().String()] = true
		}
	}
	others := []string{"dependency graph:", "outofmemoryerror"} // their texts are in other tests
	for _, r := range slices.Concat(reasons...) {
		if pattern := r.match().String(); !used[pattern] && !slices.ContainsFunc(others, func(o string) bool {
			return strings.Contains(pattern, o)
		}) {
			t.Errorf("no published reason has the pattern %s", pattern)
		}
	}
}

// A reason that prevents a start explains no container that ran, and a text that AWS does not publish has the advice
// of its kind.
func TestReasonsThatExplainNothing(t *testing.T) {
	one := 1
	c, _ := ExplainStop(Stopped{StoppedTask: sluice.StoppedTask{ID: "t", StopCode: "EssentialContainerExited", ExitCode: &one,
		ContainerReason: "cannot retrieve secret: dial tcp: i/o timeout"}}, nil)
	if c.Kind != ExitCode || c.Advice() != ExitCode.Advice() {
		t.Errorf("a program that ended by itself: %s, %s", c.Kind, c.Advice())
	}
	if c := (published{place: "start", text: "Something new"}).cause(); c.Kind != OtherCause || c.Advice() != ReadEvents {
		t.Errorf("an unknown reason: %s, %s", c.Kind, c.Advice())
	}
}
