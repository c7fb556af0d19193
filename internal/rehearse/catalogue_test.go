package rehearse

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
)

// A row is safe only if something was rehearsed, and a good version has to succeed.
func TestRowOfWhatWasNotRehearsed(t *testing.T) {
	by := map[string]Scenario{}
	for _, s := range Catalogue() {
		by[s.Name] = s
	}
	for name, c := range map[string]struct {
		scenario string
		fails    string
		result   Result
		says     string
	}{
		"a good version succeeds": {"good", "", Result{Outcome: sluice.Succeeded, Started: true}, ""},
		"a good version is rolled back": {"good", "", Result{Outcome: sluice.RolledBack, Started: true,
			Cause: "why"}, "a good version did not succeed (rolled back): why"},
		"a good version ends gone": {"good", "", Result{Outcome: sluice.Gone, Started: true, Cause: "why"},
			"a good version did not succeed (gone): why"},
		"refused before it starts": {"good", "", Result{Outcome: sluice.RolledBack, Cause: "refused"},
			"the deployment did not start (rolled back): refused"},
		"success of nothing": {"good", "", Result{Outcome: sluice.Succeeded},
			"the deployment did not start"},
		"a bad version is rolled back": {"crash-loop", "", Result{Outcome: sluice.RolledBack, Started: true}, ""},
		"a bad version that never started": {"crash-loop", "", Result{Outcome: sluice.RolledBack, Cause: "refused"},
			"the deployment did not start (rolled back): refused"},
		"another one came first": {"claim-taken", "", Result{Outcome: sluice.Superseded, Acted: true}, ""},
		"another one would have come": {"claim-taken", "", Result{Outcome: sluice.RolledBack, Cause: "refused"},
			"the deployment did not start"},
		"the step before fails": {"step-before-fails", stepBefore, Result{Outcome: sluice.Failed}, ""},
		"it cannot be planned": {"good", "", Result{Cause: "no listener"},
			"the application cannot be deployed: no listener"},
		"the world cannot be made": {"good", "",
			Result{Violations: []string{"rehearsal: the simulated AWS cannot be built"}},
			"the simulated AWS cannot be built"},
	} {
		row := by[c.scenario].RowOf(Case{World: PlainWorld(), FailingStep: c.fails}, c.result)
		told := slices.ContainsFunc(row.Flaws, func(s string) bool { return strings.Contains(s, c.says) })
		if row.Safe != (c.says == "") || c.says != "" && !told {
			t.Errorf("%s: safe %v, %q", name, row.Safe, row.Flaws)
		}
	}
}
