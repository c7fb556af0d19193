package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

const (
	claimEvery  = time.Minute // the claim is read this often during a long task
	missingTime = time.Minute // how long ECS may not return a task that was just started
)

// taskWait is the wait for tasks to stop.
type vigil struct {
	*Run
	*job
	*launched
	status  map[string]string    // by task
	missing map[string]time.Time // by task: since when ECS does not return it
	moved   time.Time            // when a task changed last
	claimed time.Time            // when the claim was read last
	logs    tails
}

// awaitTasks waits until all tasks have stopped, shows what they print, and judges them.
func (r *Run) awaitTasks(ctx context.Context, j *job, l *launched) error {
	now := r.Clock.Now()
	v := &vigil{Run: r, job: j, launched: l, status: map[string]string{}, missing: map[string]time.Time{}, moved: now, claimed: now}
	v.logs.vigil = v
	if err := v.untilEnded(ctx); err != nil {
		v.tellOn(err)
		return err
	}
	if err := v.logs.rest(ctx); err != nil {
		return err
	}
	for _, e := range l.Ended {
		r.Host.Emit(e)
	}
	return v.judge()
}

func (v *vigil) untilEnded(ctx context.Context) error {
	for {
		if err := v.Run.look(ctx); err != nil {
			return err
		}
		if err := v.see(ctx); err != nil {
			return err
		}
		if err := v.logs.read(ctx); err != nil {
			return err
		}
		if len(v.open()) == 0 {
			return nil
		}
		if err := v.alive(ctx); err != nil {
			return err
		}
		if err := v.pause(ctx, verdict.NextTaskLook(v.Clock.Now().Sub(v.moved))); err != nil {
			return err
		}
	}
}

// openTasks are the tasks that have not been seen to stop.
func (v *vigil) open() []string {
	return slices.DeleteFunc(slices.Clone(v.launched.Tasks), func(id string) bool {
		return slices.ContainsFunc(v.Ended, func(e sluice.TaskEnded) bool { return e.Task == id })
	})
}

// pollTasks reads the tasks once. It saves how a task ended, because ECS later no longer returns
// it.
func (v *vigil) see(ctx context.Context) error {
	open := v.open()
	if len(open) == 0 {
		return nil
	}
	seen, err := v.job.tasks.Look(ctx, open)
	if err != nil {
		return err
	}
	now, ended := v.Clock.Now(), len(v.Ended)
	for _, t := range seen {
		delete(v.missing, t.ID)
		if v.status[t.ID] != t.Status {
			v.status[t.ID], v.moved = t.Status, now
			v.Host.Emit(sluice.TaskChanged{Task: t.ID, Revision: v.job.revision.Name, Status: t.Status})
		}
		if t.Ended != nil {
			v.Ended = append(v.Ended, *t.Ended)
		}
	}
	if len(v.Ended) > ended {
		if err := v.saveTasks(ctx, v.launched); err != nil {
			return err
		}
	}
	return v.notForgotten(open, seen, now)
}

// checkMissing returns an error for a task that ECS no longer returns.
func (v *vigil) notForgotten(asked []string, seen []ecs.Ran, now time.Time) error {
	for _, id := range asked {
		if slices.ContainsFunc(seen, func(t ecs.Ran) bool { return t.ID == id }) {
			continue
		}
		since, known := v.missing[id]
		if !known {
			v.missing[id] = now
			continue
		}
		if now.Sub(since) >= missingTime {
			return &sluice.Error{Op: v.what(), Resource: "task " + id, Kind: sluice.NotFound,
				Err:  errors.New("ECS does not know it any more, as an hour after its end: how it ended cannot be told"),
				Next: "see by its logs or its work how it ended"}
		}
	}
	return nil
}

// checkProgress renews the claim on the service. It ends the wait for a task that does not reach
// RUNNING.
func (v *vigil) alive(ctx context.Context) error {
	now := v.Clock.Now()
	if v.step && now.Sub(v.claimed) >= claimEvery {
		v.claimed = now
		if _, err := v.observe(ctx); err != nil {
			return err
		}
	}
	limit := v.Plan.ProgressDeadline
	if limit <= 0 || now.Sub(v.moved) < limit {
		return nil
	}
	for _, id := range v.open() {
		if s := v.status[id]; s != "RUNNING" {
			return &sluice.Error{Op: v.what(), Resource: "task " + id, Kind: sluice.Stall,
				Err: fmt.Errorf("it is %s, and nothing has moved for %s", s, limit), Next: "see why: " + v.describe(id)}
		}
	}
	return nil
}

// noteStillRunning reports that the tasks continue in ECS although this process stops waiting for
// them.
func (v *vigil) tellOn(err error) {
	open := v.open()
	if len(open) == 0 || sluice.KindOf(err) == sluice.NotFound {
		return
	}
	v.note("%s on in ECS: %s; %s stops one", goes(len(open)), strings.Join(open, " "),
		"aws ecs stop-task --cluster "+v.Plan.Cluster+" --task "+open[0])
}

func goes(n int) string {
	if n == 1 {
		return "the task goes"
	}
	return fmt.Sprintf("%d tasks go", n)
}

func (v *vigil) describe(id string) string {
	return "aws ecs describe-tasks --cluster " + v.Plan.Cluster + " --tasks " + id
}

// judgeTasks is the error of tasks that failed, or were never started.
func (v *vigil) judge() error {
	var failed []string
	next := ""
	for _, e := range v.Ended {
		if why := verdict.TaskFailure(e, v.Watch); why != "" {
			failed = append(failed, "task "+e.Task+": "+why)
			if next == "" {
				next = "read what it printed: " + v.logs.where(e.Task)
			}
		}
	}
	if v.Short != "" {
		failed = append(failed, v.Short)
		if next == "" {
			next = "make room in the cluster, or let other tasks end"
		}
	}
	if len(failed) == 0 {
		return nil
	}
	err := errors.New(strings.Join(failed, "; "))
	if v.Count > 1 {
		err = fmt.Errorf("%d of %d tasks failed: %w", v.Count-v.succeeded(), v.Count, err)
	}
	return &sluice.Error{Op: v.what(), Resource: v.Run.hand.Resource(), Kind: sluice.Unhealthy, Err: err, Next: next}
}

func (v *vigil) succeeded() (n int) {
	for _, e := range v.Ended {
		if verdict.TaskFailure(e, v.Watch) == "" {
			n++
		}
	}
	return n
}
