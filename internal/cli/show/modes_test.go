package show

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/plan/mode/modetest"
)

// Every mode is shown: the plan and the board have its stages with words, the board has a row for
// the canary if there is one, and a share if traffic shifts.
func TestEveryModeIsShown(t *testing.T) {
	modetest.Each(t, func(t *testing.T, s modetest.Sample) {
		p := s.Plan(t)
		var out bytes.Buffer
		if err := (planView{}).writePlan(&out, p); err != nil {
			t.Fatal(err)
		}
		b := NewBoard(p)
		b.ApplyEvent(sluice.Seal("d", "s", sluice.CapacityChanged{Variant: sluice.Canary, TaskSet: "c",
			Revision: "web:2", Desired: 2, Running: 2}))
		board := strings.Join(b.renderLines(time.Now(), 200, 100, Paint{}), "\n")
		for _, stage := range p.Stages {
			text := stage.Name + ": " + mode.StageText(p, stage)
			if !strings.Contains(out.String(), text) {
				t.Errorf("the plan does not show %q:\n%s", text, out.String())
			}
			if !strings.Contains(board, mode.StageText(p, stage)) {
				t.Errorf("the board does not show stage %s:\n%s", stage.Name, board)
			}
			w, ok := requestedWeights(p, stage)
			if asks := stage.ShiftsTraffic(); asks && (!ok || w != *stage.Weights) {
				t.Errorf("the board does not know the share of stage %s", stage.Name)
			}
		}
		if strings.Contains(board, "canary ") != s.Mode.ReportsCanary() && s.Mode.HasService() {
			t.Errorf("a canary: %t\n%s", s.Mode.ReportsCanary(), board)
		}
	})
}

// The plan of a rollback has no rollback of its own: its text ends with the stages, without a heading over nothing.
func TestAPlanWithoutRollbackHasNoSectionOfIt(t *testing.T) {
	for _, automatic := range []bool{true, false} {
		p := canaryPlan()
		p.AutoRollback, p.Warnings, p.Notes = automatic, nil, nil
		for _, has := range []bool{true, false} {
			if !has {
				p.Rollback = plan.Stage{}
			}
			var out bytes.Buffer
			if err := (planView{}).writePlan(&out, p); err != nil {
				t.Fatal(err)
			}
			for _, head := range []string{"If a stage fails", "Only on request"} {
				if got := strings.Contains(out.String(), head); got != (has && automatic == (head == "If a stage fails")) {
					t.Errorf("a plan with a rollback %t, automatic %t, has the section %q: %t\n%s", has, automatic, head, got,
						out.String())
				}
			}
		}
	}
}
