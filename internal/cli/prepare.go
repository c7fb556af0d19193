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

// preparedPlan is a plan and the inputs that it was made from.
type prepared struct {
	app     *appfile.Application
	account *account.Account
	clock   clock.Clock
	live    plan.Live
	options plan.Options
	plan    *plan.Plan
	back    *plan.Return // of a rollback by ECS's history; replaces the files
	of      journal.Filter
	to      string
	left    func(context.Context, plan.Live) (plan.Claim, error) // see findLostClaim
}

// readAndPlan reads the state from AWS and makes the plan.
func (p *prepared) survey(ctx context.Context) (err error) {
	if p.back != nil {
		live, back, err := stage.SurveyBack(ctx, p.account, p.clock, p.of.Cluster, p.of.Service, p.to)
		if p.live, p.back = live, &back; err != nil || back.Nothing != "" {
			return err
		}
		return p.remake()
	}
	if p.live, err = stage.Survey(ctx, p.account, p.clock, p.app); err != nil {
		return err
	}
	if p.left != nil && p.live.Lost.Former == "" {
		if p.live.Lost, err = p.left(ctx, p.live); err != nil {
			return err
		}
	}
	return p.remake()
}

// planAgain makes the plan again, with the current options and without a read of AWS.
func (p *prepared) remake() (err error) {
	if p.back != nil {
		if p.plan, err = plan.MakeBack(p.of.Cluster, p.live, *p.back); err == nil {
			p.plan.TakeOver = p.options.TakeOver
		}
		return err
	}
	p.plan, err = plan.Make(p.app, p.live, p.options)
	return err
}

// judgeCurrent gets the verdict on the running revision, if the files describe the revision that is
// PRIMARY already. If AWS has stopped to deploy that revision, it plans a new deployment.
func (p *prepared) judge(ctx context.Context) error {
	now, err := stage.Judge(ctx, p.account, p.clock, p.plan, p.live)
	if err != nil {
		return fmt.Errorf("judge what runs: %w", err)
	}
	if now != nil && now.Does == plan.StartsAnew {
		p.options.Restart = now.Detail
		if err := p.remake(); err != nil {
			return err
		}
	}
	p.plan.Current = now
	return nil
}

func (p *prepared) service() string { return p.plan.Cluster + "/" + p.plan.Service }

// preparePlan reads the files and AWS and makes the plan. It makes no changes.
func (p *program) prepare(ctx context.Context, path string, o plan.Options) (*prepared, error) {
	if err := checkBounds(o.Scaling); err != nil {
		return nil, err
	}
	app, err := p.application(path)
	if err != nil {
		return nil, err
	}
	if o.QuickSync && o.Pipeline {
		return nil, &sluice.Error{Op: "plan", Resource: app.File, Err: fmt.Errorf("--quick-sync and --pipeline exclude each other"), Next: "give one of them"}
	}
	app.Scaling = app.Scaling.With(o.Scaling)
	out := &prepared{app: app, options: o, left: p.leftBy}
	if out.account, out.clock, err = p.open(ctx, app.Region); err != nil {
		return nil, err
	}
	return out, out.survey(ctx)
}

// findLostClaim returns the deployment of this journal that created the PRIMARY task set, and the
// revision that served before. An aborted deployment may have left such a set without its claim.
func (p *program) leftBy(ctx context.Context, live plan.Live) (plan.Claim, error) {
	made := live.PrimaryMadeBy()
	if made == "" {
		return live.Lost, nil
	}
	j, err := p.journalIfAny()
	if err != nil || j == nil {
		return live.Lost, err
	}
	defer j.Close()
	former, err := stage.ServedBefore(func(key string) ([]byte, bool, error) { return j.Load(ctx, made, key) })
	if err != nil || former == "" {
		return live.Lost, err
	}
	return plan.Claim{Deployment: made, Former: former}, nil
}

// listOpenDeployments returns the deployments of the plan's service that have not ended.
func openOnes(ctx context.Context, j *journal.Journal, pl *plan.Plan) ([]journal.Deployment, error) {
	if j == nil {
		return nil, nil
	}
	return j.Deployments(ctx, journal.Filter{Account: pl.Account, Region: pl.Region, Cluster: pl.Cluster, Service: pl.Service, Open: true})
}
