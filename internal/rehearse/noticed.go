package rehearse

import (
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// noticeWithin is how long a changed rule may go unnoticed: two looks are at most
// 20 s apart, and a second one 6 s later must show it too.
const noticeWithin = 45 * time.Second

// strangely takes down when somebody else changed a rule to what it never was.
func (f *field) strangely(r *world.Rule, now [2]int32) {
	first := f.weighs(&world.Rule{Actions: f.atFirst[r.ARN]})
	if sum := now[0] + now[1]; sum != 100 && sum != first[0]+first[1] && f.attentive() {
		f.strange = f.clock.Now()
	}
}

// attentive: nothing in the case keeps sluice from looking.
func (f *field) attentive() bool {
	return len(f.Hands) == 1 && len(f.Faults)+len(f.Kills) == 0 && f.Full.Row == 0 && f.Before == "" && f.After == ""
}

// noticing: what somebody else changed is told at the next look, in whatever stage
// or wait it comes (P6). What a rollback finds it leaves.
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
