package rehearse

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// summarizeTraffic sums up what the callers got during the deployment.
func (f *Rehearsal) summarizeTraffic() {
	r := &f.Result
	r.Took = f.Clock.Now().Sub(f.startedAt)
	r.Writes, r.Rows = f.firstProcess.writes, f.firstProcess.rows
	for _, report := range f.callerReports() {
		r.Requests += report.Requests
		r.Failed += report.Failed
		for _, l := range report.First {
			if len(r.Losses) < 5 {
				r.Losses = append(r.Losses, fmt.Sprintf("%s after the start: %.1f requests: %s (%s %s)",
					l.At.Sub(f.startedAt).Round(time.Second), l.Requests, l.Cause, l.Group, l.Target))
			}
		}
		for _, w := range report.Worst {
			if w.Version == "new" {
				r.WorstShare = max(r.WorstShare, w.Share)
			}
		}
		f.measureExposure(report)
	}
}

// measureExposure measures how long the new version had requests, and when it had none again.
func (f *Rehearsal) measureExposure(report loadgen.Report) {
	var first, last time.Time
	var exposed time.Duration
	with := false
	until := f.Clock.Now()
	for i, h := range report.History {
		share := 0.0
		for _, s := range h.Shares {
			if s.Version == "new" {
				share += s.Share
			}
		}
		end := until
		if i+1 < len(report.History) {
			end = report.History[i+1].At
		}
		with = share > 0
		if !with {
			continue
		}
		if first.IsZero() {
			first = h.At
		}
		last = end
		exposed += end.Sub(h.At)
	}
	f.Result.Exposed = max(f.Result.Exposed, exposed)
	if !with && !first.IsZero() {
		f.Result.TimeToSafety = max(f.Result.TimeToSafety, last.Sub(first))
	}
}

// checkLossless checks that the deployment loses no request (P1).
func (f *Rehearsal) checkLossless() {
	if r := f.Result; r.Failed > 1e-6 && !f.MayLoseRequests() {
		f.AddViolation("P1", "%.1f of %.0f requests failed: %s", r.Failed, r.Requests, strings.Join(r.Losses, "; "))
	}
	f.checkNameServed()
	f.checkNoLeftoverTraffic()
}

// checkEmptied checks that a task set is deleted only after its tasks have stopped. The order is:
// shift weight, drain, scale down, delete (P1).
func (f *Rehearsal) checkEmptied(ts *world.TaskSet) {
	if ts.Status != "DRAINING" || f.deletedSets[ts.ID] || f.externalActs || ts.Service.Status != "ACTIVE" ||
		ts.Service.Controller != "EXTERNAL" || f.HasFault("stale") {
		return
	}
	f.deletedSets[ts.ID] = true
	if n := ts.Count((*world.Task).IsRunning); n > 0 {
		f.AddViolation("P1", "task set %s was deleted while %d of its tasks ran", ts.ID, n)
	}
}
