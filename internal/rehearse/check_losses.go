package rehearse

import (
	"strings"
)

// checkLossless checks that the deployment loses no request (P1).
func (cs *callers) checkLossless() {
	if r := cs.report.Result; r.Failed > 1e-6 && !cs.env.Case.MayLoseRequests() {
		cs.report.AddViolation("P1", "%.1f of %.0f requests failed: %s", r.Failed, r.Requests,
			strings.Join(r.Losses, "; "))
	}
	cs.checkNameServed()
	cs.checkNoLeftoverTraffic()
}

// checkNameServed checks that the name is never empty and never resolves to stopped tasks only
// (P1).
func (cs *callers) checkNameServed() {
	if len(cs.nameOutages) > 0 && !cs.env.Case.MayLoseRequests() {
		cs.report.AddViolation("P1", "the name had no usable record: %s", strings.Join(cs.nameOutages, "; "))
	}
}

// checkNoLeftoverTraffic checks that a leftover canary gets no request of the next deployment.
func (cs *callers) checkNoLeftoverTraffic() {
	for _, r := range cs.callerReports() {
		if n := r.AnsweredBy("left"); n > 0 {
			cs.report.AddViolation("P1", "%.1f requests were answered by the leftover canary of an earlier deployment",
				n)
		}
	}
}
