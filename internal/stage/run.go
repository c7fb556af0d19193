package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/gates"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/outside"
	"github.com/sluice-ecs/sluice/internal/stage/rolling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// openTraffic returns the traffic provider for the plan's access type.
func openTraffic(s *step.Step) step.Access {
	if open := trafficCodeOf(s.Plan.Access); open != nil {
		return open(s)
	}
	return step.NoTraffic{}
}

// openStep creates the clients of a stage.
func openStep(c step.Config) (*step.Step, error) {
	task, err := c.Plan.DecodeTask()
	if err != nil {
		return nil, err
	}
	service, err := c.Plan.DecodeService()
	if err != nil {
		return nil, err
	}
	r := &step.Step{Config: c, WroteAt: c.Clock.Now(), Outside: outside.Watch{}, Gates: &gates.Watch{},
		Serving: &servingWatch{}, Stage: c.Plan.Stage(c.Index), Task: task, Service: service, Memory: memory.Open(c.Host)}
	r.Facts = cmp.Or(c.Facts, &step.Facts{})
	r.Reads = &r.Facts.Reads
	r.Client = ecs.Service{API: c.Account.ECS(), Cluster: c.Plan.Cluster, Name: c.Plan.Service,
		Confirm: r.AwaitSecondRead}
	r.Hosting = codeOf(r.Plan.Mode()).hosting(r)
	r.Access = openTraffic(r)
	return r, nil
}

// executeStage runs the stage to its end. An error of [sluice.Kind] Halted means that the stage was
// interrupted and can be executed again. After any other error it can also be executed again, once
// the cause is known.
func executeStage(ctx context.Context, s *step.Step) error {
	run, err := stageFunc(s)
	if err != nil {
		return err
	}
	switch {
	case isLastOfVariants(s):
		run = thenAwaitStable(s, run, s.Plan.Bake)
	case followsNewPrimary(s):
		run = thenAwaitStable(s, run, 0)
	}
	if err := runWithTimeout(ctx, s, run); err != nil {
		return err
	}
	return step.SaveStageDone(s.WithRetries(ctx), s)
}

// isLastOfVariants reports whether the stage is the last one that changes the tasks or the traffic of a new version
// that sluice itself promotes. What ECS rolls and what CodeDeploy deploys is followed to its end anyway.
func isLastOfVariants(s *step.Step) bool {
	if s.IsRollback() || !s.Plan.Mode().HasVariants() || !s.Plan.FinalState().NewPrimary {
		return false
	}
	return s.Stage.Index == s.Plan.LastOfVariants()
}

// followsNewPrimary reports whether the stage is a task that runs after a new version was deployed, and the last stage.
// Nothing else reads the tasks of that version while the task runs.
func followsNewPrimary(s *step.Step) bool {
	return s.Stage.Name == appfile.StageRunTask && !s.IsRollback() && s.Stage.Index == len(s.Plan.Stages)-1 &&
		s.Plan.StateBefore(s.Stage.Index).NewPrimary
}

// deathsOfCanary returns the tasks of a revision that stopped, if the plan starts it as a canary too: the same version
// serves now.
func deathsOfCanary(ctx context.Context, s *step.Step, revision string) ([]diagnosis.Stopped, error) {
	if !slices.ContainsFunc(s.Plan.Stages, plan.Stage.StartsCanary) {
		return nil, nil
	}
	return s.Client.StoppedOfRevision(ctx, revision)
}

// thenAwaitStable runs a stage, and then waits until the tasks are stable and have run for the bake time.
func thenAwaitStable(s *step.Step, run func(context.Context) error, bake time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := run(ctx); err != nil {
			return err
		}
		revision, err := begin.RegisteredName(ctx, s)
		if err != nil || revision == "" {
			return err
		}
		deaths, err := deathsOfCanary(ctx, s, revision)
		if err != nil {
			return err
		}
		return rolling.AwaitStable(ctx, s, revision, bake, deaths)
	}
}

// runWithTimeout ends the stage at its timeout, if it has one.
func runWithTimeout(ctx context.Context, s *step.Step, run func(context.Context) error) error {
	limit := s.Stage.Timeout
	if limit <= 0 {
		return run(s.WithRetries(ctx))
	}
	left := s.Host.Began().Add(limit).Sub(s.Clock.Now())
	timed, cancel := s.Clock.WithTimeout(ctx, left)
	defer cancel()
	err := run(s.WithRetries(timed))
	if err == nil || timed.Err() == nil || ctx.Err() != nil {
		return err
	}
	passed := fmt.Errorf("the stage's timeout of %s passed", limit)
	switch kind := sluice.KindOf(err); {
	case errors.Is(err, context.DeadlineExceeded):
	case kind != "" && !kind.CanResume(): // the stage has ended by itself, and says why
		return err
	default:
		passed = fmt.Errorf("%w: %w", passed, err)
	}
	return &sluice.Error{Op: s.Stage.Name, Resource: s.Client.Resource(), Kind: sluice.Stall, Err: passed,
		Next: cmp.Or(s.Plan.NextAfterTaskTimeout(),
			"raise the stage's timeout, or run sluice status to see what the stage waited for")}
}

func stageFunc(s *step.Step) (func(context.Context) error, error) {
	switch s.Stage.Name {
	case plan.StageScaling:
		return func(ctx context.Context) error { return scaleOnly(ctx, s) }, nil
	case appfile.StageSync:
		return func(ctx context.Context) error { return codeOf(s.Plan.Mode()).sync(ctx, s) }, nil
	case appfile.StageCanaryRollout:
		return func(ctx context.Context) error { return canaryRollout(ctx, s) }, nil
	case appfile.StageTrafficRouting:
		return func(ctx context.Context) error { return trafficRouting(ctx, s) }, nil
	case appfile.StagePrimaryRollout:
		return func(ctx context.Context) error { return primaryRollout(ctx, s) }, nil
	case appfile.StageCanaryClean:
		return func(ctx context.Context) error { return canaryClean(ctx, s) }, nil
	case appfile.StageAnalysis, appfile.StageWait:
		return func(ctx context.Context) error { return runWait(ctx, s) }, nil
	case appfile.StageRollback:
		return func(ctx context.Context) error { return runRollback(ctx, s) }, nil
	case appfile.StageAdopt:
		return func(ctx context.Context) error { return adoptLeftovers(ctx, s) }, nil
	case appfile.StageRunTask:
		return func(ctx context.Context) error { return runTask(ctx, s) }, nil
	case appfile.StageRegister:
		return func(ctx context.Context) error { return registerOnly(ctx, s) }, nil
	}
	return nil, fmt.Errorf("stage %s has nothing to run", s.Stage.Name)
}
