package deploy

import (
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/report"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// report returns how a run ended, for the CI system.
func (e runEnd) report() report.Report {
	d := e.deployment
	pl, err := session.ReadPlan(d)
	if d.ID == "" || err != nil {
		r := report.Report{Name: e.service, Outcome: "no changes", Exit: e.exit, Next: e.Next, Revision: e.runs}
		if r.IsFailure() {
			r.Outcome, r.Cause = "not healthy", strings.TrimPrefix(e.result, "No changes: ")
		}
		return r
	}
	r := report.Of(pl, e.events)
	r.Name, r.Deployment, r.Exit, r.Next, r.Cause = d.Cluster+"/"+d.Service, d.ID, e.exit, e.Next, d.Cause
	r.Outcome, r.Revision = e.outcome(), e.revision()
	if e.err != nil {
		r.Cause = e.err.Error()
	}
	if pl.Mode().HasService() {
		r.URL = session.ServicePage(d.Endpoint, d.Region, d.Cluster, d.Service)
	}
	if d.State == journal.Ended {
		r.Took = d.Took()
	}
	return r
}

// outcome returns the outcome of a deployment, or in one word why it has none yet.
func (e runEnd) outcome() string {
	switch e.deployment.State {
	case journal.Ended:
		return string(e.deployment.Outcome)
	case journal.Waiting:
		return "waiting"
	}
	return "paused"
}

// revision returns the revision that the run left as primary, or "" if it is unknown.
func (e runEnd) revision() string {
	d := e.deployment
	if pl, err := session.ReadPlan(d); err == nil && d.Outcome == sluice.RolledBack {
		return pl.From
	}
	if d.Outcome == sluice.Succeeded {
		return e.runs
	}
	return ""
}
