package step

import (
	"context"
	"strings"

	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// explainer is a judge of one member that logs can explain.
type explainer[J any] interface {
	NeededLogs() []diagnosis.Stopped
	AddLogs(o verdict.Observation, logs []diagnosis.Log) (J, verdict.Verdict)
}

// ExplainByLogs reads the last log lines of failed containers if the judge needs them, and judges
// the observation again. If no task failed, it reads nothing.
func ExplainByLogs[J explainer[J]](ctx context.Context, s *Step, judge J, o verdict.Observation,
	now verdict.Verdict) (J, verdict.Verdict) {
	tasks := judge.NeededLogs()
	if len(tasks) == 0 {
		return judge, now
	}
	logs := ecs.LastLogs{ECS: s.Account.ECS(), Logs: s.Account.Logs(),
		Planned: func(revision string) *definition.Task { return plannedTask(s, revision) }}
	return judge.AddLogs(o, logs.Read(ctx, tasks))
}

// plannedTask returns the task definition of the plan for a revision that did not serve before, and
// nil for the previous one.
func plannedTask(s *Step, revision string) *definition.Task {
	if revision == s.Plan.From || s.Snapshot != nil && revision == s.Snapshot.Revision {
		return nil
	}
	return s.Task
}

// PlannedTask returns a function that returns the task definition of the plan for the revision that the stage deploys, and
// nil for every other one.
func PlannedTask(s *Step, revision string) func(string) *definition.Task {
	return func(of string) *definition.Task {
		if of != revision || revision == "" {
			return nil
		}
		return plannedTask(s, of)
	}
}

// RemoveRollback removes from the advice of a verdict what the automatic rollback does anyway, and what a rollback
// would do again.
func RemoveRollback(s *Step, next string) string {
	if !s.Plan.AutoRollback && !s.IsRollback() {
		return next
	}
	for _, done := range []string{", or roll back: ", "; and end the deployment: "} {
		next, _, _ = strings.Cut(next, done)
	}
	if strings.Contains(next, diagnosis.RegisterAgain) { // the rollback stops those tasks
		return diagnosis.Deregistered.Advice()
	}
	return next
}
