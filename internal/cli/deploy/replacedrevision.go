package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/cli/inspect"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/upkeep"
)

// replacedRevision is the revision that a rollback replaces by the previous one.
type replacedRevision struct {
	account *account.Account // nil: nothing was rolled back
	name    string           // family:revision
}

// noteRecorded notes the revision of a deployment of the journal before its rollback.
func (r *rollbackRun) noteRecorded(ctx context.Context, t *session.Opened) error {
	name, err := deployedRevision(ctx, t.Journal, t.Deployment, t.Plan)
	r.replaced = replacedRevision{account: t.Account, name: name}
	return err
}

// deployedRevision returns the revision of a deployment of the journal. If it registered none yet, that is the family.
func deployedRevision(ctx context.Context, j *journal.Journal, d journal.Deployment, pl *plan.Plan) (string, error) {
	name, err := inspect.DeployedRevision(ctx, j, d.ID, pl)
	return cmp.Or(name, pl.To), err
}

// deregisterReplaced deregisters the revision that the rollback replaced, if that is asked for. ecspresso's users
// expect it: otherwise --latest-task-definition would deploy that revision again.
func (r *rollbackRun) deregisterReplaced(ctx context.Context) error {
	o := r.options
	asked := r.ecspresso && !o.noWait
	if o.deregister != nil {
		asked = *o.deregister
	}
	family, _, isRevision := strings.Cut(r.replaced.name, ":")
	if !asked || r.replaced.account == nil || !isRevision {
		return nil
	}
	f := upkeep.Family{API: r.replaced.account.ECS(), Name: family}
	all, err := f.ListActive(ctx)
	if err != nil {
		return err
	}
	users, err := f.Users(ctx)
	if err != nil {
		return err
	}
	rev, why := r.replaced.findUnused(all, users)
	if why != "" {
		fmt.Fprintf(r.program.Env.Err, "note: %s stays as it is: %s\n", r.replaced.name, why)
		return nil
	}
	return ecs.Deregister(ctx, f.API, r.program.Env.NewAct("rollback"), rev.Name, rev)
}

// findUnused returns the replaced revision, or why it is not deregistered.
func (r replacedRevision) findUnused(all []ecs.Revision, users map[string][]string) (ecs.Revision, string) {
	for _, rev := range all {
		if rev.Name != r.name {
			continue
		}
		if by := users[rev.Name]; len(by) > 0 {
			return rev, "it is used by " + strings.Join(by, ", ")
		}
		return rev, ""
	}
	return ecs.Revision{}, "it is not ACTIVE"
}

// setReturnEvents sets the events after which CodeDeploy rolls back the deployment of a rollback.
func (p *preparedPlan) setReturnEvents() error {
	if len(p.returnEvents) == 0 {
		return nil
	}
	if p.plan.CodeDeploy == nil {
		return &sluice.Error{Op: "roll the service back", Resource: p.serviceName(),
			Err:  errors.New("--rollback-events is about CodeDeploy, which does not deploy the service"),
			Next: "leave --rollback-events out"}
	}
	p.plan.CodeDeploy.RollbackEvents, p.plan.CodeDeploy.RollsBackOn = p.returnEvents, p.returnEvents
	return nil
}
