// Package task runs the tasks of a job once: a standalone task, or a step before or after the other
// stages. It starts them, waits until they stop, shows what they print, and judges their exit codes.
//
// A call of RunTask is saved before it is sent. If its response is lost, its tasks are searched, and
// never started a second time. The package has no claim and no plan of its own: package stage gives
// it both as values and functions of [Job].
//
// Start reading at [Job.Launch] and [Job.Await].
package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Job is tasks that run once, and what running them needs.
type Job struct {
	*plan.Task
	Revision         ecs.Revision
	Request          *definition.Run
	Cluster          string
	Family           string        // of the task definition
	StartedBy        string        // by which the tasks are found again
	Planned          sluice.Write  // the write of the plan that allows RunTask
	Resource         string        // in errors
	ProgressDeadline time.Duration // how long a task, or capacity for it, may make no progress; 0: unlimited

	Account *account.Account
	Clock   clock.Clock
	Memory  Memory
	Emit    func(sluice.Event)
	// Write makes one write under the plan and the claim.
	Write sluice.Act
	// ActionID returns the ID of an action of the stage by its name.
	ActionID func(name string) sluice.ActionID
	// CheckInterrupt is called before each poll. Its error ends the job at a safe point.
	CheckInterrupt func(context.Context) error
	// Pause sleeps until the next poll.
	Pause func(context.Context, time.Duration) error
	// KeepClaim reads and renews the claim that the job runs under. Nil: there is none.
	KeepClaim func(context.Context) error
}

// Memory keeps the progress of a job. Save returns only when the value survives a kill of every
// process.
type Memory struct {
	Load func(context.Context) (Progress, bool, error)
	Save func(context.Context, *Progress) error
}

func (j *Job) client() ecs.Tasks {
	return ecs.Tasks{API: j.Account.ECS(), Cluster: j.Cluster, Family: j.Family}
}

// opName is the operation in errors of the job.
func (j *Job) opName() string {
	if j.Step != "" {
		return "run step " + j.Step
	}
	return "run " + j.Revision.Name
}

// ErrMissingValues says that the task cannot be started: the journal does not keep the values of
// its environment.
func (j *Job) ErrMissingValues() error {
	return &sluice.Error{Op: j.opName(), Resource: j.Resource, Kind: sluice.Halted,
		Err:  errors.New("the task is not started yet, and the journal does not keep the values of its environment"),
		Next: "run sluice resume in the application's folder with its files unchanged, or run sluice abort"}
}

// HandOver returns the error that hands the tasks over to ECS; reason is what it wraps.
func (j *Job) HandOver(l *Progress, reason error) error {
	return &sluice.Error{Op: j.opName(), Resource: j.Resource, Kind: sluice.Halted,
		Err:  fmt.Errorf("%s: %w", sluice.Plural(len(l.Tasks), "task"), reason),
		Next: "run sluice resume to wait for the end"}
}

func (j *Job) describeCommand(id string) string {
	return "aws ecs describe-tasks --cluster " + j.Cluster + " --tasks " + id
}

func (j *Job) emitNote(format string, args ...any) {
	j.Emit(sluice.Noted{Message: fmt.Sprintf(format, args...)})
}
