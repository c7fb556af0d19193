package show

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// The board asks a person until the person answers: the writes that keep the claim do not replace the question, and
// an 80-column terminal shows it in full.
func TestBoardAsksUntilAnswered(t *testing.T) {
	withoutApproval := canaryPlan()
	withoutApproval.Stages = withoutApproval.Stages[:3]
	withoutApproval.Rollback.Index = 3
	for name, c := range map[string]struct {
		plan     *plan.Plan
		question sluice.ApprovalAwaited
		left     string
	}{
		"a gate without a verdict": {withoutApproval, sluice.ApprovalAwaited{Index: 2, Missing: 1, Undecided: "errors"},
			"left without approvals"},
		"an approval": {canaryPlan(),
			sluice.ApprovalAwaited{Index: 3, Missing: 1, Approvers: []string{"ana", "ben"}}, ""},
	} {
		b := NewBoard(c.plan)
		at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
		apply := func(e sluice.Event) {
			at = at.Add(time.Second)
			sealed := sluice.Seal("slc-1", "", e)
			sealed.At = at
			b.ApplyEvent(sealed)
		}
		claim := sluice.Write{Operation: "ecs:TagResource", Resource: "prod/web"}
		index := c.question.Index
		for i := range index {
			apply(sluice.StageStarted{Index: i, Name: b.plan.Stages[i].Name, Attempt: 1})
			apply(sluice.StageEnded{Index: i, Name: b.plan.Stages[i].Name, Status: "done"})
		}
		apply(sluice.StageStarted{Index: index, Name: b.plan.Stages[index].Name, Attempt: 1})
		apply(c.question)
		want := approvalAwaitedText(c.question)
		for range 2 {
			lines := b.renderLines(at, 80, 40, Paint{})
			shown := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
			if !strings.Contains(shown, want) || !strings.Contains(shown, c.left) {
				t.Errorf("%s: %q or %q is not in\n%s", name, want, c.left, strings.Join(lines, "\n"))
			}
			for _, l := range lines {
				if utf8.RuneCountInString(l) > 80 {
					t.Errorf("%s: wider than the terminal: %q", name, l)
				}
			}
			apply(sluice.Writing{Write: claim})
			apply(sluice.Wrote{Write: claim})
		}
		apply(sluice.Approved{By: "ana"})
		if lines := b.renderLines(at, 80, 40, Paint{}); strings.Contains(strings.Join(lines, " "), "waiting for") {
			t.Errorf("%s: it asks on\n%s", name, strings.Join(lines, "\n"))
		}
	}
}

// What a person must read is whole in a narrow terminal too: figures of gates, failures and what is waited for.
func TestBoardCutsNoFigures(t *testing.T) {
	b := NewBoard(canaryPlan())
	gate := sluice.GateRead{Gate: "slower than 500ms on the path that customers use most", Verdict: sluice.GateBad,
		Canary: &sluice.GateCount{}, Primary: &sluice.GateCount{}, Evidence: 1234.5, Needed: 100}
	failure := sluice.FailureSeen{Variant: sluice.Canary, Count: 3,
		Cause: "exit code 3 of container web (task 5d714f3f2c76ec9df5076b2fac96a14a), its log has nothing"}
	b.gates, b.failures, b.current = []sluice.GateRead{gate}, []sluice.FailureSeen{failure},
		"waiting for the hook functions/smoke-test-of-the-checkout to answer, since 12m30s, at most an hour"
	for _, width := range []int{60, 80, 120} {
		rows := b.renderLines(time.Now(), width, 40, Paint{})
		text := strings.Join(strings.Fields(strings.Join(rows, " ")), " ")
		for _, want := range []string{gate.Text(), failureText(failure), b.current} {
			if !strings.Contains(text, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("at %d columns, %q is cut:\n%s", width, want, strings.Join(rows, "\n"))
			}
		}
		for _, row := range rows {
			if utf8.RuneCountInString(row) > width {
				t.Errorf("a row of more than %d columns: %s", width, row)
			}
		}
	}
}

// The last lines of a failed container stand below its failure, also on a narrow terminal; the first ones of many do
// not. A stage that did not fail shows the word by which the deployment ended, or was paused.
func TestBoardShowsHowAStageEnded(t *testing.T) {
	for word, last := range map[string]sluice.Event{
		"superseded": sluice.StageEnded{Status: "failed", Outcome: sluice.Superseded},
		"failed":     sluice.StageEnded{Status: "failed"},
		"stopped":    sluice.DeploymentEnded{Outcome: sluice.Stopped},
		"gone":       sluice.DeploymentEnded{Outcome: sluice.Gone},
		"paused":     sluice.DeploymentPaused{Why: "interrupted"},
	} {
		b := NewBoard(canaryPlan())
		for i, e := range []sluice.Event{sluice.StageStarted{Attempt: 1}, last} {
			sealed := sluice.Seal("slc-1", "", e)
			sealed.At = time.Unix(int64(1000+61*i), 0)
			b.ApplyEvent(sealed)
		}
		lines := strings.Join(b.renderLines(time.Unix(2000, 0), 120, 40, Paint{}), "\n")
		if want := regexp.MustCompile(`(?m)^  ` + word + ` +01:01 +1 `); !want.MatchString(lines) {
			t.Errorf("want %s:\n%s", want, lines)
		}
	}
}

func TestBoardShowsLastLogLines(t *testing.T) {
	b := NewBoard(canaryPlan())
	for i := range maxLogLines + 2 {
		b.ApplyEvent(sluice.Seal("slc-1", "", sluice.Noted{Message: fmt.Sprintf("log of web: line %d\x1b[2J", i), Log: "web"}))
	}
	b.ApplyEvent(sluice.Seal("slc-1", "", sluice.Noted{Message: "something else"}))
	text := strings.Join(b.renderLines(time.Now(), 80, 40, Paint{}), "\n")
	if strings.Contains(text, "line 1") || strings.Contains(text, "something else") || strings.Contains(text, "\x1b") ||
		!strings.Contains(text, "log of web: line 2") || !strings.Contains(text, fmt.Sprint("log of web: line ", maxLogLines+1)) {
		t.Error(text)
	}
}
