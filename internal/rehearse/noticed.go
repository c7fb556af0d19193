package rehearse

import (
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// maxNoticeDelay is how long a changed rule may stay undetected. Two polls are at most 20 s apart,
// and a second poll 6 s later must confirm the change.
const noticeWithin = 45 * time.Second

// recordRuleDrift records when another actor set a rule to weights that it never had.
func (f *field) strangely(r *world.Rule, now [2]int32) {
	first := f.weighs(&world.Rule{Actions: f.atFirst[r.ARN]})
	if sum := now[0] + now[1]; sum != 100 && sum != first[0]+first[1] && f.attentive() {
		f.strange = f.clock.Now()
	}
}

// isAttentive reports whether no fault or kill keeps sluice from polling.
func (f *field) attentive() bool {
	return len(f.Hands) == 1 && len(f.Faults)+len(f.Kills) == 0 && f.Full.Row == 0 && f.Before == "" && f.After == ""
}

// checkDriftNoticed checks that sluice reports an external change at the next poll, in any stage or
// wait (P6). A rollback does not compare rules.
func (f *field) noticing(e sluice.Envelope) {
	if f.strange.IsZero() {
		return
	}
	if late := e.At.Sub(f.strange); late > noticeWithin {
		f.violate("P6", "a rule that somebody else changed was not noticed for %s, in %s", late, e.Stage)
		f.strange = time.Time{}
	}
	_, back := e.Open().(sluice.RollbackStarted)
	if back || strings.Contains(string(e.Data), "somebody else") {
		f.strange = time.Time{}
	}
}
