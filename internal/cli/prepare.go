package cli

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// prepared is a plan with what it was made from.
type prepared struct {
	app     *appfile.Application
	account *account.Account
	clock   clock.Clock
	live    plan.Live
	plan    *plan.Plan
}

// prepare reads the files and AWS, and plans. It writes nothing.
func (p *program) prepare(ctx context.Context, path string, o plan.Options) (*prepared, error) {
	app, err := p.application(path)
	if err != nil {
		return nil, err
	}
	if app.Service == nil {
		_, err := plan.Make(app, plan.Live{}, o) // it says why that cannot be deployed
		return nil, err
	}
	if o.QuickSync && o.Pipeline {
		return nil, &sluice.Error{Op: "plan", Resource: app.File, Err: fmt.Errorf("--quick-sync and --pipeline exclude each other"), Next: "give one of them"}
	}
	out := &prepared{app: app}
	if out.account, out.clock, err = p.open(ctx, app.Region); err != nil {
		return nil, err
	}
	if out.live, err = stage.Survey(ctx, out.account, out.clock, app); err != nil {
		return nil, err
	}
	out.plan, err = plan.Make(app, out.live, o)
	return out, err
}

// openOnes are the deployments of the plan's service that have not ended.
func openOnes(ctx context.Context, j *journal.Journal, pl *plan.Plan) ([]journal.Deployment, error) {
	if j == nil {
		return nil, nil
	}
	return j.Deployments(ctx, journal.Filter{Account: pl.Account, Region: pl.Region, Cluster: pl.Cluster, Service: pl.Service, Open: true})
}

// held is the error of a service that another deployment holds: one of this
// journal that has not ended, or one of another machine by its claim.
func (p *program) held(ctx context.Context, j *journal.Journal, pre *prepared) error {
	op, service := "start a deployment", pre.plan.Cluster+"/"+pre.plan.Service
	open, err := openOnes(ctx, j, pre.plan)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		id := open[0].ID
		return &sluice.Error{Op: op, Resource: service, Kind: sluice.Overtaken,
			Err:  fmt.Errorf("deployment %s of it is %s", id, open[0].State),
			Next: "end it first: sluice resume " + id + ", sluice rollback " + id + " or sluice abort " + id}
	}
	if pre.live.Claim == "" {
		return nil
	}
	claim, err := plan.ParseClaim(pre.live.Claim)
	if err != nil {
		return &sluice.Error{Op: op, Resource: service, Kind: sluice.Overtaken, Err: err,
			Next: "remove the tag " + plan.ClaimTag + " from the service if nobody deploys it"}
	}
	if d, err := j.Deployment(ctx, claim.Deployment); err == nil {
		return &sluice.Error{Op: op, Resource: service, Kind: sluice.Overtaken,
			Err:  fmt.Errorf("deployment %s of it has ended (%s), but could not give its claim back; it runs out at %s", d.ID, d.Outcome, stamp(claim.Until)),
			Next: "wait until then, or remove the tag " + plan.ClaimTag + " from the service"}
	}
	return &sluice.Error{Op: op, Resource: service, Kind: sluice.Overtaken,
		Err:  fmt.Errorf("deployment %s holds it until %s, and it is not in this journal (%s): another machine runs it", claim.Deployment, stamp(claim.Until), p.statePath()),
		Next: "wait for it to end, or go on where its journal is; the claim runs out by itself"}
}
