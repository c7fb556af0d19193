package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/pausehook"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// conflictFlags are the flags that allow a command to end or clean up other deployments of the same
// service.
type conflictFlags struct {
	operation   string // of the command; empty: [startOperation]
	hasTakeOver bool   // the command has the flag --take-over
	takeOver    bool   // end the deployment that owns the service
	adopt       bool   // remove the leftovers of a deployment that is not in this journal
}

func (l *conflictFlags) registerAll(c *cobra.Command) {
	l.registerTakeOver(c, "end the running deployment of this service, clean up what it created, and deploy")
	l.registerAdopt(c)
}

func (l *conflictFlags) registerTakeOver(c *cobra.Command, says string) {
	l.hasTakeOver = true
	c.Flags().BoolVar(&l.takeOver, "take-over", false, says)
}

func (l *conflictFlags) registerAdopt(c *cobra.Command) {
	c.Flags().BoolVar(&l.adopt, "adopt", false,
		"clean up after a lost journal: all traffic to the primary, the canary deleted")
}

// serviceConflicts finds what another deployment owns of the service that is about to be deployed,
// and ends it or returns an error, as the flags say.
type serviceConflicts struct {
	program *program
	journal *journal.Journal
	pre     *preparedPlan
	flags   conflictFlags
}

// freeService ends whatever owns the service, as far as the flags allow. It rolls back a deployment
// of this journal, takes over the claim of another machine, or plans the removal of leftovers.
// Without those flags it returns an error that names the owner.
func (c *serviceConflicts) freeService(ctx context.Context) error {
	if !c.pre.plan.Mode().HasService() {
		return c.refuseSecondRun(ctx)
	}
	open, err := c.program.listOpenDeployments(ctx, c.journal, c.pre.plan)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		over, err := c.finishHandedOver(ctx, open[0])
		switch {
		case err != nil:
			return err
		case over:
			return c.freeService(ctx)
		case !c.flags.takeOver:
			return c.underwayError(ctx, open[0])
		}
		return c.rollBackRunning(ctx, open[0])
	}
	return c.planAroundLeftovers(ctx)
}

// refuseSecondRun returns an error if this journal has a run of the same tasks that has not ended. It
// prevents a second start of a migration after the terminal of the first run was closed.
func (c *serviceConflicts) refuseSecondRun(ctx context.Context) error {
	open, err := c.program.listOpenDeployments(ctx, c.journal, c.pre.plan)
	if err != nil || len(open) == 0 {
		return err
	}
	id := open[0].ID
	return &sluice.Error{Op: "start a run", Resource: c.pre.serviceName(), Kind: sluice.Overtaken,
		Err: fmt.Errorf("deployment %s of this task is %s", id, open[0].State),
		Next: "end it first: sluice resume " + id + " waits for its tasks, sluice abort " + id +
			" does not stop them"}
}

// refuseConflicts returns the error with which freeService would refuse the service, as far as that is
// known before a write.
func (c *serviceConflicts) refuseConflicts(ctx context.Context) error {
	open, err := c.program.listOpenDeployments(ctx, c.journal, c.pre.plan)
	switch {
	case err != nil:
		return err
	case len(open) == 0 && c.pre.plan.Mode().HasService():
		return c.planAroundLeftovers(ctx)
	case len(open) == 0:
		return nil
	case !c.pre.plan.Mode().HasService():
		return c.refuseSecondRun(ctx)
	case c.flags.takeOver:
		return nil
	}
	to, err := handedOverTo(ctx, c.journal, open[0])
	if err != nil || to != "" {
		return err // freeService ends the deployment if it has succeeded since
	}
	return c.underwayError(ctx, open[0])
}

// planAroundLeftovers plans to take over the claim of another machine and to remove leftovers, as far
// as the flags allow. It makes no changes.
func (c *serviceConflicts) planAroundLeftovers(ctx context.Context) error {
	if ended, err := c.findUnreleasedClaim(ctx); ended != nil || err != nil {
		if err == nil && !c.flags.takeOver && !c.flags.adopt {
			err = ended
		}
		if err != nil {
			return err
		}
	}
	marks := plan.FindLeftovers(c.pre.state, func(id string) bool {
		_, err := c.journal.Deployment(ctx, id)
		return err == nil
	})
	if !marks.IsEmpty() && !c.flags.takeOver && !c.flags.adopt {
		return c.leftoversError(marks)
	}
	c.pre.options.TakeOver, c.pre.options.Adopt = claimOwner(c.pre.state.Claim), c.flags.adopt || !marks.IsEmpty()
	if err := c.pre.planAgain(); err != nil {
		return err
	}
	return codeDeployBusyError(c.pre)
}

// claimOwner returns the deployment of a claim. A plan uses this text to name the claim that may be
// taken over.
func claimOwner(claim string) string {
	if k, err := plan.ParseClaim(claim); err == nil {
		return k.Deployment
	}
	return claim
}

const (
	startOperation  = "start a deployment"
	returnOperation = "roll the service back"
)

// operation names what the command does, for errors.
func (c *serviceConflicts) operation() string { return cmp.Or(c.flags.operation, startOperation) }

func (c *serviceConflicts) underwayError(ctx context.Context, d journal.Deployment) error {
	owner, _, err := c.journal.Holder(ctx, engine.LeaseResource(d))
	if err != nil {
		return err
	}
	stage, waits, err := session.AwaitedApproval(ctx, c.journal, d)
	if err != nil {
		return err
	}
	approve := session.ApproveCommand(d.ID, stage)
	who, first, runs := "no process runs it now", "end it first: ", owner != "" && c.program.Env.IsOwnerAlive(owner)
	approved := "run " + approve + ", then sluice resume " + d.ID + "; or end it: "
	if runs {
		who, first = "process "+owner+" runs it", "wait for it to end, or end it: "
		approved = "run " + approve + ", and wait for it to end; or end it: "
	}
	next := first + endCommands(d, runs)
	why := ""
	switch {
	case waits:
		why = fmt.Sprintf(" for the approval of stage %d", stage.Index+1)
		next = approved + "sluice rollback " + d.ID
	case isAtHook(ctx, c.pre.account, d):
		why = " for " + atHook
		if next = "run sluice continue to answer the hook, then sluice resume " + d.ID; !isOpenReturn(d) {
			next = "run sluice continue to answer the hook, then sluice resume " + d.ID + "; or end it: sluice rollback " + d.ID
		}
	}
	if c.flags.hasTakeOver && !isOpenReturn(d) {
		next += "; or give this command --take-over, which rolls it back first"
	}
	return &sluice.Error{Op: c.operation(), Resource: c.pre.serviceName(), Kind: sluice.Overtaken,
		Err: fmt.Errorf("deployment %s of this service is %s%s; %s", d.ID, d.State, why, who), Next: next}
}

// isAtHook reports whether ECS has paused its deployment of the service of d at a hook. It is false if that cannot be
// read: a next step is then less exact.
func isAtHook(ctx context.Context, a *account.Account, d journal.Deployment) bool {
	now, err := pausehook.CurrentDeployment(ctx, ecs.Service{API: a.ECS(), Cluster: d.Cluster, Name: d.Service})
	return err == nil && len(now.AwaitedHooks()) > 0
}

// findUnreleasedClaim returns an error, as held, if the claim on the service is that of a deployment
// of this journal that has ended and could not release it.
func (c *serviceConflicts) findUnreleasedClaim(ctx context.Context) (held, err error) {
	claim, err := plan.ParseClaim(c.pre.state.Claim)
	if c.pre.state.Claim == "" || err != nil {
		return nil, nil
	}
	d, err := c.journal.Deployment(ctx, claim.Deployment)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	return &sluice.Error{Op: c.operation(), Resource: c.pre.serviceName(), Kind: sluice.Overtaken,
		Err: fmt.Errorf("deployment %s of this service has ended (%s) but could not release its claim, which "+
			"expires at %s", d.ID, d.Outcome, show.FormatTime(claim.Until)),
		Next: c.takeOverStep("run sluice resume "+d.ID+" to release it, or sluice deploy --take-over; or wait until it expires",
			"run sluice resume "+d.ID+" to release it, or give this command --take-over; or wait until it expires",
			"run sluice resume "+d.ID+" to release it, or wait until it expires")}, err
}

// takeOverStep returns a next step: ofDeploy if the command deploys, ofRollback if it rolls back, else the one whose
// command deploys nothing.
func (c *serviceConflicts) takeOverStep(ofDeploy, ofOthers, ofRollback string) string {
	switch c.flags.operation {
	case "":
		return ofDeploy
	case returnOperation:
		return ofRollback
	}
	return ofOthers
}

// leftoversError returns the error for a service that has leftovers of a deployment that is not in
// this journal. Another machine runs that deployment, or ran it and is lost.
func (c *serviceConflicts) leftoversError(m plan.Leftovers) error {
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: c.operation(), Resource: c.pre.serviceName(), Kind: sluice.Overtaken,
			Err: fmt.Errorf(format, args...), Next: next}
	}
	k, err := plan.ParseClaim(m.Claim)
	switch {
	case m.Claim == "":
		return problem(c.takeOverStep("continue on the machine with its journal. If that journal is lost, run sluice deploy "+
			"--adopt to clean up and deploy", "continue on the machine with its journal. If that journal is lost, give this "+
			"command --adopt to clean up first", "roll it back on the machine with its journal. If that is lost, run sluice "+
			"rollback --adopt in the application's folder"),
			"the service has leftovers of a deployment that is not in this journal (%s): %s",
			c.program.JournalFile().Path, m)
	case err != nil:
		return problem(c.takeOverStep("remove the tag if no deployment of the service runs, or run sluice deploy --take-over",
			"remove the tag if no deployment of the service runs, or give this command --take-over",
			"remove the tag if no deployment of the service runs"),
			"%w", err)
	}
	return problem(c.takeOverStep("wait for it to end, or resume it with its journal. To end it, run sluice deploy --take-over. "+
		"If that journal is lost, run sluice deploy --adopt to clean up and deploy", "wait for it to end, or resume it with "+
		"its journal. To end it, give this command --take-over. If that journal is lost, give it --adopt to clean up first",
		"wait for it to end, or run sluice rollback "+k.Deployment+" with its journal. If that is lost, run sluice rollback "+
			"--adopt in the application's folder"),
		"%s%s", otherJournalText(c.program.JournalFile().Path, k), leftoversText(m))
}

// leftoversText describes what a deployment has created in addition to its claim.
func leftoversText(m plan.Leftovers) string {
	if m.Claim = ""; m.IsEmpty() {
		return ""
	}
	return "; it has created: " + m.String()
}

// rollBackRunning ends a deployment of this journal by its rollback, whichever process runs it. The
// rollback is possible because this journal has the state before that deployment. Then the method
// plans the new deployment again.
func (c *serviceConflicts) rollBackRunning(ctx context.Context, d journal.Deployment) error {
	t := &session.Opened{Journal: c.journal, Deployment: d, Account: c.pre.account, Clock: c.pre.clock}
	var err error
	if t.Plan, err = session.ReadPlan(d); err != nil {
		return err
	}
	e := c.program.NewEngine(c.pre.account, c.pre.clock, c.journal)
	if err := c.program.takeOverProcess(ctx, e, d); err != nil {
		return err
	}
	if err := e.SendCommand(ctx, d.ID, journal.Rollback, 0, c.program.Env.ActorName("")); err != nil {
		return err
	}
	r := c.program.Terminal().NewRenderer(t.Plan, t.Clock)
	if _, err := replayEvents(ctx, t, r); err != nil {
		r.Close()
		return err
	}
	if err := (&deploymentRun{c.program, e, r, sluice.RolledBack}).run(ctx, d.ID, engine.Options{}); err != nil {
		return err
	}
	return c.pre.readAndPlan(ctx)
}

// takeOverProcess stops the process that runs a deployment and prints which process that was and
// why it was stopped.
func (p *program) takeOverProcess(ctx context.Context, e *engine.Engine, d journal.Deployment) error {
	from, err := e.TakeOver(ctx, d.ID, p.Env.ActorName("")+", process "+p.Env.OwnerName())
	if err != nil {
		return err
	}
	if from == "" {
		from = ", which no process was running"
	} else {
		from = " from process " + from
	}
	fmt.Fprintf(p.Env.Err, "took over deployment %s (%s)%s (--take-over)\n", d.ID, d.State,
		from)
	return nil
}

// takeOverDeployment takes over a deployment from the process that runs it. If a deployment of
// another machine has claimed the service since, this deployment may take over that claim.
func (p *program) takeOverDeployment(ctx context.Context, e *engine.Engine, t *session.Opened) error {
	d := t.Deployment
	if err := p.takeOverProcess(ctx, e, d); err != nil {
		return err
	}
	live, err := ecs.Service{API: t.Account.ECS(), Cluster: d.Cluster, Name: d.Service}.Observe(ctx)
	if err != nil || live == nil {
		return err
	}
	value := live.ClaimValue()
	if value == "" || claimOwner(value) == d.ID {
		return nil
	}
	return engine.OpenMemory(t.Journal, d.ID).TakeOver.Save(ctx, claimOwner(value))
}
