package deploy

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan/history"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// findNothing returns why the rollback of a deployment of the journal has nothing to do; empty: it has. AWS's history
// decides if it can be read, because it also has the deployments of other journals. Otherwise the journal decides.
func (r *rollbackRun) findNothing(ctx context.Context, t *session.Opened) (string, error) {
	d, service := t.Deployment, t.Deployment.Cluster+"/"+t.Deployment.Service
	switch {
	case isUndone(d, t.Plan) && d.Outcome == sluice.Succeeded:
		return "deployment " + d.ID + " rolled " + service + " back", nil
	case isUndone(d, t.Plan):
		return "deployment " + d.ID + " of " + service + " was rolled back", nil
	case d.State == journal.Ended && t.Plan.OnlyAdopts():
		return "deployment " + d.ID + " removed leftovers, and changed no version of " + service, nil
	case d.State != journal.Ended || d.Outcome != sluice.Succeeded || r.options.operation:
		return "", nil
	}
	if t.Plan.Mode().OthersDeploy() {
		_, back, err := survey.ReadRollbackInputs(ctx, t.Account, t.Clock, d.Cluster, d.Service, "")
		switch kind := sluice.KindOf(err); {
		case err == nil && back.Nothing == "":
			return "", nil
		case err == nil:
			return service + ": " + back.Nothing, nil
		case ctx.Err() != nil, kind == sluice.Unreachable, kind == sluice.Throttled:
			return "", err
		}
	}
	all, err := r.listRecorded(ctx, t)
	if err != nil {
		return "", err
	}
	to, err := recordedPast{t.Journal, all}.hasReturned(ctx, d)
	if err != nil || to.replaced == "" {
		return "", err
	}
	_, number, _ := strings.Cut(to.replaced, ":")
	return service + ": " + history.RunsAgain(to.current, to.replaced, "sluice deploy --revision "+number), nil
}

// listRecorded returns the deployments of the service of a deployment, the newest first.
func (r *rollbackRun) listRecorded(ctx context.Context, t *session.Opened) ([]journal.Deployment, error) {
	d, at := t.Deployment, r.program.Endpoint(ctx)
	return t.Journal.Deployments(ctx, journal.Filter{Account: d.Account, Region: d.Region, Cluster: d.Cluster,
		Service: d.Service, At: &at})
}

// recordedPast are the deployments of a service in a journal, the newest first.
type recordedPast struct {
	journal *journal.Journal
	all     []journal.Deployment
}

// recordedReturn is a deployment that returned to a version before. replaced is empty if it did not.
type recordedReturn struct{ current, replaced string }

// hasReturned reports whether a deployment of the journal returned to a version that had served before. One that also
// changed attributes of the service is a version of its own.
func (p recordedPast) hasReturned(ctx context.Context, d journal.Deployment) (back recordedReturn, err error) {
	last, err := session.ReadPlan(d)
	if err != nil || d.Outcome != sluice.Succeeded || last.AltersAttributes() {
		return back, err
	}
	var names []string // the revisions that served, the oldest first
	contents := map[string]string{}
	for _, older := range slices.Backward(p.all) {
		pl, err := session.ReadPlan(older)
		if err != nil || older.Outcome != sluice.Succeeded || !pl.Mode().HasService() {
			continue
		}
		to, err := deployedRevision(ctx, p.journal, older, pl)
		if err != nil {
			return back, err
		}
		contents[to] = pl.Digest
		if pl.From != "" {
			names = append(names, pl.From)
		}
		if names = append(names, to); older.ID == d.ID {
			back.current = to
			break
		}
	}
	var releases []history.Release
	for _, name := range names {
		releases = append(releases, history.Release{Version: cmp.Or(contents[name], name), Served: true})
	}
	if back.current != "" && history.HasReturned(releases) {
		back.replaced = last.From
	}
	return back, nil
}
