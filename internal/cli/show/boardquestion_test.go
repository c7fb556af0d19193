package show

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sluice-ecs/sluice"
)

// The board asks a person until the person answers: the writes that keep the claim do not replace the question, and
// an 80-column terminal shows it in full.
func TestBoardAsksUntilAnswered(t *testing.T) {
	for name, question := range map[string]sluice.Event{
		"a gate without a verdict": sluice.ApprovalAwaited{Index: 2, Missing: 1, Undecided: "errors"},
		"an approval":              sluice.ApprovalAwaited{Index: 3, Missing: 1, Approvers: []string{"ana", "ben"}},
	} {
		b := NewBoard(canaryPlan())
		at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
		apply := func(e sluice.Event) {
			at = at.Add(time.Second)
			sealed := sluice.Seal("slc-1", "", e)
			sealed.At = at
			b.ApplyEvent(sealed)
		}
		claim := sluice.Write{Operation: "ecs:TagResource", Resource: "prod/web"}
		index := question.(sluice.ApprovalAwaited).Index
		for i := range index {
			apply(sluice.StageStarted{Index: i, Name: b.plan.Stages[i].Name, Attempt: 1})
			apply(sluice.StageEnded{Index: i, Name: b.plan.Stages[i].Name, Status: "done"})
		}
		apply(sluice.StageStarted{Index: index, Name: b.plan.Stages[index].Name, Attempt: 1})
		apply(question)
		want := approvalAwaitedText(question.(sluice.ApprovalAwaited))
		for range 2 {
			lines := b.renderLines(at, 80, 40, Paint{})
			shown := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
			if !strings.Contains(shown, want) || !strings.Contains(shown, "left without approvals") && index < 3 {
				t.Errorf("%s: %q is not in\n%s", name, want, strings.Join(lines, "\n"))
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
