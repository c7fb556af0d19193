package stage

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// runTask runs the stage's tasks to their end: a standalone task, or a step
// before or after the other stages.
//
// A step runs under the claim on the service, so that two deployments do not
// migrate one database at a time; the service itself is not touched. What an
// earlier attempt started is found and waited for, never started again.
func (r *Run) runTask(ctx context.Context) error {
	if err := r.holdForStep(ctx); err != nil {
		return err
	}
	j, err := r.job(ctx)
	if err != nil {
		return err
	}
	l, err := r.launch(ctx, j)
	if err != nil {
		return err
	}
	if r.Leave && r.Plan.Standalone {
		return j.left(r, l)
	}
	return r.awaitTasks(ctx, j, l)
}

// register registers the definition and runs nothing.
func (r *Run) register(ctx context.Context) error {
	rev, err := r.revision(ctx)
	if err == nil {
		r.note("%s is registered; its task is not run (runStandaloneTask: false)", rev.Name)
	}
	return err
}

// holdForStep remembers what was and claims the service of a step. Where there was
// none when the plan was made, there is nothing to claim yet.
func (r *Run) holdForStep(ctx context.Context) error {
	if r.Plan.Standalone {
		return nil
	}
	live, err := r.standing(ctx)
	if err != nil {
		return err
	}
	if err := r.remember(ctx, live); err != nil {
		return err
	}
	if !r.Stage.Lists(sluice.Write{Operation: "ecs:TagResource", Resource: r.hand.Resource()}) {
		return nil
	}
	if live == nil {
		return r.deleted()
	}
	r.step = true
	return r.hold(ctx, live)
}

// job is what the stage runs, with the hand for it.
type job struct {
	*plan.Task
	tasks     ecs.Tasks
	revision  ecs.Revision
	request   *definition.Run
	planned   sluice.Write
	startedBy string
}

// what names the job in errors.
func (j *job) what() string {
	if j.Step != "" {
		return "run step " + j.Step
	}
	return "run " + j.revision.Name
}

func (r *Run) job(ctx context.Context) (j *job, err error) {
	j = &job{Task: r.Stage.Task, startedBy: r.Deployment + "/run"}
	if j.Step != "" {
		j.startedBy = r.Deployment + "/" + plan.StepKey(j.When, j.Step)
	}
	if j.request, err = j.DecodeRequest(); err != nil {
		return nil, err
	}
	to := r.Plan.To
	if j.Own() {
		to = j.To
	}
	j.planned = sluice.Write{Operation: "ecs:RunTask", Resource: r.Plan.Cluster + "/" + to}
	if j.revision, err = r.revisionOf(ctx, j); err != nil {
		return nil, err
	}
	j.tasks = ecs.Tasks{API: r.Account.ECS(), Cluster: r.Plan.Cluster, Family: familyOf(j.revision.Name)}
	return j, nil
}

// revisionOf is the revision that the job runs: the deployment's, or its own.
func (r *Run) revisionOf(ctx context.Context, j *job) (ecs.Revision, error) {
	if !j.Own() {
		return r.revision(ctx)
	}
	if j.Registered() {
		return ecs.Revision{ARN: j.To, Name: j.To}, nil
	}
	index := strconv.Itoa(r.Stage.Index)
	if _, ok, err := saved[ecs.Revision](ctx, r.Host, keyOwnRevision+index); err != nil || !ok && j.Redacted {
		return ecs.Revision{}, errors.Join(err, r.lacksValues(j))
	}
	task, err := j.DecodeTask()
	if err != nil {
		return ecs.Revision{}, err
	}
	return r.registered(ctx, task, keyOwnRevision+index, keyOwnRegister+index)
}

// lacksValues: without the values that the journal does not keep, nothing new can
// be started.
func (r *Run) lacksValues(j *job) error {
	return &sluice.Error{Op: j.what(), Resource: r.hand.Resource(), Kind: sluice.Halted,
		Err:  errors.New("it is not started yet, and the values of its environment are not kept"),
		Next: "run sluice resume in the folder of the application, with its files as they were; or sluice abort"}
}

// left leaves the tasks to ECS.
func (j *job) left(r *Run, l *launched) error {
	return &sluice.Error{Op: j.what(), Resource: r.hand.Resource(), Kind: sluice.Halted,
		Err: fmt.Errorf("%s: %w", sluice.Plural(len(l.Tasks), "task"), ErrHandedOver), Next: "sluice resume waits for the end"}
}
