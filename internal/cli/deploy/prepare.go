package deploy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/history"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// preparedPlan is a plan and the inputs that it was made from.
type preparedPlan struct {
	app          *appfile.Application
	account      *account.Account
	clock        clock.Clock
	state        plan.AWSState
	options      mode.Options
	plan         *plan.Plan
	returnPlan   *history.Return // of a rollback by ECS's history; replaces the files
	returnEvents []string        // of --rollback-events
	filter       journal.Filter
	revision     string
	findLost     func(context.Context, plan.AWSState) (plan.Claim, error) // see findLostClaim
}

// readAndPlan reads the state from AWS and makes the plan.
func (p *preparedPlan) readAndPlan(ctx context.Context) (err error) {
	if p.returnPlan != nil {
		live, back, err := survey.ReadRollbackInputs(ctx, p.account, p.clock, p.filter.Cluster, p.filter.Service, p.revision)
		if p.state, p.returnPlan = live, &back; err != nil || back.Nothing != "" {
			return err
		}
		return p.planAgain()
	}
	if err = p.readState(ctx); err != nil {
		return err
	}
	return p.planAgain()
}

// readState reads the state of the application from AWS, for a plan of its files.
func (p *preparedPlan) readState(ctx context.Context) (err error) {
	if p.state, err = survey.ReadInputs(ctx, p.account, p.clock, p.app); err != nil {
		return err
	}
	if p.findLost != nil && p.state.Lost.Former == "" {
		p.state.Lost, err = p.findLost(ctx, p.state)
	}
	return err
}

// planAgain makes the plan again, with the current options and without a read of AWS.
func (p *preparedPlan) planAgain() (err error) {
	if p.returnPlan != nil {
		if p.plan, err = history.MakeReturn(p.filter.Cluster, p.state, *p.returnPlan); err == nil {
			p.plan.TakeOver = p.options.TakeOver
			err = p.setReturnEvents()
		}
		return err
	}
	p.plan, err = mode.Make(p.app, p.state, p.options)
	return err
}

// judgeCurrent gets the verdict on the running revision, if the files describe the revision that is
// PRIMARY already. If AWS has stopped to deploy that revision, it plans a new deployment.
func (p *preparedPlan) judgeCurrent(ctx context.Context) error {
	now, err := stage.JudgeCurrent(ctx, p.account, p.clock, p.plan, p.state)
	if err != nil {
		return fmt.Errorf("judge the running revision: %w", err)
	}
	if now != nil && now.Does == plan.DoesRestart {
		p.options.Restart = now.Detail
		if err := p.planAgain(); err != nil {
			return err
		}
	}
	p.plan.Current = now
	return nil
}

func (p *preparedPlan) serviceName() string { return p.plan.Cluster + "/" + p.plan.Service }

// preparePlan reads the files and AWS and makes the plan. It makes no changes.
func (p *program) preparePlan(ctx context.Context, path string, o planFlags) (*preparedPlan, error) {
	if err := errors.Join(checkBounds(o.Scaling), checkSources(o.definitions)); err != nil {
		return nil, err
	}
	app, err := p.LoadApplication(path)
	if err != nil {
		return nil, err
	}
	if o.QuickSync && o.Pipeline {
		return nil, &sluice.Error{Op: "plan", Resource: app.File,
			Err: fmt.Errorf("--quick-sync and --pipeline exclude each other"), Next: "give one of them"}
	}
	if o.creates {
		if err := o.setCreateCount(app); err != nil {
			return nil, err
		}
	}
	if o.operates {
		app.Before, app.After = nil, nil
	}
	app.Scaling = app.Scaling.With(o.Scaling)
	app.Scaling.SetsCount = o.Tasks != nil
	app.AutoRollback = valueOr(o.autoRollback, app.AutoRollback)
	app.Bake = valueOr(o.bake, app.Bake)
	if app.Format == appfile.Ecspresso && !app.AutoRollback && !o.compares {
		app.Notes = append(app.Notes, "a failed deployment is not rolled back, as with ecspresso; --auto-rollback rolls it back")
	}
	defer p.ShowCalls()()
	out := &preparedPlan{app: app, options: o.Options, findLost: p.findLostClaim}
	if out.account, out.clock, err = p.OpenAccountOf(ctx, app); err != nil {
		return nil, p.adviseLocalAWS(err, path)
	}
	if !o.operates { // without the version of the files, no gate judges
		if err := stage.CheckGates(ctx, app, p.Env.OutsideAWS(out.account)); err != nil {
			return nil, err
		}
	}
	if err := o.definitions.ReplaceIn(ctx, out.account, app); err != nil {
		return nil, err
	}
	if err := o.images.Choose(ctx, out.account, app); err != nil {
		return nil, err
	}
	if o.refreshes {
		out.options.Force = true
		if mode.Of(app) == plan.ModeTaskSets { // ECS replaces no task of a task set
			out.options.Force, out.options.Restart = false, "the present tasks"
		}
	}
	if app.LocalAWS = p.Endpoint(ctx).World != ""; app.LocalAWS {
		gaps, err := rehearse.CheckGaps(app.Service, app.Task)
		if err != nil {
			return nil, err
		}
		app.Notes = append(app.Notes, gaps...)
	}
	if err := out.readState(ctx); err != nil {
		return nil, err
	}
	if err := out.refuseExisting(o.creates); err != nil {
		return nil, err
	}
	return out, out.planAgain()
}

// valueOr returns the value of a flag; nil: that of the file.
func valueOr[T any](flag *T, file T) T {
	if flag == nil {
		return file
	}
	return *flag
}

// setCreateCount sets the desired count of a new service to 0, if the flags give none. A DAEMON service has none.
func (o *planFlags) setCreateCount(app *appfile.Application) error {
	if app.Service == nil {
		return &sluice.Error{Op: "create the service", Resource: app.File,
			Err:  errors.New("the application is a standalone task, and has no service"),
			Next: "name an application with a service"}
	}
	if o.Tasks == nil && app.Service.Input.SchedulingStrategy != "DAEMON" {
		o.Tasks = new(int)
	}
	return nil
}

// refuseExisting returns an error if a service must not exist, and does. It needs no plan, which may be refused for the
// desired count of 0 that a new service gets.
func (p *preparedPlan) refuseExisting(creates bool) error {
	if !creates || p.state.ServiceStatus() != "ACTIVE" {
		return nil
	}
	return &sluice.Error{Op: "create the service", Kind: sluice.Conflict,
		Resource: p.app.ClusterName() + "/" + session.ServiceOrGroup(p.app),
		Err:      errors.New("it exists already"), Next: "run sluice deploy to update it"}
}

// adviseLocalAWS adds to a missing Region how to plan against the local AWS, if a world file is next
// to the application, as in the examples.
func (p *program) adviseLocalAWS(err error, path string) error {
	var problem *sluice.Error
	if !errors.Is(err, account.ErrNoRegion) || !errors.As(err, &problem) {
		return err
	}
	world := filepath.Join(path, "world.yaml")
	if _, readErr := p.Env.Disk.ReadFile(world); readErr != nil {
		return err
	}
	advised := *problem
	advised.Next = "run sluice sim --world " + world + ", and paste the export lines that it prints into this shell. " +
		"For AWS itself, " + problem.Next
	return &advised
}

// findLostClaim returns the deployment of this journal that created the PRIMARY task set, and the
// revision that served before. An aborted deployment may have left such a set without its claim.
func (p *program) findLostClaim(ctx context.Context, live plan.AWSState) (plan.Claim, error) {
	made := live.PrimaryCreatedBy()
	if made == "" {
		return live.Lost, nil
	}
	j, err := p.FindJournal()
	if err != nil || j == nil {
		return live.Lost, err
	}
	defer j.Close()
	saved, err := engine.OpenMemory(j, made).Snapshot.Load(ctx)
	if err != nil || saved.Primary == nil {
		return live.Lost, err
	}
	return plan.Claim{Deployment: made, Former: saved.Primary.ID}, nil
}

// listOpenDeployments returns the deployments of the plan's service that have not ended.
func (p *program) listOpenDeployments(ctx context.Context, j *journal.Journal, pl *plan.Plan) ([]journal.Deployment,
	error) {
	return p.Deployments(j).Open(ctx, journal.Filter{Account: pl.Account, Region: pl.Region, Cluster: pl.Cluster,
		Service: pl.Service})
}
