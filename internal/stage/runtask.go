package stage

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// runTask runs the stage's tasks until they stop: a standalone task, or a step before or after the
// other stages.
//
// A step runs under the claim on the service, so that two deployments do not migrate one database
// at the same time. It does not change the service itself. Tasks that an earlier attempt started
// are found and waited for, and never started again.
func (r *Run) runTask(ctx context.Context) error {
	if err := r.claimForStep(ctx); err != nil {
		return err
	}
	j, err := r.newJob(ctx)
	if err != nil {
		return err
	}
	l, err := r.launchTasks(ctx, j)
	if err != nil {
		return err
	}
	if r.HandOver && r.Plan.Standalone {
		return j.handOverTasks(r, l)
	}
	return r.awaitTasks(ctx, j, l)
}

// registerOnly registers the definition and runs no task.
func (r *Run) registerOnly(ctx context.Context) error {
	rev, err := r.ensureRevision(ctx)
	if err == nil {
		r.emitNote("%s is registered; its task is not run (runStandaloneTask: false)", rev.Name)
	}
	return err
}

// claimForStep takes the snapshot and claims the service of a step. If there was no service when
// the plan was made, there is nothing to claim yet.
func (r *Run) claimForStep(ctx context.Context) error {
	if r.Plan.Standalone {
		return nil
	}
	live, err := r.findActiveService(ctx)
	if err != nil {
		return err
	}
	if err := r.loadSnapshot(ctx, live); err != nil {
		return err
	}
	if !r.Stage.MayWrite(sluice.Write{Operation: "ecs:TagResource", Resource: r.client.Resource()}) {
		return nil
	}
	if live == nil {
		return r.errServiceDeleted()
	}
	r.isStep = true
	return r.claimAndSuspend(ctx, live)
}

// job is what the stage runs, with the client for it.
type job struct {
	*plan.Task
	tasks        ecs.Tasks
	revision     ecs.Revision
	request      *definition.Run
	plannedWrite sluice.Write
	startedBy    string
}

// opName is the operation in errors of the job.
func (j *job) opName() string {
	if j.Step != "" {
		return "run step " + j.Step
	}
	return "run " + j.revision.Name
}

func (r *Run) newJob(ctx context.Context) (j *job, err error) {
	j = &job{Task: r.Stage.Task, startedBy: r.Deployment + "/run"}
	if j.Step != "" {
		j.startedBy = r.Deployment + "/" + plan.StepKey(j.When, j.Step)
	}
	if j.request, err = j.DecodeRequest(); err != nil {
		return nil, err
	}
	to := r.Plan.To
	if j.HasOwnDefinition() {
		to = j.To
	}
	j.plannedWrite = sluice.Write{Operation: "ecs:RunTask", Resource: r.Plan.Cluster + "/" + to}
	if j.revision, err = r.jobRevision(ctx, j); err != nil {
		return nil, err
	}
	j.tasks = ecs.Tasks{API: r.Account.ECS(), Cluster: r.Plan.Cluster, Family: familyOf(j.revision.Name)}
	return j, nil
}

// jobRevision is the revision that the job runs: the deployment's, or the job's own.
func (r *Run) jobRevision(ctx context.Context, j *job) (ecs.Revision, error) {
	if !j.HasOwnDefinition() {
		return r.ensureRevision(ctx)
	}
	if j.IsRegistered() {
		return ecs.Revision{ARN: j.To, Name: j.To}, nil
	}
	own := r.memory.StepRegistration(r.Stage.Index)
	if saved, err := own.Load(ctx); err != nil || saved.Revision == nil && j.Redacted {
		return ecs.Revision{}, errors.Join(err, r.errMissingValues(j))
	}
	task, err := j.DecodeTask()
	if err != nil {
		return ecs.Revision{}, err
	}
	return r.ensureRegistered(ctx, task, own)
}

// errMissingValues says that the task cannot be started: the journal does not keep the values of
// its environment.
func (r *Run) errMissingValues(j *job) error {
	return &sluice.Error{Op: j.opName(), Resource: r.client.Resource(), Kind: sluice.Halted,
		Err:  errors.New("the task is not started yet, and the journal does not keep the values of its environment"),
		Next: "run sluice resume in the application's folder with its files unchanged, or run sluice abort"}
}

// handOverTasks returns the error that hands the tasks over to ECS.
func (j *job) handOverTasks(r *Run, l *launchState) error {
	return &sluice.Error{Op: j.opName(), Resource: r.client.Resource(), Kind: sluice.Halted,
		Err:  fmt.Errorf("%s: %w", sluice.Plural(len(l.Tasks), "task"), ErrHandedOver),
		Next: "run sluice resume to wait for the end"}
}
