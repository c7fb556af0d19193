package session

import (
	"context"
	"errors"

	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Approval is what a deployment waits for.
type Approval struct {
	plan.Stage
	AsksGates bool // its gates have no verdict: a person must decide
}

// AwaitedApproval returns the stage whose approval a deployment waits for, or whose gates a person must decide.
func AwaitedApproval(ctx context.Context, j *journal.Journal, d journal.Deployment) (a Approval, waits bool,
	err error) {
	if d.State != journal.Waiting {
		return Approval{}, false, nil
	}
	pl, err := ReadPlan(d)
	if err != nil {
		return Approval{}, false, err
	}
	stages, err := j.Stages(ctx, d.ID)
	done := map[int]bool{}
	for _, s := range stages {
		done[s.Index] = s.Status == journal.StageDone
	}
	for _, s := range pl.Stages {
		if !done[s.Index] {
			asked, askedErr := engine.GatesAsked(ctx, j, d.ID)
			a = Approval{Stage: s, AsksGates: !asked[s.Index].IsZero()}
			return a, s.Approvals > 0 || a.AsksGates, errors.Join(err, askedErr)
		}
	}
	return Approval{}, false, err
}

// ApproveCommand returns the command that approves a stage of a deployment. It has a place for the name if the file
// names the approvers: the default name, user@host, is seldom one of them.
func ApproveCommand(deployment string, a Approval) string {
	if len(a.Approvers) == 0 {
		return "sluice approve " + deployment
	}
	return "sluice approve " + deployment + " --by NAME"
}
