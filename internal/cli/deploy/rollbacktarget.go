package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// rollbackTarget is the deployment of the journal whose version a rollback replaces by the one before.
type rollbackTarget struct {
	deployment journal.Deployment
	operations []journal.Deployment // newer ones, which changed no version, and rollbacks that failed; the newest first
	returned   string               // a newer one that returned to the version before; empty: none
	continues  bool                 // the deployment is a rollback that has not ended
}

// findTarget returns the newest deployment, or the named one, that changed the version. It skips newer
// deployments that changed no version or were rolled back, and rollbacks that failed. Only a person who names a
// rollback undoes it. found is false if the journal has none.
func (r *rollbackRun) findTarget(ctx context.Context, t *session.Opened) (of rollbackTarget, found bool, err error) {
	d := t.Deployment
	all, err := r.listRecorded(ctx, t)
	if err != nil {
		return of, false, err
	}
	named, past := session.IsDeploymentID(r.path), recordedPast{t.Journal, all}
	for _, newer := range all {
		pl, planErr := session.ReadPlan(newer)
		isOperation := planErr == nil && (pl.KeepsVersion() || pl.OnlyAdopts() ||
			!named && !r.options.operation && hasFailedReturn(newer, pl))
		switch {
		case !named && newer.State != journal.Ended && planErr == nil && (pl.Returns || pl.ReturnsTo != ""):
			return rollbackTarget{deployment: newer, continues: true}, true, nil
		case named && newer.ID == d.ID, !named && (r.options.operation || !isOperation):
			of.deployment = newer
			return of, true, nil
		case isOperation:
			of.operations = append(of.operations, newer)
			continue
		}
		returned, err := past.hasReturned(ctx, newer)
		switch {
		case err != nil:
			return of, false, err
		case planErr == nil && isUndone(newer, pl), returned.replaced != "":
			of.returned = newer.ID
		default:
			return of, false, &sluice.Error{Op: "roll the deployment back", Resource: d.ID, Kind: sluice.Overtaken,
				Err: laterDeploymentError(newer.ID), Next: "roll the later one back first: sluice rollback " + newer.ID}
		}
	}
	return of, false, nil
}

// endOperation rolls back the newest operation, if it has not ended.
func (r *rollbackRun) endOperation(ctx context.Context, t *session.Opened, target rollbackTarget) error {
	if r.options.dry || len(target.operations) == 0 || target.operations[0].State == journal.Ended {
		return nil
	}
	newest, err := openedAs(t, target.operations[0])
	if err != nil {
		return err
	}
	return r.requestRollback(ctx, newest, false)
}

// openedAs returns another deployment of the same service and journal.
func openedAs(t *session.Opened, d journal.Deployment) (*session.Opened, error) {
	other := *t
	var err error
	other.Deployment = d
	other.Plan, err = session.ReadPlan(d)
	return &other, err
}

// rollBackVersion returns to the version before t, although operations followed it.
func (r *rollbackRun) rollBackVersion(ctx context.Context, t *session.Opened, operations []journal.Deployment) error {
	newest, err := openedAs(t, operations[0])
	if err != nil {
		return err
	}
	of := serviceOf(t.Deployment)
	switch overtaken, err := isOvertaken(ctx, newest); {
	case err != nil:
		return err
	case overtaken:
		return r.rollBackByHistory(ctx, t.Journal, of, of.Region, "")
	}
	switch other, err := hasAdoptedOther(ctx, t, operations); {
	case err != nil:
		return err
	case other:
		r.program.PrintResult("nothing to roll back: an adoption left another version than deployment " + t.Deployment.ID +
			" of " + of.Cluster + "/" + of.Service + " had deployed, and the journal has none before it")
		return nil
	}
	switch nothing, err := r.findNothing(ctx, t); {
	case err != nil:
		return err
	case nothing != "":
		r.program.PrintResult("nothing to roll back: " + nothing)
		return nil
	case t.Plan.Mode().OthersDeploy() && t.Plan.From != t.Plan.To:
		return r.rollBackByHistory(ctx, t.Journal, of, of.Region, t.Plan.From)
	case t.Plan.Mode().OthersDeploy():
		return r.rollBackByHistory(ctx, t.Journal, of, of.Region, "")
	case slices.ContainsFunc(operations, replacesTasks):
		return r.redeployFormer(ctx, t)
	}
	return r.rollBackTarget(ctx, t)
}

// hasAdoptedOther reports whether an adoption found another version than a deployment of the journal had deployed
// before. The deployment in between is in another journal.
func hasAdoptedOther(ctx context.Context, t *session.Opened, operations []journal.Deployment) (bool, error) {
	to, err := deployedRevision(ctx, t.Journal, t.Deployment, t.Plan)
	return t.Deployment.Outcome == sluice.Succeeded && slices.ContainsFunc(operations, func(d journal.Deployment) bool {
		pl, err := session.ReadPlan(d)
		return err == nil && pl.OnlyAdopts() && pl.From != to
	}), err
}

// hasFormerFailed reports whether a deployment of the journal replaced a version whose own deployment failed.
func (r *rollbackRun) hasFormerFailed(ctx context.Context, t *session.Opened) (bool, error) {
	if t.Deployment.State != journal.Ended || !t.Plan.Mode().HasService() || t.Plan.From == t.Plan.To {
		return false, nil
	}
	all, err := r.listRecorded(ctx, t)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(all, func(d journal.Deployment) bool { return d.ID == t.Deployment.ID })
	for _, d := range all[i+1:] {
		pl, err := session.ReadPlan(d)
		if err != nil || pl.KeepsVersion() || pl.OnlyAdopts() || !pl.Mode().HasService() {
			continue
		}
		if to, err := deployedRevision(ctx, t.Journal, d, pl); err != nil || to == t.Plan.From {
			return d.State == journal.Ended && (d.Outcome == sluice.Failed || d.Outcome == sluice.Stalled), err
		}
	}
	return false, nil
}

// isUndone reports whether the deployment left the version that served before: it was rolled back, or is
// itself a rollback that succeeded.
func isUndone(d journal.Deployment, pl *plan.Plan) bool {
	return d.State == journal.Ended &&
		(d.Outcome == sluice.RolledBack || d.Outcome == sluice.Succeeded && pl.Returns)
}

func replacesTasks(d journal.Deployment) bool {
	pl, err := session.ReadPlan(d)
	return err != nil || pl.ReplacesTasks()
}

// rollBackTarget rolls back a deployment of the journal from its snapshot, or shows that.
func (r *rollbackRun) rollBackTarget(ctx context.Context, t *session.Opened) error {
	switch none, err := lacksFormer(ctx, t); {
	case err != nil:
		return err
	case none:
		return errNoFormer(t.Deployment.ID)
	}
	switch gone, err := isFormerDeregistered(ctx, t); {
	case err != nil:
		return err
	case gone && t.Plan.Mode().OthersDeploy():
		return r.rollBackByHistory(ctx, t.Journal, serviceOf(t.Deployment), t.Deployment.Region, t.Plan.From)
	case gone && !r.hasNoFiles():
		return r.redeployFormer(ctx, t)
	}
	failed, err := r.hasFormerFailed(ctx, t)
	switch {
	case err != nil:
		return err
	case failed && t.Plan.Mode().OthersDeploy(): // the version may never have served, and AWS knows which one did
		return r.rollBackByHistory(ctx, t.Journal, serviceOf(t.Deployment), t.Deployment.Region, "")
	}
	if err := refuseEndedRollback(ctx, t); err != nil {
		return err
	}
	if err := r.noteRecorded(ctx, t); err != nil {
		return err
	}
	if t.Plan.Returns {
		r.warn("deployment " + t.Deployment.ID + " is a rollback: to undo it restores " + t.Plan.From)
	}
	if t.Plan.From != "" && t.Plan.From != t.Plan.To {
		r.warnFormer(ctx, t.Account, t.Clock, serviceOf(t.Deployment), t.Plan.From, failed)
	}
	if r.options.dry {
		return r.program.showPlan(ctx, rollbackPlan(t, r.replaced.name), nil, sluice.ExitDone)
	}
	return r.requestRollback(ctx, t, r.options.noWait)
}

// refuseEndedRollback returns an error if the rollback of a deployment that has ended cannot begin: the service was
// deleted since, or another deployment has claimed it. The journal then keeps the outcome of the deployment.
func refuseEndedRollback(ctx context.Context, t *session.Opened) error {
	d := t.Deployment
	if d.State != journal.Ended || !t.Plan.Mode().HasService() || t.Plan.CreatesService() {
		return nil
	}
	refuse := func(kind sluice.Kind, next, why string, args ...any) error {
		return &sluice.Error{Op: "roll the deployment back", Resource: d.Cluster + "/" + d.Service, Kind: kind,
			Err: fmt.Errorf(why, args...), Next: next}
	}
	live, err := ecs.Service{API: t.Account.ECS(), Cluster: d.Cluster, Name: d.Service}.Observe(ctx)
	switch {
	case err != nil:
		return err
	case !live.IsActive():
		return refuse(sluice.NotFound, "run sluice deploy to create the service again",
			"the service was deleted after deployment %s had ended (%s)", d.ID, d.Outcome)
	}
	claim, err := plan.ParseClaim(live.ClaimValue())
	if err != nil || claim.Deployment == d.ID || !claim.IsValidAt(t.Clock.Now()) {
		return nil // another tool's value is no claim
	}
	return refuse(sluice.Overtaken, "wait for that deployment to end, then run sluice status to see what serves",
		"deployment %s owns the service until %s", claim.Deployment, show.FormatTime(claim.Until))
}

// hasNoFiles reports whether the rollback names no application, only its service or a deployment.
func (r *rollbackRun) hasNoFiles() bool {
	return r.options.service != "" || session.IsDeploymentID(r.path)
}

// isFormerDeregistered reports whether the revision before a deployment that succeeded is INACTIVE. AWS starts
// no task of it, so that a copy of it must be deployed. Without files, the stage of the rollback does that.
func isFormerDeregistered(ctx context.Context, t *session.Opened) (bool, error) {
	if t.Deployment.Outcome != sluice.Succeeded || t.Plan.From == "" || t.Plan.KeepsVersion() {
		return false, nil
	}
	return ecs.IsDeregistered(ctx, t.Account.ECS(), t.Plan.From)
}

// rollbackPlan returns the rollback of a deployment as a plan. replaced is the revision of the deployment.
func rollbackPlan(t *session.Opened, replaced string) *plan.Plan {
	back := *t.Plan
	back.From, back.To = replaced, t.Plan.From
	back.Stages, back.Rollback, back.AutoRollback = []plan.Stage{t.Plan.Rollback}, plan.Stage{}, false
	back.Stages[0].Index = 0
	back.Current, back.Warnings = nil, nil
	back.Changes = []plan.Change{{Of: "deployment", Path: t.Deployment.ID,
		Have: string(cmp.Or(t.Deployment.Outcome, sluice.Outcome(t.Deployment.State))), Want: string(sluice.RolledBack),
		Kind: plan.Alters}}
	back.Notes = []string{"it restores the state that the deployment saved before its first write"}
	return &back
}

// lacksFormer reports whether a deployment made the first version of its service, and a rollback has nothing more to
// do: it succeeded, or its own rollback has ended.
func lacksFormer(ctx context.Context, t *session.Opened) (bool, error) {
	d := t.Deployment
	if d.State != journal.Ended || t.Plan.From != "" || !t.Plan.Mode().HasService() {
		return false, nil
	}
	stages, err := t.Journal.Stages(ctx, d.ID)
	return d.Outcome == sluice.Succeeded || slices.ContainsFunc(stages, func(s journal.Stage) bool {
		return s.Index == len(t.Plan.Stages) && s.Status == journal.StageDone
	}), err
}

// errNoFormer is the error of a rollback to nothing: the deployment created the service.
func errNoFormer(id string) error {
	return &sluice.Error{Op: "roll the deployment back", Resource: id, Err: errors.New("no revision served before it"),
		Next: "run sluice deploy with the files of a version that works"}
}

// redeployFormer deploys the revision before the target again. An operation has replaced the task set of
// the target since, so that its rollback would not find it, or the revision was deregistered.
func (r *rollbackRun) redeployFormer(ctx context.Context, t *session.Opened) error {
	_, number, _ := strings.Cut(t.Plan.From, ":")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return errNoFormer(t.Deployment.ID)
	case r.hasNoFiles():
		return &sluice.Error{Op: "roll the deployment back", Resource: t.Deployment.ID,
			Err:  errors.New("sluice needs the application's files to create a task set of " + t.Plan.From + " again"),
			Next: "run sluice rollback in the application's folder"}
	}
	flags := planFlags{operates: true, definitions: survey.LiveDefinitions{Revision: n, Copy: true, Service: true}}
	flags.QuickSync = true
	pre, err := r.program.preparePlan(ctx, r.path, flags)
	if err != nil {
		return err
	}
	if r.options.dry {
		return r.program.showPlan(ctx, pre.plan, nil, sluice.ExitDone)
	}
	conflicts := &serviceConflicts{r.program, t.Journal, pre, conflictFlags{operation: returnOperation}}
	if err := conflicts.freeService(ctx); err != nil {
		return err
	}
	if !pre.plan.HasChanges() {
		r.program.PrintResult(fmt.Sprintf("nothing to roll back: %s runs %s", pre.serviceName(), pre.plan.From))
		return nil
	}
	pre.plan.Returns = true
	r.replaced = replacedRevision{account: pre.account, name: pre.state.ServingRevision()}
	return r.program.runNewDeployment(ctx, t.Journal, pre, engine.Options{})
}
