package catalogue_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/catalogue"
	"github.com/sluice-ecs/sluice/internal/rehearse/simtest"
)

// A row is safe only if something was rehearsed, and a good version has to succeed.
func TestRowOfWhatWasNotRehearsed(t *testing.T) {
	by := map[string]catalogue.Scenario{}
	for _, s := range catalogue.Scenarios() {
		by[s.Name] = s
	}
	for name, c := range map[string]struct {
		scenario string
		fails    string
		result   rehearse.Result
		says     string
	}{
		"a good version succeeds": {"good", "", rehearse.Result{Outcome: sluice.Succeeded, Started: true}, ""},
		"a good version is rolled back": {"good", "", rehearse.Result{Outcome: sluice.RolledBack, Started: true,
			Cause: "why"}, "a good version did not succeed (rolled back): why"},
		"a good version ends gone": {"good", "", rehearse.Result{Outcome: sluice.Gone, Started: true, Cause: "why"},
			"a good version did not succeed (gone): why"},
		"refused before it starts": {"good", "", rehearse.Result{Outcome: sluice.RolledBack, Cause: "refused"},
			"the deployment did not start (rolled back): refused"},
		"success of nothing": {"good", "", rehearse.Result{Outcome: sluice.Succeeded},
			"the deployment did not start"},
		"a bad version is rolled back": {"crash-loop", "", rehearse.Result{Outcome: sluice.RolledBack, Started: true},
			""},
		"a bad version that never started": {"crash-loop", "",
			rehearse.Result{Outcome: sluice.RolledBack, Cause: "refused"},
			"the deployment did not start (rolled back): refused"},
		"another one came first": {"claim-taken", "", rehearse.Result{Outcome: sluice.Superseded, Acted: true}, ""},
		"another one would have come": {"claim-taken", "",
			rehearse.Result{Outcome: sluice.RolledBack, Cause: "refused"},
			"the deployment did not start"},
		"the step before fails": {"step-before-fails", rehearse.StepBefore, rehearse.Result{Outcome: sluice.Failed},
			""},
		"it cannot be planned": {"good", "", rehearse.Result{Cause: "no listener"},
			"the application cannot be deployed: no listener"},
		"the world cannot be made": {"good", "",
			rehearse.Result{Violations: []string{"rehearsal: the simulated AWS cannot be built"}},
			"the simulated AWS cannot be built"},
	} {
		row := by[c.scenario].RowOf(rehearse.Case{World: simtest.PlainWorld(), FailingStep: c.fails}, c.result)
		told := slices.ContainsFunc(row.Flaws, func(s string) bool { return strings.Contains(s, c.says) })
		if row.Safe != (c.says == "") || c.says != "" && !told {
			t.Errorf("%s: safe %v, %q", name, row.Safe, row.Flaws)
		}
	}
}
