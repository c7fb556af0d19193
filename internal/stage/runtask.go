package stage

import (
	"context"
	"errors"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/access/discovered"
	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/revision"
	"github.com/sluice-ecs/sluice/internal/stage/rolling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/stage/task"
)

// runTask runs the stage's tasks until they stop: a standalone task, or a step before or after the
// other stages.
//
// A step runs under the claim on the service, so that two deployments do not migrate one database
// at the same time. It does not change the service itself. Tasks that an earlier attempt started
// are found and waited for, and never started again.
func runTask(ctx context.Context, s *step.Step) error {
	if err := claimForStep(ctx, s); err != nil {
		return err
	}
	j, err := newJob(ctx, s)
	if err != nil {
		return err
	}
	started, err := j.Launch(ctx)
	if err != nil {
		return err
	}
	if s.HandOver && !s.Plan.Mode().HasService() {
		return j.HandOver(started, rolling.ErrHandedOver)
	}
	return j.Await(ctx, started)
}

// registerOnly registers the definition and runs no task.
func registerOnly(ctx context.Context, s *step.Step) error {
	rev, err := revision.Ensure(ctx, s)
	if err == nil {
		s.EmitNote("%s is registered; its task is not run (runStandaloneTask: false)", rev.Name)
	}
	return err
}

// claimForStep takes the snapshot and claims the service of a step. If there was no service when
// the plan was made, there is nothing to claim yet.
func claimForStep(ctx context.Context, s *step.Step) error {
	if !s.Plan.Mode().HasService() {
		return nil
	}
	live, err := begin.FindActiveService(ctx, s)
	if err != nil {
		return err
	}
	if err := begin.LoadSnapshot(ctx, s, live); err != nil {
		return err
	}
	if !s.Stage.MayWrite(sluice.Write{Operation: "ecs:TagResource", Resource: s.Client.Resource()}) {
		return nil
	}
	if live == nil {
		return step.ErrServiceDeleted(s)
	}
	s.IsStep = true
	return begin.ClaimAndSuspend(ctx, s, live)
}

// newJob returns what the stage runs, with what package task needs of the stage.
func newJob(ctx context.Context, s *step.Step) (j *task.Job, err error) {
	j = &task.Job{Task: s.Stage.Task, StartedBy: s.Deployment + "/run", Cluster: s.Plan.Cluster,
		Resource: s.Client.Resource(), ProgressDeadline: s.Plan.ProgressDeadline,
		Account: s.Account, Clock: s.Clock, Memory: taskMemory(s), Emit: s.Host.Emit, Write: s.MakeWrite,
		ActionID: s.ActionID, CheckInterrupt: s.CheckInterrupt, Pause: s.PauseFor}
	if s.IsStep {
		j.KeepClaim = func(ctx context.Context) error {
			_, err := s.ObserveService(ctx)
			return err
		}
	}
	if j.Step != "" {
		j.StartedBy = s.Deployment + "/" + plan.StepKey(j.When, j.Step)
	}
	if j.Request, err = j.DecodeRequest(); err != nil {
		return nil, err
	}
	to := s.Plan.To
	if j.HasOwnDefinition() {
		to = j.To
	}
	j.Planned = sluice.Write{Operation: "ecs:RunTask", Resource: s.Plan.Cluster + "/" + to}
	if j.Revision, err = jobRevision(ctx, s, j); err != nil {
		return nil, err
	}
	j.Family = discovered.FamilyOf(j.Revision.Name)
	return j, nil
}

// taskMemory saves the progress of the stage's tasks under its key.
func taskMemory(s *step.Step) task.Memory {
	saved := s.Memory.Launch(s.Stage.Index)
	return task.Memory{
		Load: saved.Find,
		Save: func(ctx context.Context, p *task.Progress) error { return saved.Save(ctx, *p) },
	}
}

// jobRevision is the revision that the job runs: the deployment's, or the job's own.
func jobRevision(ctx context.Context, s *step.Step, j *task.Job) (ecs.Revision, error) {
	if !j.HasOwnDefinition() {
		return revision.Ensure(ctx, s)
	}
	if j.IsRegistered() {
		return ecs.Revision{ARN: j.To, Name: j.To}, nil
	}
	own := s.Memory.StepRegistration(s.Stage.Index)
	if saved, err := own.Load(ctx); err != nil || saved.Revision == nil && j.Redacted {
		return ecs.Revision{}, errors.Join(err, j.ErrMissingValues())
	}
	definition, err := j.DecodeTask()
	if err != nil {
		return ecs.Revision{}, err
	}
	return revision.EnsureRegistered(ctx, s, definition, own)
}
