package deploy

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// hasFailedReturn reports whether a deployment is a rollback that ended without success. It changed no version that a
// rollback may go back from: the version that it was to replace is still the one to leave.
func hasFailedReturn(d journal.Deployment, pl *plan.Plan) bool {
	return pl.Returns && d.State == journal.Ended && d.Outcome != sluice.Succeeded
}

// isOpenReturn reports whether a deployment is a rollback that has not ended. Its own rollback would deploy the version
// again that a person wanted to leave, so that no next step names one.
func isOpenReturn(d journal.Deployment) bool {
	pl, err := session.ReadPlan(d)
	return err == nil && pl.Returns && d.State != journal.Ended
}

// endCommands returns the commands that end an unfinished deployment. runs: a process runs it.
func endCommands(d journal.Deployment, runs bool) string {
	var all []string
	if !runs {
		all = append(all, "sluice resume "+d.ID)
	}
	if !isOpenReturn(d) {
		all = append(all, "sluice rollback "+d.ID)
	}
	abort := "sluice abort " + d.ID
	if len(all) == 0 {
		return abort
	}
	return strings.Join(all, ", ") + " or " + abort
}

// continueReturn continues a rollback that is a deployment of its own and has not ended, or follows the process that
// runs it. A second rollback wants the same version as the first.
func (r *rollbackRun) continueReturn(ctx context.Context, t *session.Opened) error {
	d := t.Deployment
	if r.options.dry {
		return r.program.showPlan(ctx, t.Plan, nil, sluice.ExitDone)
	}
	runs, err := r.program.Env.RunningProcess(ctx, t.Journal, t.Deployment)
	if err != nil {
		return err
	}
	if r.options.noWait && runs != "" {
		r.program.PrintResult("process " + runs + " rolls the service back, deployment " + d.ID)
		return nil
	}
	switch to, err := deployedRevision(ctx, t.Journal, d, t.Plan); {
	case err != nil:
		return err
	case t.Plan.Redacted && !isRevision(to) && runs == "":
		return r.beginAgain(ctx, t)
	}
	r.replaced = replacedRevision{account: t.Account, name: t.Plan.From}
	undo := ""
	if t.Plan.ReturnsTo != "" {
		undo = "; to undo it, run sluice rollback " + d.ID
	}
	fmt.Fprintf(r.program.Env.Err, "deployment %s is a rollback that has not ended: it continues%s\n", d.ID, undo)
	e := r.program.NewEngine(t.Account, t.Clock, t.Journal)
	if err := e.SendCommand(ctx, d.ID, journal.Resume, 0, r.program.Env.ActorName("")); err != nil {
		return err
	}
	return r.program.runOrFollow(ctx, e, t, engine.Options{NoWait: r.options.noWait}, sluice.Succeeded)
}

// beginAgain ends a rollback that cannot go on, and begins another one: it was to register a copy of a revision, and
// the journal does not keep the values of its environments.
func (r *rollbackRun) beginAgain(ctx context.Context, t *session.Opened) error {
	e := r.program.NewEngine(t.Account, t.Clock, t.Journal)
	if err := e.SendCommand(ctx, t.Deployment.ID, journal.Abort, 0, r.program.Env.ActorName("")); err != nil {
		return err
	}
	if err := r.program.runOrFollow(ctx, e, t, engine.Options{}, sluice.Stopped); err != nil {
		return err
	}
	if r.options.to = t.Plan.ReturnsTo; r.options.to != "" {
		return r.rollBackByHistory(ctx, t.Journal, serviceOf(t.Deployment), t.Deployment.Region, r.options.to)
	}
	return r.rollBack(ctx, t.Journal)
}
