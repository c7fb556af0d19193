package rehearse

import (
	"regexp"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// MaxNoticeDelay is how long a changed rule may stay undetected. Two polls are at most 20 s apart,
// and a second poll 6 s later must confirm the change.
const MaxNoticeDelay = 45 * time.Second

// externalChangePattern matches the texts of events that report an external change.
var externalChangePattern = regexp.MustCompile(`onOutsideChange|external (change|edit)|another (process|person|actor)`)

// ReportsExternalChange reports whether sluice has seen an external change by this event. A rollback
// compares nothing any more.
func ReportsExternalChange(e sluice.Envelope) bool {
	_, back := e.Open().(sluice.RollbackStarted)
	return back || externalChangePattern.Match(e.Data)
}

// recordRuleDrift records when another actor set a rule to weights that it never had.
func (f *Rehearsal) recordRuleDrift(r *world.Rule, now [2]int32) {
	first := f.weightsOf(&world.Rule{Actions: f.initialActions[r.ARN]})
	if sum := now[0] + now[1]; sum != 100 && sum != first[0]+first[1] && f.IsAttentive() {
		f.ruleDriftAt = f.Clock.Now()
	}
}

// IsAttentive reports whether no fault or kill keeps sluice from polling.
func (f *Rehearsal) IsAttentive() bool {
	return len(f.Interventions) == 1 && len(f.Faults)+len(f.Kills) == 0 && f.FullDisk.Row == 0 && f.Before == "" &&
		f.After == ""
}

// checkDriftNoticed checks that sluice reports an external change at the next poll, in any stage or
// wait (P6). A rollback does not compare rules.
func (f *Rehearsal) checkDriftNoticed(e sluice.Envelope) {
	if f.ruleDriftAt.IsZero() {
		return
	}
	if late := e.At.Sub(f.ruleDriftAt); late > MaxNoticeDelay {
		f.AddViolation("P6", "an external change of a rule was not detected for %s, in %s", late, e.Stage)
		f.ruleDriftAt = time.Time{}
	}
	if ReportsExternalChange(e) {
		f.ruleDriftAt = time.Time{}
	}
}
