package survey

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/verify"
)

// ReadRunInputs reads the inputs of the plan of a run. It makes no write.
func ReadRunInputs(ctx context.Context, a *account.Account, _ clock.Clock, app *appfile.Application) (plan.AWSState,
	error) {
	live := plan.AWSState{Region: a.Region()}
	err := verify.CheckRegion(app, a.Region())
	if err != nil {
		return live, err
	}
	if live.Account, err = a.ID(ctx); err != nil {
		return live, err
	}
	if err := verify.CheckAccount(app, live.Account); err != nil {
		return live, err
	}
	return live, surveyFamily(ctx, a, app, &live)
}

// surveyFamily reads the newest revision of the family, or the one that is asked for, and checks what its tasks need to
// start and that revision does not name.
func surveyFamily(ctx context.Context, a *account.Account, app *appfile.Application, live *plan.AWSState) error {
	if err := readFamily(ctx, a, app, live); err != nil {
		return err
	}
	addProblems(live, verify.TaskNeeds(ctx, app, readsOfPlan(a, live), live.Definition))
	return nil
}

func readFamily(ctx context.Context, a *account.Account, app *appfile.Application, live *plan.AWSState) (err error) {
	if live.Identical = app.Registered; live.Identical != "" {
		live.Definition, err = ecs.ReadDefinition(ctx, a.ECS(), live.Identical)
		return err
	}
	td, err := ecs.LatestTagged(ctx, a.ECS(), *app.Task.Input.Family)
	if err != nil || td == nil {
		return err
	}
	live.Definition, live.DefinitionTags = td.TaskDefinition, td.Tags
	live.Identical = ecs.MatchRevision(app.Task, td).Name
	return nil
}

// surveySteps reads which definitions of the steps are registered.
func surveySteps(ctx context.Context, a *account.Account, app *appfile.Application, live *plan.AWSState) error {
	read := func(when string, steps []appfile.Step) error {
		for _, s := range steps {
			if s.Task == nil {
				continue
			}
			rev, err := ecs.FindRegistered(ctx, a.ECS(), s.Task)
			if err != nil {
				return err
			}
			if live.Steps == nil {
				live.Steps = map[string]string{}
			}
			live.Steps[plan.StepKey(when, s.Name)] = rev.Name
		}
		return nil
	}
	if err := read(plan.StepBefore, app.Before); err != nil {
		return err
	}
	return read(plan.StepAfter, app.After)
}
