package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// told is what was emitted last, so that an event is emitted on change only.
type told struct {
	capacity sluice.CapacityChanged
	failures map[string]int                            // how often each cause was counted
	course   string                                    // what ECS was about
	once     map[string]bool                           // see [Run.once]
	sets     map[sluice.Variant]sluice.CapacityChanged // under controller CODE_DEPLOY
	leaving  map[string]sluice.CapacityChanged         // by id, what is being removed
	canary   string                                    // revision of it, by CodeDeploy
	share    int                                       // percent of the traffic at the canary, by CodeDeploy
}

// watched is a member under observation.
type watched struct {
	member
	mine    ecs.Roster
	leaving ecs.Leaving
	stopped ecs.Stoppages
	read    time.Time // when stopped tasks were read last
	running int       // how many ran at the last look
	far     bool      // looks are far apart: tasks may have changed places between
}

func watching(m member) *watched { return &watched{member: m} }

// awaitHealthy returns when every task that the member should have runs and
// callers can be sent to it, at least minimum of them; or with the reason why
// that will not be.
func (r *Run) awaitHealthy(ctx context.Context, m member, minimum int) error {
	return r.await(ctx, m, verdict.Await(r.Clock.Now(), r.Plan.ProgressDeadline, minimum))
}

// awaitNew is awaitHealthy for tasks that have just been started: one look that
// finds them healthy is not believed.
func (r *Run) awaitNew(ctx context.Context, m member, minimum int) error {
	return r.await(ctx, m, verdict.Await(r.Clock.Now(), r.Plan.ProgressDeadline, minimum).Twice())
}

// awaitBack is awaitNew for what served before the deployment.
func (r *Run) awaitBack(ctx context.Context, m member) error {
	return r.await(ctx, m, verdict.Await(r.Clock.Now(), r.Plan.ProgressDeadline, 0).Twice().Patient())
}

func (r *Run) await(ctx context.Context, m member, judge verdict.Capacity) error {
	if r.Hasty {
		return nil
	}
	w := watching(m)
	for {
		if err := r.tend(ctx); err != nil {
			return err
		}
		o, err := r.observeMember(ctx, w)
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

// tend is what every look of every wait begins with.
func (r *Run) tend(ctx context.Context) error {
	if err := r.access.tend(ctx); err != nil {
		return err
	}
	return r.compare(ctx)
}

// find looks at a member that was there. AWS's answers lag behind its writes by
// seconds, so that it is missing once does not mean that it is gone.
func (r *Run) find(ctx context.Context, m member) (member, error) {
	const apart = 2 * time.Second
	for n := 1; ; n++ {
		now, err := r.hosting.again(ctx, m)
		if err != nil {
			return m, err
		}
		if now != nil && now.Status != "DRAINING" {
			return *now, nil
		}
		if n > int(unseenFor/apart) {
			return m, &sluice.Error{Op: "look at the " + m.label, Resource: m.resource(), Kind: sluice.OutsideChange,
				Err: errors.New("somebody deleted it during the deployment"), Next: "find out who; then deploy again"}
		}
		if err := r.pause(ctx, apart); err != nil {
			return m, err
		}
	}
}

// observeMember is one look at a member: its counts, its targets, its stopped
// tasks.
func (r *Run) observeMember(ctx context.Context, w *watched) (verdict.Observation, error) {
	now, err := r.find(ctx, w.member)
	if err != nil {
		return verdict.Observation{}, err
	}
	o := verdict.Observation{At: r.Clock.Now(), Set: &now.TaskSet}
	if o.Stopped, err = r.newlyStopped(ctx, w, now); err != nil {
		return o, err
	}
	return o, r.access.see(ctx, w, &o)
}

// stoppedEvery is how long failures may go unread while the counts do not tell
// of them: a task that never runs is replaced without a trace in the counts.
const stoppedEvery = 6 * time.Second

func (r *Run) newlyStopped(ctx context.Context, w *watched, set member) ([]sluice.StoppedTask, error) {
	now, fewer := r.Clock.Now(), set.Running < w.running
	w.running = set.Running
	if !fewer && now.Sub(w.read) < stoppedEvery {
		return nil, nil
	}
	w.read = now
	return w.stopped.Update(ctx, w.of, w.ID)
}

func (r *Run) tell(w *watched, o verdict.Observation, v verdict.Verdict) {
	n := v.Counts
	c := sluice.CapacityChanged{Variant: w.variant, TaskSet: w.ID, Revision: o.Set.Revision,
		Desired: n.Desired, Pending: n.Pending, Running: n.Running, Healthy: n.Healthy, Draining: n.Draining, Targets: n.Targets}
	if c != r.told.capacity {
		r.told.capacity = c
		r.Host.Emit(c)
	}
	if v.Cause.Count > 0 {
		r.fail(sluice.FailureSeen{Variant: w.variant, Cause: v.Cause.Text, Count: v.Cause.Count, Task: v.Cause.Task})
	}
}

// fail tells of a failure whose count has grown. Causes may take turns in what is
// looked at: each has its own count. A count that falls is of an answer that lags.
func (r *Run) fail(f sluice.FailureSeen) {
	cause := string(f.Variant) + " " + f.Cause
	if r.told.failures[cause] >= f.Count {
		return
	}
	if r.told.failures == nil {
		r.told.failures = map[string]int{}
	}
	r.told.failures[cause] = f.Count
	r.Host.Emit(f)
}

func (r *Run) unhealthy(w *watched, v verdict.Verdict) error {
	return &sluice.Error{
		Op: "wait for the " + string(w.variant) + " to be healthy", Resource: w.resource(), Kind: sluice.Unhealthy,
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
	return &sluice.Error{Op: "wait for the " + string(w.variant) + " to be healthy", Resource: w.resource(), Kind: kind, Err: why,
		Next: "see what the service says: aws ecs describe-services --cluster " + r.Plan.Cluster + " --services " + r.Plan.Service + "; or raise progressDeadline"}
}

// awaitGone looks until rest says that nothing is left. The deadline is pushed
// back by progress; the drain itself is no stall.
func (r *Run) awaitGone(ctx context.Context, what string, rest func(context.Context) (string, error)) error {
	last, moved := "", r.Clock.Now()
	for {
		if err := r.tend(ctx); err != nil {
			return err
		}
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
