package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// told is what was emitted last, so that an event is emitted on change only.
type told struct {
	capacity sluice.CapacityChanged
	failure  sluice.FailureSeen
	course   string          // what ECS was about
	once     map[string]bool // see [Run.once]
}

// watched is one task set under observation.
type watched struct {
	variant sluice.Variant
	id      string // of the task set
	mine    ecs.Roster
	stopped ecs.Stoppages
	read    time.Time // when stopped tasks were read last
	running int       // how many ran at the last look
}

func watching(v sluice.Variant, id string) *watched {
	return &watched{variant: v, id: id}
}

// awaitHealthy returns when every task that the set should have runs and its
// target is healthy, at least minimum of them; or with the reason why that will
// not be.
func (r *Run) awaitHealthy(ctx context.Context, v sluice.Variant, id string, minimum int) error {
	return r.await(ctx, v, id, verdict.Await(r.Clock.Now(), r.Plan.ProgressDeadline, minimum))
}

// awaitNew is awaitHealthy for tasks that have just been started: one look that
// finds them healthy is not believed.
func (r *Run) awaitNew(ctx context.Context, v sluice.Variant, id string, minimum int) error {
	return r.await(ctx, v, id, verdict.Await(r.Clock.Now(), r.Plan.ProgressDeadline, minimum).Twice())
}

// awaitBack is awaitNew for what served before the deployment.
func (r *Run) awaitBack(ctx context.Context, id string) error {
	return r.await(ctx, sluice.Primary, id, verdict.Await(r.Clock.Now(), r.Plan.ProgressDeadline, 0).Twice().Patient())
}

func (r *Run) await(ctx context.Context, v sluice.Variant, id string, judge verdict.Capacity) error {
	if r.Hasty {
		return nil
	}
	w := watching(v, id)
	for {
		o, err := r.observeSet(ctx, w)
		if err != nil {
			return err
		}
		var now verdict.Verdict
		judge, now = judge.See(o)
		r.tell(w, o, now)
		switch now.State {
		case verdict.Healthy:
			return nil
		case verdict.Failing:
			return r.unhealthy(w, now)
		case verdict.Stalling:
			return r.stalled(w, now)
		}
		if err := r.pause(ctx, now.NextLook); err != nil {
			return err
		}
	}
}

// find looks at a task set that was there. AWS's answers lag behind its writes
// by seconds, so that it is missing once does not mean that it is gone.
func (r *Run) find(ctx context.Context, id string) (sluice.TaskSet, error) {
	const looks, apart = 6, 2 * time.Second
	for n := 1; ; n++ {
		live, err := r.observe(ctx)
		if err != nil {
			return sluice.TaskSet{}, err
		}
		if set := live.TaskSet(id); set != nil && set.Status != "DRAINING" {
			return *set, nil
		}
		if n == looks {
			return sluice.TaskSet{}, &sluice.Error{Op: "look at the task set", Resource: id, Kind: sluice.OutsideChange,
				Err: errors.New("somebody deleted it during the deployment"), Next: "find out who; then deploy again"}
		}
		if err := r.pause(ctx, apart); err != nil {
			return sluice.TaskSet{}, err
		}
	}
}

// observeSet is one look at a task set: the set, its targets, its stopped tasks.
func (r *Run) observeSet(ctx context.Context, w *watched) (verdict.Observation, error) {
	set, err := r.find(ctx, w.id)
	if err != nil {
		return verdict.Observation{}, err
	}
	o := verdict.Observation{At: r.Clock.Now(), Set: &set}
	if o.Stopped, err = r.newlyStopped(ctx, w, set); err != nil {
		return o, err
	}
	if o.Set.TargetGroup == "" {
		return o, nil
	}
	if o.Targets, err = alb.Health(ctx, r.Account.ELB(), o.Set.TargetGroup); err != nil {
		return o, err
	}
	o.Targets = append([]sluice.Target{}, o.Targets...)
	if err := w.mine.Update(ctx, r.hand, *o.Set); err != nil {
		return o, err
	}
	o.Mine = w.mine.Has
	return o, nil
}

// stoppedEvery is how long failures may go unread while the counts do not tell
// of them: a task that never runs is replaced without a trace in the counts.
const stoppedEvery = 6 * time.Second

func (r *Run) newlyStopped(ctx context.Context, w *watched, set sluice.TaskSet) ([]sluice.StoppedTask, error) {
	now, fewer := r.Clock.Now(), set.Running < w.running
	w.running = set.Running
	if !fewer && now.Sub(w.read) < stoppedEvery {
		return nil, nil
	}
	w.read = now
	return w.stopped.Update(ctx, r.hand, w.id)
}

func (r *Run) tell(w *watched, o verdict.Observation, v verdict.Verdict) {
	n := v.Counts
	c := sluice.CapacityChanged{Variant: w.variant, TaskSet: w.id, Revision: o.Set.Revision,
		Desired: n.Desired, Pending: n.Pending, Running: n.Running, Healthy: n.Healthy, Draining: n.Draining, Targets: n.Targets}
	if c != r.told.capacity {
		r.told.capacity = c
		r.Host.Emit(c)
	}
	f := sluice.FailureSeen{Variant: w.variant, Cause: v.Cause.Text, Count: v.Cause.Count, Task: v.Cause.Task}
	if v.Cause.Count > 0 && f != r.told.failure {
		r.told.failure = f
		r.Host.Emit(f)
	}
}

func (r *Run) unhealthy(w *watched, v verdict.Verdict) error {
	return &sluice.Error{
		Op: "wait for the " + string(w.variant) + " to be healthy", Resource: w.id, Kind: sluice.Unhealthy,
		Err:  fmt.Errorf("%d of %d tasks stopped: %s (task %s)", v.Cause.Count, max(v.Counts.Desired, v.Cause.Count), v.Cause.Text, v.Cause.Task),
		Next: "aws ecs describe-tasks --cluster " + r.Plan.Cluster + " --tasks " + v.Cause.Task + "; fix the image or its health check and deploy again",
	}
}

func (r *Run) stalled(w *watched, v verdict.Verdict) error {
	why := fmt.Errorf("nothing moved for %s: %s", r.Plan.ProgressDeadline, v.Detail)
	if v.Cause.Count > 0 {
		why = fmt.Errorf("%w; %s", why, v.Cause.Text)
	}
	kind := sluice.Stall
	if v.Counts.Unhealthy > 0 || v.Cause.Count > 0 {
		kind = sluice.Unhealthy
	}
	return &sluice.Error{Op: "wait for the " + string(w.variant) + " to be healthy", Resource: w.id, Kind: kind, Err: why,
		Next: "see what the service says: aws ecs describe-services --cluster " + r.Plan.Cluster + " --services " + r.Plan.Service + "; or raise progressDeadline"}
}

// awaitEmpty returns when the set has no running task and none of its targets
// is left in the target group: connections have ended.
func (r *Run) awaitEmpty(ctx context.Context, id, label string) error {
	var leaving ecs.Leaving
	return r.awaitGone(ctx, label+" to drain", func(ctx context.Context) (string, error) {
		live, err := r.observe(ctx)
		if err != nil {
			return "", err
		}
		set := live.TaskSet(id)
		if set == nil {
			return "", nil
		}
		draining, err := r.draining(ctx, *set, &leaving)
		if err != nil || set.Running+set.Pending+draining == 0 {
			return "", err
		}
		return fmt.Sprintf("%s running, %s draining", sluice.Plural(set.Running+set.Pending, "task"), sluice.Plural(draining, "target")), nil
	})
}

// draining counts the draining targets of the set: others may drain in the same
// target group at the same time.
func (r *Run) draining(ctx context.Context, set sluice.TaskSet, leaving *ecs.Leaving) (int, error) {
	if set.TargetGroup == "" {
		return 0, nil
	}
	targets, err := alb.Health(ctx, r.Account.ELB(), set.TargetGroup)
	targets = slices.DeleteFunc(targets, func(t sluice.Target) bool { return t.State != "draining" })
	if err != nil || len(targets) == 0 {
		return 0, err
	}
	if err := leaving.Update(ctx, r.hand, set.ID); err != nil {
		return 0, err
	}
	targets = slices.DeleteFunc(targets, func(t sluice.Target) bool { return leaving.Other(t.ID) })
	return len(targets), nil
}

// awaitDeleted returns when AWS lists the set no more.
func (r *Run) awaitDeleted(ctx context.Context, id, label string) error {
	return r.awaitGone(ctx, label+" to be deleted", func(ctx context.Context) (string, error) {
		live, err := r.observe(ctx)
		if err != nil {
			return "", err
		}
		set := live.TaskSet(id)
		if set == nil {
			return "", nil
		}
		return fmt.Sprintf("%s, %s running", set.Status, sluice.Plural(set.Running, "task")), nil
	})
}

// awaitGone looks until rest says that nothing is left. The deadline is pushed
// back by progress; the drain itself is no stall.
func (r *Run) awaitGone(ctx context.Context, what string, rest func(context.Context) (string, error)) error {
	last, moved := "", r.Clock.Now()
	for {
		detail, err := rest(ctx)
		if err != nil || detail == "" {
			return err
		}
		now := r.Clock.Now()
		if detail != last {
			last, moved = detail, now
			r.Host.Emit(sluice.Waiting{For: what, Detail: detail})
		}
		if now.Sub(moved) > r.Plan.ProgressDeadline+r.Plan.Drain {
			return &sluice.Error{Op: "wait for " + what, Resource: r.hand.Resource(), Kind: sluice.Stall,
				Err: fmt.Errorf("nothing moved for %s: %s", r.Plan.ProgressDeadline+r.Plan.Drain, detail)}
		}
		if err := r.pause(ctx, lookAgain(now.Sub(moved))); err != nil {
			return err
		}
	}
}

// lookAgain: a drain takes the deregistration delay, 300 s by default; looking
// every two seconds all that time would tell nothing.
func lookAgain(still time.Duration) time.Duration {
	if still < 20*time.Second {
		return 2 * time.Second
	}
	return 5 * time.Second
}
