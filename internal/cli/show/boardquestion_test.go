package show

import (
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
