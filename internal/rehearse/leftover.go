package rehearse

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// countOtherToolSets returns how many task sets of another tool the service has.
func (f *Rehearsal) countOtherToolSets(s *world.Service) (n int) {
	for _, ts := range s.TaskSets {
		if ts.ExternalID == OtherToolID {
			n++
		}
	}
	return n
}

// otherToolSetsText returns the task sets of another tool. Sluice must not change them.
func (f *Rehearsal) otherToolSetsText(tx *world.Tx) string {
	var b strings.Builder
	if s := f.FindService(tx); s != nil {
		for _, ts := range s.TaskSets {
			if ts.ExternalID == OtherToolID {
				fmt.Fprintf(&b, "%s %s %g%%\n", ts.ID, ts.Status, ts.Scale)
			}
		}
	}
	return b.String()
}

// checkNoLeftoverTraffic checks that a leftover canary gets no request of the next deployment.
func (f *Rehearsal) checkNoLeftoverTraffic() {
	for _, r := range f.callerReports() {
		if n := r.AnsweredBy("left"); n > 0 {
			f.AddViolation("P1", "%.1f requests were answered by the leftover canary of an earlier deployment", n)
		}
	}
}
