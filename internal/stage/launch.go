package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// launched is what is known of the tasks that a stage starts. It is saved before
// each call of RunTask and after its answer.
type launched struct {
	Attempt int                `json:"attempt"`         // number of the last call
	Begun   time.Time          `json:"begun"`           // when that call was begun first
	Asked   int                `json:"asked"`           // tasks of that call
	Open    bool               `json:"open,omitempty"`  // its answer is not known
	Tasks   []string           `json:"tasks,omitempty"` // ids
	Short   string             `json:"short,omitempty"` // why no more could be started
	Ended   []sluice.TaskEnded `json:"ended,omitempty"`
}

// How sure a second RunTask with the same token is to start nothing twice: ECS
// remembers the token, and a task that has stopped, for an hour at least ("RunTask",
// Amazon ECS API Reference). What began longer ago is not asked for again.
const tokenKept = 50 * time.Minute

// How often a call is repeated that was not answered, after looks that found
// nothing.
const launchTries = 3

func (r *Run) keyTasks() string { return keyTasks + strconv.Itoa(r.Stage.Index) }

func (r *Run) saveTasks(ctx context.Context, l *launched) error {
	return save(ctx, r.Host, r.keyTasks(), l)
}

// launch starts as many tasks as the stage asks for, and knows those that an
// earlier attempt started.
func (r *Run) launch(ctx context.Context, j *job) (*launched, error) {
	l, begun, err := saved[launched](ctx, r.Host, r.keyTasks())
	if err != nil {
		return nil, err
	}
	if begun && l.Open {
		err = r.findLaunched(ctx, j, &l)
	}
	room := room{}
	for err == nil && len(l.Tasks) < j.Count && l.Short == "" {
		if j.Redacted {
			return nil, r.lacksValues(j)
		}
		err = r.launchSome(ctx, j, &l, &room)
	}
	return &l, err
}

// launchSome makes one call of RunTask. One that is not answered is looked for,
// and made again with the same identity.
func (r *Run) launchSome(ctx context.Context, j *job, l *launched, room *room) error {
	if !l.Open {
		l.Attempt, l.Begun, l.Open = l.Attempt+1, r.Clock.Now(), true
		l.Asked = min(ecs.RunBatch, j.Count-len(l.Tasks))
		if err := r.saveTasks(ctx, l); err != nil {
			return err
		}
	}
	for try := 1; l.Open; try++ {
		out, err := r.callRunTask(ctx, j, l)
		switch {
		case err == nil:
			return r.took(ctx, l, out, room)
		case !errors.Is(err, sluice.ErrUnanswered):
			l.Open = false // it was refused: nothing was started
			return errors.Join(err, r.saveTasks(ctx, l))
		case try == launchTries:
			return err
		}
		if err := r.findLaunched(ctx, j, l); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) callRunTask(ctx context.Context, j *job, l *launched) (ecs.Launched, error) {
	action := "run task"
	if l.Attempt > 1 {
		action += fmt.Sprintf(" %d", l.Attempt)
	}
	return j.tasks.Run(ctx, r.act, action, ecs.Launch{ID: r.action(action), Planned: j.planned, StartedBy: j.startedBy,
		Revision: j.revision, Count: l.Asked, Request: j.request})
}

// took saves what a call started. Where ECS had no room for all, it is asked
// again a while later.
func (r *Run) took(ctx context.Context, l *launched, out ecs.Launched, room *room) error {
	for _, id := range out.Tasks {
		if !slices.Contains(l.Tasks, id) {
			l.Tasks = append(l.Tasks, id)
		}
	}
	l.Open = false
	if len(out.Missing) > 0 {
		if why := room.wait(r.Clock.Now(), r.Plan.ProgressDeadline, out.Missing); why != "" {
			l.Short = why
		}
	}
	if err := r.saveTasks(ctx, l); err != nil || len(out.Missing) == 0 || l.Short != "" {
		return err
	}
	r.Host.Emit(sluice.Waiting{For: "room for " + sluice.Plural(len(out.Missing), "task"), Detail: reasons(out.Missing)})
	return r.pause(ctx, room.next())
}

// room is how long ECS has had no room for a task.
type room struct {
	since time.Time
	tries int
}

// wait says why it is waited no longer, "" if it is.
func (m *room) wait(now time.Time, limit time.Duration, missing []string) string {
	if m.since.IsZero() {
		m.since = now
	}
	m.tries++
	if limit > 0 && now.Sub(m.since) >= limit {
		return fmt.Sprintf("ECS had no room for %s for %s: %s", sluice.Plural(len(missing), "task"), limit, reasons(missing))
	}
	return ""
}

func (m *room) next() time.Duration {
	return min(5*time.Second<<min(m.tries-1, 4), time.Minute)
}

// reasons are ECS's words, each once, with how many tasks it is about.
func reasons(missing []string) string {
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

// findLaunched looks for what a call started whose answer is not known. If it
// finds nothing, the call may be made again with the same identity, as long as
// ECS remembers that.
func (r *Run) findLaunched(ctx context.Context, j *job, l *launched) error {
	for n := 1; ; n++ {
		if err := r.look(ctx); err != nil {
			return err
		}
		found, err := j.tasks.Find(ctx, j.startedBy)
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(found, func(id string) bool { return slices.Contains(l.Tasks, id) })
		if len(found) >= l.Asked {
			return r.foundTasks(ctx, l, found)
		}
		if n == 2 {
			break
		}
		if err := r.pause(ctx, lag); err != nil {
			return err
		}
	}
	if r.Clock.Now().Sub(l.Begun) > tokenKept {
		return r.unknowable(j, l)
	}
	return nil
}

func (r *Run) foundTasks(ctx context.Context, l *launched, found []string) error {
	for _, id := range found {
		r.Host.Emit(sluice.Adopted{Action: r.action("run task"), Resource: "task " + id})
	}
	l.Tasks, l.Open = append(l.Tasks, found...), false
	return r.saveTasks(ctx, l)
}

// unknowable: whether a task was started cannot be told any more.
func (r *Run) unknowable(j *job, l *launched) error {
	return &sluice.Error{Op: j.what(), Resource: r.hand.Resource(), Kind: sluice.NotFound,
		Err:  fmt.Errorf("ECS was asked at %s, its answer is not known, and by now it has forgotten tasks of that time: whether one ran cannot be told", l.Begun.UTC().Format(time.RFC3339)),
		Next: "see by its logs or its work whether it ran; sluice starts it again only when you deploy or run anew"}
}
