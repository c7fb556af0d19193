package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// Progress is what is known of the tasks that a job starts. It is saved before each call of RunTask
// and after its response.
type Progress = memory.Launch

// tokenLifetime is how long a second RunTask with the same token is safe. It starts no task twice
// while ECS remembers the token and the stopped task: at least one hour ("RunTask", Amazon ECS API
// Reference). After that the call is not repeated.
const tokenLifetime = 50 * time.Minute

// maxLaunchTries is how often a call without a response is sent, if searches find none of its
// tasks.
const maxLaunchTries = 3

// Launch starts the number of tasks that the job asks for. It counts the tasks that an earlier
// attempt started.
func (j *Job) Launch(ctx context.Context) (*Progress, error) {
	l, begun, err := j.Memory.Load(ctx)
	if err != nil {
		return nil, err
	}
	if begun && l.Unanswered {
		err = j.findLaunched(ctx, &l)
	}
	room := capacityWait{}
	for err == nil && len(l.Tasks) < j.Count && l.ShortReason == "" {
		if j.Redacted {
			return nil, j.ErrMissingValues()
		}
		err = j.launchBatch(ctx, &l, &room)
	}
	return &l, err
}

// launchBatch sends one call of RunTask. If the call gets no response, launchBatch searches its
// tasks and otherwise sends it again with the same client token.
func (j *Job) launchBatch(ctx context.Context, l *Progress, room *capacityWait) error {
	sentBefore := l.Unanswered // and may have started tasks, whatever its repetition gets
	if !sentBefore {
		l.Attempt, l.Begun, l.Unanswered = l.Attempt+1, j.Clock.Now(), true
		l.Requested = min(ecs.RunBatch, j.Count-len(l.Tasks))
		if err := j.Memory.Save(ctx, l); err != nil {
			return err
		}
	}
	for try := 1; l.Unanswered; try++ {
		out, err := j.callRunTask(ctx, l)
		switch {
		case err == nil:
			return j.saveLaunched(ctx, l, out, room)
		case !errors.Is(err, sluice.ErrUnanswered) && !sentBefore:
			l.Unanswered = false // AWS refused the call: no task was started
			return errors.Join(err, j.Memory.Save(ctx, l))
		case !errors.Is(err, sluice.ErrUnanswered):
			return errRepeatRefused(err)
		case try == maxLaunchTries:
			return err
		}
		sentBefore = true
		if err := j.findLaunched(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// errRepeatRefused adds to the refusal of a call that an earlier attempt may have started tasks. The call keeps its
// number and its client token: the next process sends it again.
func errRepeatRefused(err error) error {
	return fmt.Errorf("%w; an earlier attempt without a response may have started tasks", err)
}

func (j *Job) callRunTask(ctx context.Context, l *Progress) (ecs.Launched, error) {
	action := "run task"
	if l.Attempt > 1 {
		action += fmt.Sprintf(" %d", l.Attempt)
	}
	return j.client().Run(ctx, j.Write, action, ecs.Launch{ID: j.ActionID(action), Planned: j.Planned,
		StartedBy: j.StartedBy, Revision: j.Revision, Count: l.Requested, Request: j.Request})
}

// saveLaunched saves the tasks that a call started. If ECS had no capacity for all of them, it
// pauses before the next call.
func (j *Job) saveLaunched(ctx context.Context, l *Progress, out ecs.Launched, room *capacityWait) error {
	for _, id := range out.Tasks {
		if !slices.Contains(l.Tasks, id) {
			l.Tasks = append(l.Tasks, id)
		}
	}
	l.Unanswered = false
	if len(out.Missing) > 0 {
		if why := room.stopReason(j.Clock.Now(), j.ProgressDeadline, out.Missing); why != "" {
			l.ShortReason = why
		}
	}
	if err := j.Memory.Save(ctx, l); err != nil || len(out.Missing) == 0 || l.ShortReason != "" {
		return err
	}
	j.Emit(sluice.Waiting{For: "capacity for " + sluice.Plural(len(out.Missing), "task"),
		Detail: joinReasons(out.Missing)})
	return j.Pause(ctx, room.nextDelay())
}

// capacityWait is how long ECS has had no capacity for a task.
type capacityWait struct {
	since time.Time
	tries int
}

// stopReason says why the wait for capacity ends; it is "" if the wait continues.
func (m *capacityWait) stopReason(now time.Time, limit time.Duration, missing []string) string {
	if m.since.IsZero() {
		m.since = now
	}
	m.tries++
	if limit > 0 && now.Sub(m.since) >= limit {
		return fmt.Sprintf("ECS had no capacity for %s for %s: %s", sluice.Plural(len(missing), "task"), limit,
			joinReasons(missing))
	}
	return ""
}

func (m *capacityWait) nextDelay() time.Duration {
	return min(5*time.Second<<min(m.tries-1, 4), time.Minute)
}

// joinReasons lists each reason of ECS once, with the number of tasks that it is given for.
func joinReasons(missing []string) string {
	count := map[string]int{}
	for _, m := range missing {
		count[m]++
	}
	var all []string
	for _, m := range missing {
		if n := count[m]; n > 1 {
			all = append(all, fmt.Sprintf("%s (%d times)", m, n))
		} else if n == 1 {
			all = append(all, m)
		}
		delete(count, m)
	}
	return strings.Join(all, "; ")
}

// findLaunched searches the tasks of a call without a response. If it finds none, the call may be
// sent again with the same client token, as long as ECS remembers the token.
func (j *Job) findLaunched(ctx context.Context, l *Progress) error {
	for n := 1; ; n++ {
		if err := j.CheckInterrupt(ctx); err != nil {
			return err
		}
		found, err := j.client().FindTasks(ctx, j.StartedBy)
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(found, func(id string) bool { return slices.Contains(l.Tasks, id) })
		if len(found) >= l.Requested {
			return j.adoptTasks(ctx, l, found)
		}
		if n == 2 {
			break
		}
		if err := j.Pause(ctx, ecs.ReadLag); err != nil {
			return err
		}
	}
	if j.Clock.Now().Sub(l.Begun) > tokenLifetime {
		return j.errLaunchUnknown(l)
	}
	return nil
}

func (j *Job) adoptTasks(ctx context.Context, l *Progress, found []string) error {
	for _, id := range found {
		j.Emit(sluice.Adopted{Action: j.ActionID("run task"), Resource: "task " + id})
	}
	l.Tasks, l.Unanswered = append(l.Tasks, found...), false
	return j.Memory.Save(ctx, l)
}

// errLaunchUnknown says that AWS can no longer show whether a task was started.
func (j *Job) errLaunchUnknown(l *Progress) error {
	return &sluice.Error{Op: j.opName(), Resource: j.Resource, Kind: sluice.NotFound,
		Err: fmt.Errorf("ECS returned no response to RunTask at %s and no longer lists tasks of that time: sluice "+
			"cannot determine whether a task ran", l.Begun.UTC().Format(time.RFC3339)),
		Next: "check the task's logs, or the data it writes, to see whether it ran; to start the task again, deploy " +
			"or run again"}
}
