package simtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// The answers to callers are held against the outcome that the deployment reported. An edit of another actor
// right after the outcome ends the watch, and breaks no promise.
func TestOutcomeIsHeldAgainstWhatCallersGet(t *testing.T) {
	for _, x := range []struct {
		name, edit string
		breaks     bool
	}{
		{"the rule is edited at the outcome, unseen by the checks", "edit", true},
		{"another actor edits the rule after the outcome", "act", false},
		{"the rule stays", "", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := rehearse.Case{World: PlainWorld(), Pipeline: CanaryPipeline()}
			if x.edit == "act" {
				c.Interventions = []rehearse.Intervention{{When: rehearse.AfterEnd, Does: rehearse.EditRuleFixed}}
			}
			r := rehearse.RunExtended(withFiles(c), func(r *rehearse.Rehearsal) rehearse.Extension {
				e := newExtension(r, nil)
				e.OnEvent = func(ev sluice.Envelope) {
					if _, ended := ev.Open().(sluice.DeploymentEnded); ended && x.edit == "edit" {
						r.Env.EditRoute(answerFixed)
					}
				}
				return e
			})
			broken := slices.ContainsFunc(r.Report.Result.Violations, func(v string) bool { return strings.HasPrefix(v, "P8: ") })
			if r.Report.Result.Outcome != sluice.Succeeded || broken != x.breaks {
				t.Errorf("%s: %v", r.Report.Result.Outcome, r.Report.Result.Violations)
			}
		})
	}
}
