package capacity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/verdict/health"
	"github.com/sluice-ecs/sluice/internal/view"
)

// AwaitServing waits until all tasks of the variant, at least one, are healthy. They must be in the target group that
// gets the requests.
func AwaitServing(ctx context.Context, s *step.Step, v sluice.Variant) error {
	m, err := step.FindVariant(ctx, s, v)
	if err != nil {
		return err
	}
	if m != nil {
		if to := s.Access.AttachmentOf(v).TargetGroup; to != "" && m.TargetGroup != "" && m.TargetGroup != to {
			return errOtherGroup(m, to)
		}
		return AwaitHealthy(ctx, s, *m, 1)
	}
	return &sluice.Error{Op: "send requests to the " + string(v), Resource: s.Client.Resource(), Kind: sluice.Conflict,
		Err:  fmt.Errorf("the service has no %s %s: the requests would be lost", v, s.Hosting.KindName()),
		Next: "roll the " + string(v) + " out before requests are sent to it"}
}

// errOtherGroup is the error of a shift to a group in which the tasks are not.
func errOtherGroup(m *step.Member, to string) error {
	return &sluice.Error{Op: "send requests to the " + string(m.Variant), Resource: m.ResourceName(), Kind: sluice.Conflict,
		Err: fmt.Errorf("the requests of target group %s would be lost: the tasks are in %s", sluice.TargetGroupName(to),
			sluice.TargetGroupName(m.TargetGroup)),
		Next: "name the target group in which the tasks are as that of the " + string(m.Variant)}
}

// AwaitHealthy returns when every desired task of the member, and at least minimum tasks, run and
// can be sent requests. It returns an error once the tasks fail or make no progress.
func AwaitHealthy(ctx context.Context, s *step.Step, m step.Member, minimum int) error {
	return AwaitMember(ctx, s, m, health.AwaitCapacity(s.Clock.Now(), s.Plan.ProgressDeadline, minimum))
}

// AwaitNewTasks is AwaitHealthy for tasks that were just started. It needs two polls in a row that
// show them healthy.
func AwaitNewTasks(ctx context.Context, s *step.Step, m step.Member, minimum int) error {
	return AwaitMember(ctx, s, m, health.AwaitCapacity(s.Clock.Now(), s.Plan.ProgressDeadline,
		minimum).RequireTwoPolls())
}

// Restored is a member of the version that served before the deployment.
type Restored struct {
	step.Member
	// HasScale, if not nil, reports whether a read shows the scale that was written. A read that does
	// not is older than the write, unless step.UnseenLimit has passed since.
	HasScale func(sluice.TaskSet) bool
	// WhileMissing, if not nil, runs at each poll at which ECS has started fewer tasks than desired.
	WhileMissing func(context.Context, verdict.Observation) error
}

func (r Restored) isOutdated(o verdict.Observation, since time.Time) bool {
	return r.HasScale != nil && !r.HasScale(*o.Set) && o.At.Sub(since) < step.UnseenLimit
}

// AwaitRestored is AwaitNewTasks for the version that served before the deployment.
func AwaitRestored(ctx context.Context, s *step.Step, r Restored) error {
	return awaitMember(ctx, s, r, health.AwaitCapacity(s.Clock.Now(), s.Plan.ProgressDeadline,
		0).RequireTwoPolls().OfFormer())
}

// AwaitMember polls a member until the judge ends the wait. An unhealthy or stalled member is an error.
func AwaitMember(ctx context.Context, s *step.Step, m step.Member, judge health.Capacity) error {
	return awaitMember(ctx, s, Restored{Member: m}, judge)
}

func awaitMember(ctx context.Context, s *step.Step, r Restored, judge health.Capacity) error {
	began, m := s.Clock.Now(), r.Member
	w := step.NewMemberWatch(m)
	for {
		if err := CheckDuringWait(ctx, s); err != nil {
			return err
		}
		if r.WhileMissing == nil && began.Equal(m.CreatedAt) && s.Clock.Now().Sub(began) < placeAfter {
			if err := s.PauseFor(ctx, placeAfter); err != nil {
				return err
			}
			continue
		}
		o, err := observeMember(ctx, s, w)
		if err != nil {
			return err
		}
		if r.isOutdated(o, began) {
			if err := s.PauseFor(ctx, step.CheckInterval); err != nil {
				return err
			}
			continue
		}
		var now verdict.Verdict
		judge, now = judge.See(o)
		w.IsComplete = judge.WasComplete()
		judge, now = step.ExplainByLogs(ctx, s, judge, o, now)
		EmitCapacity(s, w, o, now)
		switch now.State {
		case verdict.Healthy:
			return nil
		case verdict.Failing:
			return errMemberUnhealthy(s, w, ExplainTargets(ctx, s, w, now))
		case verdict.Stalling:
			return errMemberStalled(s, w, ExplainTargets(ctx, s, w, now))
		}
		if r.WhileMissing != nil && o.Set.Running+o.Set.Pending < o.Set.Desired {
			if err := r.WhileMissing(ctx, o); err != nil {
				return err
			}
		}
		if err := s.PauseFor(ctx, now.NextPoll); err != nil {
			return err
		}
	}
}

// CheckDuringWait runs first in every poll of every wait.
func CheckDuringWait(ctx context.Context, s *step.Step) error {
	step.WatchRequests(ctx, s)
	if err := s.Gates.Poll(ctx, s); err != nil {
		return err
	}
	if err := s.Serving.Poll(ctx, s); err != nil {
		return err
	}
	if err := step.MaintainShare(ctx, s.Access); err != nil {
		return err
	}
	return s.Outside.ResolvePolled(ctx, s)
}

// ObserveExisting reads a member that existed before. It reports a missing member as deleted only
// after [step.UnseenLimit], because describe calls lag behind writes by seconds.
func ObserveExisting(ctx context.Context, s *step.Step, m step.Member) (step.Member, error) {
	const apart = 2 * time.Second
	for n := 1; ; n++ {
		now, err := s.Hosting.RefreshMember(ctx, m)
		if err != nil {
			return m, err
		}
		if now != nil && now.Status != "DRAINING" {
			return *now, nil
		}
		if n > int(step.UnseenLimit/apart) {
			return m, &sluice.Error{Op: "check the " + m.Label, Resource: m.ResourceName(),
				Kind: sluice.OutsideChange,
				Err:  step.ErrMemberDeleted,
				Next: "find the process or person that deleted it, then deploy again"}
		}
		if err := s.PauseFor(ctx, apart); err != nil {
			return m, err
		}
	}
}

// observeMember reads the counts, the targets and the newly stopped tasks of a member. While only the
// health of its targets can change the verdict, it reads the service every MaxServiceReadAge.
func observeMember(ctx context.Context, s *step.Step, w *step.MemberWatch) (verdict.Observation, error) {
	if o, same, err := observeSameTargets(ctx, s, w); err != nil || same {
		return o, err
	}
	now, err := ObserveExisting(ctx, s, w.Member)
	if err != nil {
		return verdict.Observation{}, err
	}
	w.Latest, w.LatestAt = now, s.Clock.Now()
	o := verdict.Observation{At: w.LatestAt, Set: &now.TaskSet, Events: now.Events}
	past, err := readStopped(ctx, s, w, &o)
	if err != nil {
		return o, err
	}
	if now.Desired > 0 && now.Running == 0 && TargetsDecide(s, w) {
		o.Targets = []sluice.Target{} // no task runs, so no target is healthy
	} else {
		err = s.Access.ObserveTargets(ctx, w, &o)
		w.Targets = TargetsText(o)
	}
	if past.IsPast(isFormer(s, w) && health.CountTasks(o).Healthy > 0) {
		o.NewlyStopped = nil
	}
	return o, err
}

// placeAfter is how long ECS takes to place the first task of a member that was just created.
const placeAfter = 4 * time.Second

const (
	// maxStoppedReadAge is the longest time between two reads of stopped tasks once a read of the
	// service indicated a failure.
	maxStoppedReadAge = 6 * time.Second
	// quietStoppedReadAge is maxStoppedReadAge while no read indicates one. A sign can be missed: ECS
	// may replace a task between two polls while other tasks start.
	quietStoppedReadAge = 30 * time.Second
	// maxEmptyReads is how many reads after such an indication may return no task, until it is explained: AWS's answers
	// may lag, and a task that failed takes seconds to stop.
	maxEmptyReads = 2
)

// readStopped adds the tasks that stopped since the last read to the observation. It reads at the
// first poll, unless the member was just created, when the running count fell, and then every
// maxStoppedReadAge or quietStoppedReadAge. In a rollback it also reads when all tasks seem to run:
// the deployment may have scaled the member down just before, and tasks that ECS has told to stop
// still count as running. past judges the tasks that stopped before the first poll.
func readStopped(ctx context.Context, s *step.Step, w *step.MemberWatch, o *verdict.Observation) (past verdict.Survival,
	err error) {
	now, set := s.Clock.Now(), w.Latest
	fewer := set.Running < w.LastRunning
	w.LastRunning = set.Running
	w.Signs = w.Signs.See(set.Live.ForVerdictOrNil(), set.ID)
	if w.StoppedReadAt.IsZero() && now.Sub(w.CreatedAt) < maxStoppedReadAge {
		w.StoppedReadAt = now // no task can have stopped yet
	}
	if w.Signs.SeenNow() {
		w.EmptyReads = 0
	}
	limit := quietStoppedReadAge
	if w.Signs.Seen() && w.EmptyReads < maxEmptyReads {
		limit = maxStoppedReadAge
	}
	seemsComplete := s.IsRollback() && set.Running >= set.Desired
	if !fewer && !seemsComplete && now.Sub(w.StoppedReadAt) < limit {
		return past, nil
	}
	isFirst := w.StoppedReadAt.IsZero()
	w.StoppedReadAt = now
	o.NewlyStopped, err = w.Stopped.Update(ctx, w.Service, w.ID)
	if w.EmptyReads++; len(o.NewlyStopped) > 0 {
		w.EmptyReads = 0
	}
	o.Stopping = w.Stopped.CountStopping()
	switch {
	case err != nil || !isFirst:
	case s.IsRollback():
		o.NewlyStopped = nil // they failed before it began
	default:
		past, err = w.Service.JudgeSurvival(ctx, o.At, o.Set.Revision, o.NewlyStopped, o.Events, w.HasTask)
	}
	return past, err
}

// EmitCapacity emits the counts of a member if they changed, and why its tasks fail.
func EmitCapacity(s *step.Step, w *step.MemberWatch, o verdict.Observation, v verdict.Verdict) {
	n := v.Counts
	s.EmitCapacity(sluice.CapacityChanged{Variant: w.Variant, TaskSet: w.ID, Revision: o.Set.Revision,
		Desired: n.Desired, Pending: n.Pending, Running: n.Running, Healthy: n.Healthy, Draining: n.Draining,
		Targets: n.Targets})
	step.EmitReasons(s, w.Variant, v)
}

func errMemberUnhealthy(s *step.Step, w *step.MemberWatch, v verdict.Verdict) error {
	return ofFormer(s, w, &sluice.Error{
		Op: "wait for the " + string(w.Variant) + " to be healthy", Resource: w.ResourceName(), Kind: sluice.Unhealthy,
		Err: fmt.Errorf("%d of %d tasks stopped: %s (task %s)", v.Cause.Count, max(v.Counts.Desired, v.Cause.Count),
			v.Cause.Text, v.Cause.Task),
		Next: step.RemoveRollback(s, v.Next),
	})
}

// ofFormer says in the error of a wait for the version that served before the deployment that it is not about the new
// one, and names the deployment that does not wait for it.
func ofFormer(s *step.Step, w *step.MemberWatch, err *sluice.Error) error {
	if s.IsRollback() && err.Kind == sluice.Unhealthy {
		err.Err = fmt.Errorf("the previous version %s does not work: %w", w.Latest.Revision, err.Err)
	}
	if !isFormer(s, w) {
		return err
	}
	err.Err = fmt.Errorf("the running version %s does not work: %w", s.Plan.From, err.Err)
	err.Next = replaceAtOnce
	return err
}

// isFormer reports whether a wait is for the version that served before the deployment, and that another one replaces.
func isFormer(s *step.Step, w *step.MemberWatch) bool {
	return w.Variant == sluice.Primary && w.Latest.Revision == s.Plan.From && !s.IsRollback() && !s.Stage.Adopts() &&
		!s.Plan.KeepsVersion()
}

// replaceAtOnce is what to do if a pipeline waits for the version that it replaces, and that version does not work.
const replaceAtOnce = "deploy the new version at once: sluice deploy --quick-sync"

// ExplainTargets adds to the verdict of a wait that ended without success what AWS knows about the member's targets: the
// health check that they fail, or the command that registers them again.
func ExplainTargets(ctx context.Context, s *step.Step, w *step.MemberWatch, v verdict.Verdict) verdict.Verdict {
	return explainMissing(ctx, s, w, explainCheck(ctx, s, w, v))
}

// explainCheck adds the health check that the targets of a member fail. If it cannot be read, it adds nothing.
func explainCheck(ctx context.Context, s *step.Step, w *step.MemberWatch, v verdict.Verdict) verdict.Verdict {
	if !v.Cause.FailsCheck() || w.TargetGroup == "" {
		return v
	}
	places, err := alb.FindGroups(ctx, s.Account.ELB(), w.TargetGroup)
	if err != nil || len(places) == 0 {
		return v
	}
	was, check := v.Cause, diagnosis.CheckOf(places[0].Settings)
	check.Changes = s.Plan.Callers.CheckChanges(w.TargetGroup, view.NewHealthCheck(places[0].Settings))
	v.Cause = was.WithCheck(check)
	if !TellsCauseApart(v) {
		v.Detail += strings.TrimPrefix(v.Cause.Text, was.Text)
	}
	v.Next = strings.Replace(v.Next, was.Advice(), v.Cause.Advice(), 1)
	return v
}

// explainMissing adds the command that registers the targets of a member again that another process or person
// deregistered. If something cannot be read, it adds nothing.
func explainMissing(ctx context.Context, s *step.Step, w *step.MemberWatch, v verdict.Verdict) verdict.Verdict {
	if v.Cause.Kind != diagnosis.Deregistered {
		return v
	}
	own := func(t ecs.Task) bool { return t.StartedBy == w.ID }
	addresses, port, err := w.Service.Registrable(ctx, v.Cause.Group, own)
	if err != nil {
		return v
	}
	targets, err := alb.ReadHealth(ctx, s.Account.ELB(), v.Cause.Group)
	if err != nil {
		return v
	}
	return v.WithRegisterCommand(addresses, port, targets)
}

func errMemberStalled(s *step.Step, w *step.MemberWatch, v verdict.Verdict) error {
	why := fmt.Errorf("no progress for %s: %s", s.Plan.ProgressDeadline, v.Detail)
	if v.Cause.Kind == diagnosis.Deregistered {
		why = errors.New(v.Detail)
	}
	if TellsCauseApart(v) {
		why = fmt.Errorf("%w; %s", why, v.Cause.Text)
	}
	kind := sluice.Stall
	if v.Counts.Unhealthy > 0 || v.Cause.Task != "" {
		kind = sluice.Unhealthy
	}
	return ofFormer(s, w, &sluice.Error{
		Op: "wait for the " + string(w.Variant) + " to be healthy", Resource: w.ResourceName(), Kind: kind,
		Err: why, Next: step.RemoveRollback(s, v.Next)})
}

// TellsCauseApart reports whether the error of a stalled wait names the cause after the counts, which do not contain
// it.
func TellsCauseApart(v verdict.Verdict) bool {
	return v.Cause.Kind != "" && (v.Cause.Task != "" || v.Counts.Unhealthy == 0)
}

// TimedWait is a wait for something that AWS does not report, and that ends by time.
type TimedWait struct {
	For, Detail string                      // see [sluice.Waiting]
	Until       func() (time.Time, error)   // called at every poll, because writes during the wait move the end
	Check       func(context.Context) error // called at every poll
	Interval    time.Duration               // the longest time between two polls
}

// AwaitTime waits until the end of the wait.
func AwaitTime(ctx context.Context, s *step.Step, w TimedWait) error {
	for told := false; ; told = true {
		until, err := w.Until()
		if err != nil || !s.Clock.Now().Before(until) {
			return err
		}
		if !told {
			s.Host.Emit(sluice.Waiting{For: w.For, Detail: w.Detail, Until: until})
		}
		if err := CheckDuringWait(ctx, s); err != nil {
			return err
		}
		if err := w.Check(ctx); err != nil {
			return err
		}
		if err := s.PauseFor(ctx, min(w.Interval, until.Sub(s.Clock.Now()))); err != nil {
			return err
		}
	}
}

// Remaining is what a wait still waits for.
type Remaining struct {
	Text  string        // for users; empty: nothing
	Count int           // of tasks, targets and members; fewer is progress
	Of    int           // the desired number; another one starts the wait anew
	Least time.Duration // how long it takes at least
}

// progress is the least that has remained, and since when.
type progress struct {
	least Remaining
	at    time.Time
}

// lastAt returns when less remained than ever before, as of a poll that shows left.
func (p *progress) lastAt(left Remaining, now time.Time) time.Time {
	if p.least.Text == "" || left.Of != p.least.Of || left.Count < p.least.Count {
		p.least, p.at = left, now
	}
	return p.at
}

// PollUntilDone polls until rest returns nothing. A count below all earlier ones is progress and restarts
// the deadline: tasks that are replaced again and again change the count too. The deadline includes the
// drain time, so a drain is no stall.
func PollUntilDone(ctx context.Context, s *step.Step, what string,
	rest func(context.Context) (Remaining, error)) error {
	var last Remaining
	var moved progress
	changed := s.Clock.Now()
	for {
		if err := CheckDuringWait(ctx, s); err != nil {
			return err
		}
		left, err := rest(ctx)
		if err != nil || left.Text == "" {
			return err
		}
		now := s.Clock.Now()
		if left.Text != last.Text {
			changed = now
			s.Host.Emit(sluice.Waiting{For: what, Detail: left.Text})
		}
		last = left
		if now.Sub(moved.lastAt(left, now)) > s.Plan.ProgressDeadline+s.Plan.Drain {
			return &sluice.Error{Op: "wait for " + what, Resource: s.Client.Resource(), Kind: sluice.Stall,
				Err: fmt.Errorf("no progress for %s: %s", s.Plan.ProgressDeadline+s.Plan.Drain, left.Text)}
		}
		if err := s.PauseFor(ctx, max(verdict.NextRemovalPoll(now.Sub(changed)), left.Least)); err != nil {
			return err
		}
	}
}
