package session

import (
	"context"
	"errors"

	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// AwaitedApproval returns the stage whose approval a deployment waits for, or whose gates a person must decide.
func AwaitedApproval(ctx context.Context, j *journal.Journal, d journal.Deployment) (s plan.Stage, waits bool,
	err error) {
	if d.State != journal.Waiting {
		return plan.Stage{}, false, nil
	}
	pl, err := ReadPlan(d)
	if err != nil {
		return plan.Stage{}, false, err
	}
	stages, err := j.Stages(ctx, d.ID)
	done := map[int]bool{}
	for _, s := range stages {
		done[s.Index] = s.Status == journal.StageDone
	}
	for _, s := range pl.Stages {
		if !done[s.Index] {
			asked, askedErr := engine.GatesAsked(ctx, j, d.ID)
			return s, s.Approvals > 0 || !asked[s.Index].IsZero(), errors.Join(err, askedErr)
		}
	}
	return plan.Stage{}, false, err
}

// ApproveCommand returns the command that approves a stage of a deployment. It has a place for the name if the file names
// the approvers: the default name, user@host, is seldom one of them.
func ApproveCommand(deployment string, s plan.Stage) string {
	if len(s.Approvers) == 0 {
		return "sluice approve " + deployment
	}
	return "sluice approve " + deployment + " --by NAME"
}
