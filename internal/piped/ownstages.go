package piped

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// piped does not know some stages of a plan: the removal of what earlier deployments left, and the steps before and
// after. They run within the first and the last stage that piped asks for.

// isOwnStage reports whether piped does not know the stage.
func isOwnStage(s plan.Stage) bool { return s.Adopts() || s.Task != nil && s.Task.Step != "" }

// knownStages returns the stages that piped asks for, in order.
func (t *targetRun) knownStages() []plan.Stage {
	return slices.DeleteFunc(slices.Clone(t.plan.Stages), isOwnStage)
}

// runBefore runs the plan's own stages before the current one. A rollback removes leftovers itself if it must.
func (t *targetRun) runBefore(ctx context.Context) error {
	return t.runOwn(ctx, func(s plan.Stage) bool { return s.Index < t.index })
}

// runAfter runs the plan's own stages after the last one.
func (t *targetRun) runAfter(ctx context.Context) error {
	return t.runOwn(ctx, func(s plan.Stage) bool { return s.Index > t.index && t.isLast(nil) })
}

func (t *targetRun) runOwn(ctx context.Context, isDue func(plan.Stage) bool) error {
	for _, s := range t.plan.Stages {
		if t.isRollback() || !isOwnStage(s) || !isDue(s) {
			continue
		}
		if err := t.runOwnStage(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// runOwnStage runs one stage, unless it is done.
func (t *targetRun) runOwnStage(ctx context.Context, s plan.Stage) (err error) {
	w, err := t.openStage(s.Index, nil)
	if err != nil {
		return err
	}
	if done, err := w.IsDone(ctx); err != nil || done {
		return err
	}
	key := fmt.Sprintf("stage %d of the plan", s.Index)
	if t.host.start, err = loadBegin(ctx, t.host, key, t.plugin.clock.Now()); err != nil {
		return err
	}
	if s.Task != nil {
		t.log.writeLines(contract.LogSeverity_INFO, fmt.Sprintf("step %s, %s the stages", s.Task.Step, s.Task.When))
	}
	if err = w.Execute(ctx); err != nil && ctx.Err() == nil {
		err = t.saveKept(ctx, s, err)
	}
	return err
}

const (
	keyKeptBefore = "kept by a step before" // the target has not been changed
	keyKeptAfter  = "kept by a step after"  // of the deployment: every target whose stages are done keeps the new version
)

// saveKept saves that the rollback stage, which piped runs after every failure, must keep what serves: the failure of
// the step asks for no rollback. It returns the failure with its effect.
func (t *targetRun) saveKept(ctx context.Context, s plan.Stage, failed error) error {
	switch sluice.KindOf(failed) {
	case sluice.Overtaken, sluice.LostClaim, sluice.Halted:
		return failed
	}
	keeps, effect := t.plan.KeepsFailed(s.Index)
	if !keeps {
		return failed
	}
	h, key := t.host, keyKeptBefore
	if s.Task.When == plan.StepAfter {
		h, key = h.ofAllTargets(), keyKeptAfter
	}
	failed = fmt.Errorf("%w%s", failed, effect)
	return errors.Join(failed, h.Save(ctx, key, []byte(failed.Error())))
}

// loadKept returns why the rollback keeps what serves; empty if it restores the previous state.
func (t *targetRun) loadKept(ctx context.Context) (string, error) {
	why, kept, err := t.host.Load(ctx, keyKeptBefore)
	if err != nil || kept {
		return string(why), err
	}
	if why, kept, err = t.host.ofAllTargets().Load(ctx, keyKeptAfter); err != nil || !kept {
		return "", err
	}
	known := t.knownStages()
	w, err := t.openStage(known[len(known)-1].Index, nil)
	if err != nil {
		return "", err
	}
	done, err := w.IsDone(ctx)
	if !done {
		return "", err
	}
	return string(why), err
}

// endKept ends the deployment in the rollback stage, and restores no version.
func (t *targetRun) endKept(ctx context.Context) error {
	if err := t.noteBegin(ctx); err != nil {
		return err
	}
	t.log.writeLines(contract.LogSeverity_INFO, "no version is rolled back: "+t.kept)
	return t.finishDeployment(ctx, errors.New(t.kept))
}
