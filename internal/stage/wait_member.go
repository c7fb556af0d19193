package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// emitted holds the values that were emitted last, so that an event is emitted only on a change.
type emitted struct {
	capacity       sluice.CapacityChanged
	failures       map[string]int                            // count of each cause
	progress       string                                    // what ECS was doing
	reported       map[string]bool                           // see [Run.isFirstTime]
	setCapacity    map[sluice.Variant]sluice.CapacityChanged // under controller CODE_DEPLOY
	removing       map[string]sluice.CapacityChanged         // by ID, of members that are being removed
	canaryRevision string                                    // its revision, under controller CODE_DEPLOY
	// percent of the traffic at the canary, under controller CODE_DEPLOY
	canaryShare int
}

// memberWatch is a member that is being polled.
type memberWatch struct {
	member
	leavingTargets ecs.StoppingTasks // addresses of tasks that are being stopped
	stopped        ecs.StoppedOfSet
	stoppedReadAt  time.Time // when stopped tasks were read last
	signs          verdict.FailureSigns
	lastRunning    int       // lastRunning count at the last poll
	farApart       bool      // polls are far apart: tasks may be replaced between two of them
	latest         member    // the member at the last read of the service
	latestAt       time.Time // when that was
	targets        string    // the member's targets at the last poll
	isComplete     bool      // all of its tasks were healthy at the last poll
	left           int       // its draining targets at the last poll
	leftAt         time.Time // when they were read
	hasRead        bool      // the owners of its targets were compared with the targets
}

func newMemberWatch(m member) *memberWatch { return &memberWatch{member: m} }

// awaitHealthy returns when every desired task of the member, and at least minimum tasks, run and
// can be sent requests. It returns an error once the tasks fail or make no progress.
func (r *Run) awaitHealthy(ctx context.Context, m member, minimum int) error {
	return r.awaitMember(ctx, m, verdict.AwaitCapacity(r.Clock.Now(), r.Plan.ProgressDeadline, minimum))
}

// awaitNewTasks is awaitHealthy for tasks that were just started. It needs two polls in a row that
// show them healthy.
func (r *Run) awaitNewTasks(ctx context.Context, m member, minimum int) error {
	return r.awaitMember(ctx, m, verdict.AwaitCapacity(r.Clock.Now(), r.Plan.ProgressDeadline,
		minimum).RequireTwoPolls())
}

// awaitRestored is awaitNewTasks for the version that served before the deployment. Only the
// deadline ends it, not a number of failures.
func (r *Run) awaitRestored(ctx context.Context, m member) error {
	return r.awaitMember(ctx, m, verdict.AwaitCapacity(r.Clock.Now(), r.Plan.ProgressDeadline,
		0).RequireTwoPolls().IgnoreFailures())
}

func (r *Run) awaitMember(ctx context.Context, m member, judge verdict.Capacity) error {
	w := newMemberWatch(m)
	for {
		if err := r.checkDuringWait(ctx); err != nil {
			return err
		}
		o, err := r.observeMember(ctx, w)
		if err != nil {
			return err
		}
		var now verdict.Verdict
		judge, now = judge.See(o)
		w.isComplete = judge.WasComplete()
		judge, now = explainByLogs(ctx, r, judge, o, now)
		r.emitCapacity(w, o, now)
		switch now.State {
		case verdict.Healthy:
			return nil
		case verdict.Failing:
			return r.errMemberUnhealthy(w, now)
		case verdict.Stalling:
			return r.errMemberStalled(w, now)
		}
		if err := r.pauseFor(ctx, now.NextPoll); err != nil {
			return err
		}
	}
}

// checkDuringWait runs first in every poll of every wait.
func (r *Run) checkDuringWait(ctx context.Context) error {
	r.watchRequests(ctx)
	if err := r.traffic.maintainShare(ctx); err != nil {
		return err
	}
	return r.resolvePolledDrift(ctx)
}

// observeExisting reads a member that existed before. It reports a missing member as deleted only
// after unseenFor, because describe calls lag behind writes by seconds.
func (r *Run) observeExisting(ctx context.Context, m member) (member, error) {
	const apart = 2 * time.Second
	for n := 1; ; n++ {
		now, err := r.hosting.refreshMember(ctx, m)
		if err != nil {
			return m, err
		}
		if now != nil && now.Status != "DRAINING" {
			return *now, nil
		}
		if n > int(unseenLimit/apart) {
			return m, &sluice.Error{Op: "check the " + m.label, Resource: m.resourceName(),
				Kind: sluice.OutsideChange,
				Err:  errors.New("another process or person deleted it during the deployment"),
				Next: "find the process or person that deleted it, then deploy again"}
		}
		if err := r.pauseFor(ctx, apart); err != nil {
			return m, err
		}
	}
}

// observeMember reads the counts, the targets and the newly stopped tasks of a member. While only the
// health of its targets can change the verdict, it reads the service every maxServiceReadAge.
func (r *Run) observeMember(ctx context.Context, w *memberWatch) (verdict.Observation, error) {
	if o, same, err := r.observeSameTargets(ctx, w); err != nil || same {
		return o, err
	}
	now, err := r.observeExisting(ctx, w.member)
	if err != nil {
		return verdict.Observation{}, err
	}
	w.latest, w.latestAt = now, r.Clock.Now()
	o := verdict.Observation{At: w.latestAt, Set: &now.TaskSet, Events: now.events}
	if o.NewlyStopped, err = r.newlyStopped(ctx, w, now); err != nil {
		return o, err
	}
	if now.Desired > 0 && now.Running == 0 && r.targetsDecide(w) {
		o.Targets = []sluice.Target{} // no task runs, so no target is healthy
		return o, nil
	}
	err = r.traffic.observeTargets(ctx, w, &o)
	w.targets = targetsText(o)
	return o, err
}

const (
	// maxStoppedReadAge is the longest time between two reads of stopped tasks once a read of the
	// service indicated a failure.
	maxStoppedReadAge = 6 * time.Second
	// quietStoppedReadAge is maxStoppedReadAge while no read indicates one. A sign can be missed: ECS
	// may replace a task between two polls while other tasks start.
	quietStoppedReadAge = 30 * time.Second
)

// newlyStopped reads the tasks that stopped since the last read. It reads at the first poll,
// unless the member was just created, when the running count fell, and then every maxStoppedReadAge
// or quietStoppedReadAge.
func (r *Run) newlyStopped(ctx context.Context, w *memberWatch, set member) ([]diagnosis.Stopped, error) {
	now, fewer := r.Clock.Now(), set.Running < w.lastRunning
	w.lastRunning = set.Running
	w.signs = w.signs.See(set.live.ForVerdictOrNil(), set.ID)
	if w.stoppedReadAt.IsZero() && now.Sub(w.createdAt) < maxStoppedReadAge {
		w.stoppedReadAt = now // no task can have stopped yet
	}
	limit := quietStoppedReadAge
	if w.signs.Seen() {
		limit = maxStoppedReadAge
	}
	if !fewer && now.Sub(w.stoppedReadAt) < limit {
		return nil, nil
	}
	w.stoppedReadAt = now
	return w.stopped.Update(ctx, w.service, w.ID)
}

func (r *Run) emitCapacity(w *memberWatch, o verdict.Observation, v verdict.Verdict) {
	n := v.Counts
	c := sluice.CapacityChanged{Variant: w.variant, TaskSet: w.ID, Revision: o.Set.Revision,
		Desired: n.Desired, Pending: n.Pending, Running: n.Running, Healthy: n.Healthy, Draining: n.Draining,
		Targets: n.Targets}
	if c != r.emitted.capacity {
		r.emitted.capacity = c
		r.Host.Emit(c)
	}
	r.emitReasons(w.variant, v)
}

// emitFailure emits an event when the count of a cause grows. Polls may show several causes in
// turn, so each cause has its own count. A lower count is a stale answer and is ignored.
func (r *Run) emitFailure(f sluice.FailureSeen) {
	cause := string(f.Variant) + " " + f.Cause
	if r.emitted.failures[cause] >= f.Count {
		return
	}
	if r.emitted.failures == nil {
		r.emitted.failures = map[string]int{}
	}
	r.emitted.failures[cause] = f.Count
	r.Host.Emit(f)
}

func (r *Run) errMemberUnhealthy(w *memberWatch, v verdict.Verdict) error {
	return &sluice.Error{
		Op: "wait for the " + string(w.variant) + " to be healthy", Resource: w.resourceName(), Kind: sluice.Unhealthy,
		Err: fmt.Errorf("%d of %d tasks stopped: %s (task %s)", v.Cause.Count, max(v.Counts.Desired, v.Cause.Count),
			v.Cause.Text, v.Cause.Task),
		Next: r.removeRollback(v.Next),
	}
}

func (r *Run) errMemberStalled(w *memberWatch, v verdict.Verdict) error {
	why := fmt.Errorf("no progress for %s: %s", r.Plan.ProgressDeadline, v.Detail)
	if v.Cause.Kind != "" && (v.Cause.Task != "" || v.Counts.Unhealthy == 0) {
		why = fmt.Errorf("%w; %s", why, v.Cause.Text)
	}
	kind := sluice.Stall
	if v.Counts.Unhealthy > 0 || v.Cause.Task != "" {
		kind = sluice.Unhealthy
	}
	return &sluice.Error{Op: "wait for the " + string(w.variant) + " to be healthy", Resource: w.resourceName(),
		Kind: kind, Err: why, Next: r.removeRollback(v.Next)}
}

// pollUntilDone polls until rest returns an empty text. A changed text is progress and restarts the
// deadline. The deadline includes the drain time, so a drain is no stall.
func (r *Run) pollUntilDone(ctx context.Context, what string, rest func(context.Context) (string, error)) error {
	last, moved := "", r.Clock.Now()
	for {
		if err := r.checkDuringWait(ctx); err != nil {
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
			return &sluice.Error{Op: "wait for " + what, Resource: r.client.Resource(), Kind: sluice.Stall,
				Err: fmt.Errorf("no progress for %s: %s", r.Plan.ProgressDeadline+r.Plan.Drain, detail)}
		}
		if err := r.pauseFor(ctx, verdict.NextRemovalPoll(now.Sub(moved))); err != nil {
			return err
		}
	}
}
