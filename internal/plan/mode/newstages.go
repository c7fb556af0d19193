package mode

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// newStage returns a stage with the options of the file, without its writes.
func newStage(file string, index int, from appfile.Stage) plan.Stage {
	s := plan.Stage{Index: index, Name: from.Name, Desc: from.Desc, Timeout: from.Timeout}
	if from.Line > 0 {
		s.Place = fmt.Sprintf("%s:%d", file, from.Line)
	}
	switch with := from.With.(type) {
	case appfile.CanaryRollout:
		s.Scale = with.Scale
	case appfile.TrafficRouting:
		s.Weights, s.Exact = &with.Weights, with.Exact
	case appfile.PrimaryRollout:
		s.KeepOld = with.KeepOld
	case appfile.Wait:
		s.Duration, s.Gates = with.Duration, with.Gates
	case appfile.Analysis:
		s.Duration, s.Gates = with.Duration, with.Gates
	case appfile.Approval:
		s.Approvers, s.Approvals = with.Approvers, max(1, with.MinApprovers)
	}
	return s
}

// syncStage is the only stage of a deployment without a pipeline.
func syncStage(app *appfile.Application) appfile.Stage {
	return appfile.Stage{Name: appfile.StageSync, With: appfile.Sync{}, Timeout: app.Timeout}
}

// primaryStage is the only stage of an operation next to a canary, which it keeps.
func primaryStage(app *appfile.Application) appfile.Stage {
	return appfile.Stage{Name: appfile.StagePrimaryRollout, With: appfile.PrimaryRollout{}, Timeout: app.Timeout}
}

// adoptStage removes leftovers before the other stages.
func adoptStage(app *appfile.Application, desc string) appfile.Stage {
	return appfile.Stage{Name: appfile.StageAdopt, With: appfile.Adopt{}, Timeout: app.Timeout, Desc: desc}
}

func newRollbackStage(index int) plan.Stage {
	return plan.Stage{Index: index, Name: appfile.StageRollback}
}

func newRegisterStage(app *appfile.Application) plan.Stage {
	return plan.Stage{Name: appfile.StageRegister, Timeout: app.Timeout}
}

func newRunStage(index int, t *plan.Task, timeout time.Duration) plan.Stage {
	return plan.Stage{Index: index, Name: appfile.StageRunTask, Timeout: timeout, Task: t}
}

func newScalingStage() plan.Stage { return plan.Stage{Name: plan.StageScaling} }
