package stage

import (
	"context"
	"errors"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/task"
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
	started, err := j.Launch(ctx)
	if err != nil {
		return err
	}
	if r.HandOver && !r.Plan.Mode().HasService() {
		return j.HandOver(started, ErrHandedOver)
	}
	return j.Await(ctx, started)
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
	if !r.Plan.Mode().HasService() {
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

// newJob returns what the stage runs, with what package task needs of the stage.
func (r *Run) newJob(ctx context.Context) (j *task.Job, err error) {
	j = &task.Job{Task: r.Stage.Task, StartedBy: r.Deployment + "/run", Cluster: r.Plan.Cluster,
		Resource: r.client.Resource(), ProgressDeadline: r.Plan.ProgressDeadline,
		Account: r.Account, Clock: r.Clock, Memory: r.taskMemory(), Emit: r.Host.Emit, Write: r.makeWrite,
		ActionID: r.actionID, CheckInterrupt: r.checkInterrupt, Pause: r.pauseFor}
	if r.isStep {
		j.KeepClaim = func(ctx context.Context) error {
			_, err := r.observeService(ctx)
			return err
		}
	}
	if j.Step != "" {
		j.StartedBy = r.Deployment + "/" + plan.StepKey(j.When, j.Step)
	}
	if j.Request, err = j.DecodeRequest(); err != nil {
		return nil, err
	}
	to := r.Plan.To
	if j.HasOwnDefinition() {
		to = j.To
	}
	j.Planned = sluice.Write{Operation: "ecs:RunTask", Resource: r.Plan.Cluster + "/" + to}
	if j.Revision, err = r.jobRevision(ctx, j); err != nil {
		return nil, err
	}
	j.Family = familyOf(j.Revision.Name)
	return j, nil
}

// taskMemory saves the progress of the stage's tasks under its key.
func (r *Run) taskMemory() task.Memory {
	saved := r.memory.Launch(r.Stage.Index)
	return task.Memory{
		Load: saved.Find,
		Save: func(ctx context.Context, p *task.Progress) error { return saved.Save(ctx, *p) },
	}
}

// jobRevision is the revision that the job runs: the deployment's, or the job's own.
func (r *Run) jobRevision(ctx context.Context, j *task.Job) (ecs.Revision, error) {
	if !j.HasOwnDefinition() {
		return r.ensureRevision(ctx)
	}
	if j.IsRegistered() {
		return ecs.Revision{ARN: j.To, Name: j.To}, nil
	}
	own := r.memory.StepRegistration(r.Stage.Index)
	if saved, err := own.Load(ctx); err != nil || saved.Revision == nil && j.Redacted {
		return ecs.Revision{}, errors.Join(err, j.ErrMissingValues())
	}
	definition, err := j.DecodeTask()
	if err != nil {
		return ecs.Revision{}, err
	}
	return r.ensureRegistered(ctx, definition, own)
}
