package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// conflictFlags are the flags that allow a command to end or clean up other deployments of the same
// service.
type leave struct {
	takeOver bool // end the deployment that owns the service
	adopt    bool // remove the leftovers of a deployment that is not in this journal
}

func (l *leave) register(c *cobra.Command) {
	l.take(c, "end the deployment that holds the service, wherever it runs, and go on; what it left is cleared away first")
	l.adoption(c)
}

func (l *leave) take(c *cobra.Command, says string) {
	c.Flags().BoolVar(&l.takeOver, "take-over", false, says)
}

func (l *leave) adoption(c *cobra.Command) {
	c.Flags().BoolVar(&l.adopt, "adopt", false, "clear away what a deployment left whose journal is lost: all traffic to the primary, its canary removed")
}

// freeService ends whatever owns the service, as far as the flags allow. It rolls back a deployment
// of this journal, takes over the claim of another machine, or plans the removal of leftovers.
// Without those flags it returns an error that names the owner.
func (p *program) free(ctx context.Context, j *journal.Journal, pre *prepared, l leave) error {
	if pre.plan.Standalone {
		return p.freeToRun(ctx, j, pre)
	}
	open, err := openOnes(ctx, j, pre.plan)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		over, err := p.settle(ctx, j, pre, open[0])
		switch {
		case err != nil:
			return err
		case over:
			return p.free(ctx, j, pre, l)
		case !l.takeOver:
			return p.underway(ctx, j, pre, open[0])
		}
		return p.supersede(ctx, j, pre, open[0])
	}
	if ended, err := p.unreturned(ctx, j, pre); ended != nil || err != nil {
		if err == nil && !l.takeOver && !l.adopt {
			err = ended
		}
		if err != nil {
			return err
		}
	}
	marks := plan.Left(pre.live, func(id string) bool {
		_, err := j.Deployment(ctx, id)
		return err == nil
	})
	if !marks.None() && !l.takeOver && !l.adopt {
		return p.marked(pre, marks)
	}
	pre.options.TakeOver, pre.options.Adopt = claimant(pre.live.Claim), l.adopt || !marks.None()
	if err := pre.remake(); err != nil {
		return err
	}
	return busy(pre)
}

// claimOwner returns the deployment of a claim. A plan uses this text to name the claim that may be
// taken over.
func claimant(claim string) string {
	if k, err := plan.ParseClaim(claim); err == nil {
		return k.Deployment
	}
	return claim
}

const startOp = "start a deployment"

func (p *program) underway(ctx context.Context, j *journal.Journal, pre *prepared, d journal.Deployment) error {
	who := "no process runs it now"
	owner, _, err := j.Holder(ctx, engine.Resource(d.Account, d.Region, d.Cluster, d.Service))
	if err != nil {
		return err
	}
	if owner != "" && p.ownerAlive(owner) {
		who = "process " + owner + " runs it"
	}
	return &sluice.Error{Op: startOp, Resource: pre.service(), Kind: sluice.Overtaken,
		Err:  fmt.Errorf("deployment %s of it is %s; %s", d.ID, d.State, who),
		Next: fmt.Sprintf("end it first: sluice resume %s, sluice rollback %s or sluice abort %s; or sluice deploy --take-over rolls it back and deploys", d.ID, d.ID, d.ID)}
}

// findUnreleasedClaim returns an error, as held, if the claim on the service is that of a deployment
// of this journal that has ended and could not release it.
func (p *program) unreturned(ctx context.Context, j *journal.Journal, pre *prepared) (held, err error) {
	claim, err := plan.ParseClaim(pre.live.Claim)
	if pre.live.Claim == "" || err != nil {
		return nil, nil
	}
	d, err := j.Deployment(ctx, claim.Deployment)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	return &sluice.Error{Op: startOp, Resource: pre.service(), Kind: sluice.Overtaken,
		Err:  fmt.Errorf("deployment %s of it has ended (%s), but could not give its claim back; it runs out at %s", d.ID, d.Outcome, stamp(claim.Until)),
		Next: "sluice resume " + d.ID + " gives it back; sluice deploy --take-over takes it; or wait until then"}, err
}

// leftoversError returns the error for a service that has leftovers of a deployment that is not in
// this journal. Another machine runs that deployment, or ran it and is lost.
func (p *program) marked(pre *prepared, m plan.Marks) error {
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: startOp, Resource: pre.service(), Kind: sluice.Overtaken, Err: fmt.Errorf(format, args...), Next: next}
	}
	k, err := plan.ParseClaim(m.Claim)
	switch {
	case m.Claim == "":
		return problem("go on where its journal is; if that is lost, sluice deploy --adopt clears away what it left and deploys",
			"a deployment that is not in this journal (%s) has left: %s", p.statePath(), m)
	case err != nil:
		return problem("remove the tag from the service if nobody deploys it, or sluice deploy --take-over", "%w", err)
	}
	return problem("wait for it to end, or go on where its journal is; sluice deploy --take-over ends it; if that machine is gone, sluice deploy --adopt clears away what it left and deploys",
		"deployment %s holds it until %s, and it is not in this journal (%s): another machine runs it%s", k.Deployment, stamp(k.Until), p.statePath(), left(m))
}

// leftoversText describes what a deployment has created in addition to its claim.
func left(m plan.Marks) string {
	if m.Claim = ""; m.None() {
		return ""
	}
	return "; so far it has made: " + m.String()
}

// rollBackRunning ends a deployment of this journal by its rollback, whichever process runs it. The
// rollback is possible because this journal has the state before that deployment. Then the method
// plans the new deployment again.
func (p *program) supersede(ctx context.Context, j *journal.Journal, pre *prepared, d journal.Deployment) error {
	t := &taken{journal: j, deployment: d, account: pre.account, clock: pre.clock}
	var err error
	if t.plan, err = planOf(d); err != nil {
		return err
	}
	e := p.engine(pre.account, pre.clock, j)
	if err := p.takeFrom(ctx, e, d); err != nil {
		return err
	}
	if err := e.Command(ctx, d.ID, journal.Rollback, 0, p.who("")); err != nil {
		return err
	}
	r := p.renderer(t.plan, t.clock)
	if _, err := recall(ctx, t, r); err != nil {
		r.close()
		return err
	}
	if err := p.drive(ctx, e, r, d.ID, engine.Options{}, sluice.RolledBack); err != nil {
		return err
	}
	return pre.survey(ctx)
}

// takeOverProcess stops the process that runs a deployment and prints which process that was and
// why it was stopped.
func (p *program) takeFrom(ctx context.Context, e *engine.Engine, d journal.Deployment) error {
	from, err := e.TakeOver(ctx, d.ID, p.who("")+", process "+p.owner())
	if err != nil {
		return err
	}
	if from == "" {
		from = "nobody: no process runs it"
	} else {
		from = "process " + from
	}
	fmt.Fprintf(p.env.Err, "took deployment %s (%s) over from %s, because --take-over asks for it\n", d.ID, d.State, from)
	return nil
}

// takeOverDeployment takes over a deployment from the process that runs it. If a deployment of
// another machine has claimed the service since, this deployment may take over that claim.
func (p *program) takeAll(ctx context.Context, e *engine.Engine, t *taken) error {
	d := t.deployment
	if err := p.takeFrom(ctx, e, d); err != nil {
		return err
	}
	live, err := ecs.Service{API: t.account.ECS(), Cluster: d.Cluster, Name: d.Service}.Observe(ctx)
	if err != nil || live == nil {
		return err
	}
	value := live.Tags[plan.ClaimTag]
	if value == "" || claimant(value) == d.ID {
		return nil
	}
	return t.journal.Save(ctx, d.ID, stage.KeyTakeOver, []byte(claimant(value)))
}
