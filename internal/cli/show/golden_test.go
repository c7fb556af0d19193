package show

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/cli/goldentest"
)

func play(r Renderer) {
	for _, e := range failedCanaryEvents() {
		r.ShowEvent(e)
	}
	r.Close()
}

func TestLines(t *testing.T) {
	var b bytes.Buffer
	play(&lineRenderer{w: &b})
	goldentest.Check(t, "lines.txt", b.String())
}

func TestLinesOnGitHub(t *testing.T) {
	var b bytes.Buffer
	play(&lineRenderer{w: &b, ci: GitHub})
	goldentest.Check(t, "github.txt", b.String())
}

// Stages are sections of GitLab, with the time of their begin and end.
func TestLinesOnGitLab(t *testing.T) {
	var b bytes.Buffer
	play(&lineRenderer{w: &b, ci: GitLab})
	goldentest.Check(t, "gitlab.txt", b.String())
}

func TestJSONLines(t *testing.T) {
	var b, notes bytes.Buffer
	play(NewJSONLines(&b, &notes))
	goldentest.Check(t, "events.jsonl", b.String())
}

func TestPlanView(t *testing.T) {
	var b bytes.Buffer
	if err := (planView{}).writePlan(&b, canaryPlan()); err != nil {
		t.Fatal(err)
	}
	goldentest.Check(t, "plan.txt", b.String())
}

func TestPlanViewWithoutChanges(t *testing.T) {
	p := canaryPlan()
	p.Changes, p.Notes, p.From, p.To = nil, nil, "web:2", "web:2"
	var b bytes.Buffer
	if err := (planView{}).writePlan(&b, p); err != nil {
		t.Fatal(err)
	}
	goldentest.Check(t, "nochanges.txt", b.String())
}

// The board is drawn after each of some moments.
func TestBoard(t *testing.T) {
	b := NewBoard(canaryPlan())
	var out strings.Builder
	for i, e := range failedCanaryEvents() {
		b.ApplyEvent(e)
		switch i {
		case 2, 5, 12, 14, 21:
			out.WriteString("after " + e.Kind + ":\n" + strings.Join(b.renderLines(e.At, 100, 24, Paint{}), "\n") +
				"\n\n")
		}
	}
	goldentest.Check(t, "board.txt", out.String())
}
