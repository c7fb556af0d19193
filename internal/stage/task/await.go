package task

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

// wait is the wait for the tasks of a job to stop.
type wait struct {
	job         *Job
	progress    *Progress
	status      map[string]string    // by task
	missing     map[string]time.Time // by task: since when ECS does not return it
	movedAt     time.Time            // when a task changed last
	claimReadAt time.Time            // when the claim was read last
	logs        logReader
}

// Await waits until all tasks have stopped, shows what they print, and judges them.
func (j *Job) Await(ctx context.Context, l *Progress) error {
	now := j.Clock.Now()
	v := &wait{job: j, progress: l, status: map[string]string{}, missing: map[string]time.Time{}, movedAt: now,
		claimReadAt: now, logs: logReader{job: j}}
	if err := v.awaitEnded(ctx); err != nil {
		v.noteStillRunning(err)
		return err
	}
	if err := v.logs.readRemaining(ctx, v.begunTasks()); err != nil {
		return err
	}
	for _, e := range l.Ended {
		j.Emit(e)
	}
	return v.judgeTasks()
}

func (v *wait) awaitEnded(ctx context.Context) error {
	for {
		if err := v.job.CheckInterrupt(ctx); err != nil {
			return err
		}
		if err := v.pollTasks(ctx); err != nil {
			return err
		}
		if err := v.logs.readNew(ctx, v.begunTasks()); err != nil {
			return err
		}
		if len(v.openTasks()) == 0 {
			return nil
		}
		if err := v.checkProgress(ctx); err != nil {
			return err
		}
		if err := v.job.Pause(ctx, v.nextPoll()); err != nil {
			return err
		}
	}
}

// begunTasks are the tasks whose containers may have printed, in the order of their start.
func (v *wait) begunTasks() []string {
	return slices.DeleteFunc(slices.Clone(v.progress.Tasks), func(id string) bool {
		switch v.status[id] {
		case "RUNNING", "STOPPED", "DEPROVISIONING", "DEACTIVATING", "STOPPING":
			return false
		}
		return true
	})
}

// openTasks are the tasks that have not been seen to stop.
func (v *wait) openTasks() []string {
	return slices.DeleteFunc(slices.Clone(v.progress.Tasks), func(id string) bool {
		return slices.ContainsFunc(v.progress.Ended, func(e sluice.TaskEnded) bool { return e.Task == id })
	})
}

// pollTasks reads the tasks once. It saves how a task ended, because ECS later no longer returns
// it.
func (v *wait) pollTasks(ctx context.Context) error {
	open := v.openTasks()
	if len(open) == 0 {
		return nil
	}
	seen, err := v.job.client().DescribeTasks(ctx, open)
	if err != nil {
		return err
	}
	now, isNew := v.job.Clock.Now(), false
	for _, t := range seen {
		delete(v.missing, t.ID)
		if v.status[t.ID] != t.Status {
			v.status[t.ID], v.movedAt = t.Status, now
			v.job.Emit(sluice.TaskChanged{Task: t.ID, Revision: v.job.Revision.Name, Status: t.Status})
		}
		isNew = v.noteEndedFirst(t) || isNew
		if t.Ended != nil {
			t.Ended.StoppedBy = v.stoppedBy(t)
			v.progress.Ended, isNew = append(v.progress.Ended, *t.Ended), true
		}
	}
	if isNew {
		if err := v.job.Memory.Save(ctx, v.progress); err != nil {
			return err
		}
	}
	return v.checkMissing(open, seen, now)
}

func (v *wait) nextPoll() time.Duration {
	return verdict.NextTaskPoll(v.job.Clock.Now().Sub(v.movedAt), len(v.job.Others) > 0)
}

// noteEndedFirst stores which essential container of a task has ended while others run, and reports whether that is new.
func (v *wait) noteEndedFirst(t ecs.TaskRun) bool {
	if v.progress.EndedFirst[t.ID] != "" || len(v.job.Others) == 0 {
		return false
	}
	essential := append([]string{v.job.Watch}, v.job.Others...)
	ended := slices.DeleteFunc(essential, func(name string) bool { return !slices.Contains(t.Exited, name) })
	if len(ended) == 0 || len(ended) > len(v.job.Others) {
		return false
	}
	if v.progress.EndedFirst == nil {
		v.progress.EndedFirst = map[string]string{}
	}
	v.progress.EndedFirst[t.ID] = ended[0]
	return true
}

// stoppedBy returns the essential container whose end made ECS stop the watched one; empty if the watched one ended
// first. If no poll has shown the order, it is one that failed: ECS ends the others with SIGTERM or SIGKILL. A watched
// one that failed itself was not ended by ECS.
func (v *wait) stoppedBy(t ecs.TaskRun) string {
	if first := v.progress.EndedFirst[t.ID]; first != "" {
		if first == v.job.Watch {
			return ""
		}
		return first
	}
	if c, _ := t.Ended.Container(v.job.Watch); failedByItself(c) {
		return ""
	}
	for _, c := range t.Ended.Containers {
		if slices.Contains(v.job.Others, c.Name) && failedByItself(c) {
			return c.Name
		}
	}
	return ""
}

// failedByItself reports whether a container ended with an exit code that does not follow from SIGTERM or SIGKILL.
func failedByItself(c sluice.ContainerEnded) bool {
	return c.ExitCode != nil && !slices.Contains([]int{0, 137, 143}, *c.ExitCode)
}

// checkMissing returns an error for a task that ECS no longer returns.
func (v *wait) checkMissing(asked []string, seen []ecs.TaskRun, now time.Time) error {
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
			return &sluice.Error{Op: v.job.opName(), Resource: "task " + id, Kind: sluice.NotFound,
				Err: errors.New("ECS no longer lists the task, as one hour after its end: sluice cannot determine " +
					"how it ended"),
				Next: "check the task's logs, or the data it writes, to see how it ended"}
		}
	}
	return nil
}

// checkProgress renews the claim on the service. It ends the wait for a task that does not reach
// RUNNING.
func (v *wait) checkProgress(ctx context.Context) error {
	now := v.job.Clock.Now()
	if v.job.KeepClaim != nil && now.Sub(v.claimReadAt) >= claimCheckInterval {
		v.claimReadAt = now
		if err := v.job.KeepClaim(ctx); err != nil {
			return err
		}
	}
	limit := v.job.ProgressDeadline
	if limit <= 0 || now.Sub(v.movedAt) < limit {
		return nil
	}
	for _, id := range v.openTasks() {
		if s := v.status[id]; s != "RUNNING" {
			return &sluice.Error{Op: v.job.opName(), Resource: "task " + id, Kind: sluice.Stall,
				Err: fmt.Errorf("the task is %s and has made no progress for %s", s, limit), Next: v.stateCommand(id)}
		}
	}
	return nil
}

// noteStillRunning reports that the tasks continue in ECS although this process stops waiting for
// them.
func (v *wait) noteStillRunning(err error) {
	open := v.openTasks()
	if len(open) == 0 || sluice.KindOf(err) == sluice.NotFound {
		return
	}
	v.job.emitNote("%s running in ECS: %s; to stop one: %s", stillRunningText(len(open)), strings.Join(open, " "),
		"aws ecs stop-task --cluster "+v.job.Cluster+" --task "+open[0])
}

func stillRunningText(n int) string {
	if n == 1 {
		return "the task keeps"
	}
	return fmt.Sprintf("%d tasks keep", n)
}

// stateCommand is the advice to read the state of a task. sluice status shows standalone tasks only.
func (v *wait) stateCommand(id string) string {
	if v.job.Step == "" {
		return "see the tasks of the family: sluice status"
	}
	return "see the task: " + v.job.describeCommand(id)
}

// judgeTasks is the error of tasks that failed, or were never started.
func (v *wait) judgeTasks() error {
	var failed []string
	next := ""
	for _, e := range v.progress.Ended {
		if c, isFailed := diagnosis.ExplainRun(e, v.job.Watch, v.logs.last[e.Task]); isFailed {
			failed = append(failed, "task "+e.Task+": "+c.Text)
			next = cmp.Or(next, v.logs.adviceFor(e, c))
		}
	}
	if v.progress.ShortReason != "" {
		failed = append(failed, v.progress.ShortReason)
		if next == "" {
			next = "add capacity to the cluster, or wait for other tasks to end"
		}
	}
	if len(failed) == 0 {
		return nil
	}
	err := errors.New(strings.Join(failed, "; "))
	if v.job.Count > 1 {
		err = fmt.Errorf("%d of %d tasks failed: %w", v.job.Count-v.countSucceeded(), v.job.Count, err)
	}
	return &sluice.Error{Op: v.job.opName(), Resource: v.job.Resource, Kind: sluice.Unhealthy, Err: err,
		Next: next}
}

func (v *wait) countSucceeded() (n int) {
	for _, e := range v.progress.Ended {
		if _, isFailed := diagnosis.ExplainRun(e, v.job.Watch, nil); !isFailed {
			n++
		}
	}
	return n
}
