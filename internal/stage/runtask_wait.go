package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

const (
	claimCheckInterval = time.Minute // the claim is read this often during a long task
	missingLimit       = time.Minute // how long ECS may not return a task that was just started
)

// taskWait is the wait for tasks to stop.
type taskWait struct {
	*Run
	*job
	*launchState
	status      map[string]string    // by task
	missing     map[string]time.Time // by task: since when ECS does not return it
	movedAt     time.Time            // when a task changed last
	claimReadAt time.Time            // when the claim was read last
	logs        taskLogs
}

// awaitTasks waits until all tasks have stopped, shows what they print, and judges them.
func (r *Run) awaitTasks(ctx context.Context, j *job, l *launchState) error {
	now := r.Clock.Now()
	v := &taskWait{Run: r, job: j, launchState: l, status: map[string]string{}, missing: map[string]time.Time{},
		movedAt: now, claimReadAt: now}
	v.logs.wait = v
	if err := v.awaitEnded(ctx); err != nil {
		v.noteStillRunning(err)
		return err
	}
	if err := v.logs.readRemaining(ctx); err != nil {
		return err
	}
	for _, e := range l.Ended {
		r.Host.Emit(e)
	}
	return v.judgeTasks()
}

func (v *taskWait) awaitEnded(ctx context.Context) error {
	for {
		if err := v.Run.checkInterrupt(ctx); err != nil {
			return err
		}
		if err := v.pollTasks(ctx); err != nil {
			return err
		}
		if err := v.logs.readNew(ctx); err != nil {
			return err
		}
		if len(v.openTasks()) == 0 {
			return nil
		}
		if err := v.checkProgress(ctx); err != nil {
			return err
		}
		if err := v.pauseFor(ctx, verdict.NextTaskPoll(v.Clock.Now().Sub(v.movedAt))); err != nil {
			return err
		}
	}
}

// openTasks are the tasks that have not been seen to stop.
func (v *taskWait) openTasks() []string {
	return slices.DeleteFunc(slices.Clone(v.launchState.Tasks), func(id string) bool {
		return slices.ContainsFunc(v.Ended, func(e sluice.TaskEnded) bool { return e.Task == id })
	})
}

// pollTasks reads the tasks once. It saves how a task ended, because ECS later no longer returns
// it.
func (v *taskWait) pollTasks(ctx context.Context) error {
	open := v.openTasks()
	if len(open) == 0 {
		return nil
	}
	seen, err := v.job.tasks.DescribeTasks(ctx, open)
	if err != nil {
		return err
	}
	now, ended := v.Clock.Now(), len(v.Ended)
	for _, t := range seen {
		delete(v.missing, t.ID)
		if v.status[t.ID] != t.Status {
			v.status[t.ID], v.movedAt = t.Status, now
			v.Host.Emit(sluice.TaskChanged{Task: t.ID, Revision: v.job.revision.Name, Status: t.Status})
		}
		if t.Ended != nil {
			v.Ended = append(v.Ended, *t.Ended)
		}
	}
	if len(v.Ended) > ended {
		if err := v.saveTasks(ctx, v.launchState); err != nil {
			return err
		}
	}
	return v.checkMissing(open, seen, now)
}

// checkMissing returns an error for a task that ECS no longer returns.
func (v *taskWait) checkMissing(asked []string, seen []ecs.TaskRun, now time.Time) error {
	for _, id := range asked {
		if slices.ContainsFunc(seen, func(t ecs.TaskRun) bool { return t.ID == id }) {
			continue
		}
		since, known := v.missing[id]
		if !known {
			v.missing[id] = now
			continue
		}
		if now.Sub(since) >= missingLimit {
			return &sluice.Error{Op: v.opName(), Resource: "task " + id, Kind: sluice.NotFound,
				Err: errors.New("ECS no longer lists the task, as one hour after its end: sluice cannot determine " +
					"how it ended"),
				Next: "check the task's logs, or the data it writes, to see how it ended"}
		}
	}
	return nil
}

// checkProgress renews the claim on the service. It ends the wait for a task that does not reach
// RUNNING.
func (v *taskWait) checkProgress(ctx context.Context) error {
	now := v.Clock.Now()
	if v.isStep && now.Sub(v.claimReadAt) >= claimCheckInterval {
		v.claimReadAt = now
		if _, err := v.observeService(ctx); err != nil {
			return err
		}
	}
	limit := v.Plan.ProgressDeadline
	if limit <= 0 || now.Sub(v.movedAt) < limit {
		return nil
	}
	for _, id := range v.openTasks() {
		if s := v.status[id]; s != "RUNNING" {
			return &sluice.Error{Op: v.opName(), Resource: "task " + id, Kind: sluice.Stall,
				Err: fmt.Errorf("the task is %s and has made no progress for %s", s, limit), Next: v.stateCommand(id)}
		}
	}
	return nil
}

// noteStillRunning reports that the tasks continue in ECS although this process stops waiting for
// them.
func (v *taskWait) noteStillRunning(err error) {
	open := v.openTasks()
	if len(open) == 0 || sluice.KindOf(err) == sluice.NotFound {
		return
	}
	v.emitNote("%s running in ECS: %s; to stop one: %s", stillRunningText(len(open)), strings.Join(open, " "),
		"aws ecs stop-task --cluster "+v.Plan.Cluster+" --task "+open[0])
}

func stillRunningText(n int) string {
	if n == 1 {
		return "the task keeps"
	}
	return fmt.Sprintf("%d tasks keep", n)
}

// stateCommand is the advice to read the state of a task. sluice status shows standalone tasks only.
func (v *taskWait) stateCommand(id string) string {
	if v.Plan.Standalone {
		return "see the tasks of the family: sluice status"
	}
	return "see the task: aws ecs describe-tasks --cluster " + v.Plan.Cluster + " --tasks " + id
}

// judgeTasks is the error of tasks that failed, or were never started.
func (v *taskWait) judgeTasks() error {
	var failed []string
	next := ""
	for _, e := range v.Ended {
		if c, isFailed := diagnosis.ExplainRun(e, v.Watch, v.logs.last[e.Task]); isFailed {
			failed = append(failed, "task "+e.Task+": "+c.Text)
			next = cmp.Or(next, v.logs.adviceFor(e, c))
		}
	}
	if v.ShortReason != "" {
		failed = append(failed, v.ShortReason)
		if next == "" {
			next = "add capacity to the cluster, or wait for other tasks to end"
		}
	}
	if len(failed) == 0 {
		return nil
	}
	err := errors.New(strings.Join(failed, "; "))
	if v.Count > 1 {
		err = fmt.Errorf("%d of %d tasks failed: %w", v.Count-v.countSucceeded(), v.Count, err)
	}
	return &sluice.Error{Op: v.opName(), Resource: v.Run.client.Resource(), Kind: sluice.Unhealthy, Err: err,
		Next: next}
}

func (v *taskWait) countSucceeded() (n int) {
	for _, e := range v.Ended {
		if _, isFailed := diagnosis.ExplainRun(e, v.Watch, nil); !isFailed {
			n++
		}
	}
	return n
}
