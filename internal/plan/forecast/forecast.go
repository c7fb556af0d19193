package forecast

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/internal/plan"
)

// Timings are the times that a forecast takes from the running service.
type Timings struct {
	Start time.Duration // from the launch of a task until it runs; 0: not known
	Tasks int           // desired count
	Drain time.Duration // deregistration delay, where the plan does not know it
	// Undrained are the ARNs of target groups of an Application Load Balancer whose deregistration delay is 0, where the plan
	// does not know it.
	Undrained []string
}

// Forecast is the expected duration of a deployment of a good version. It does not include the time
// that people take.
type Forecast struct {
	Took   time.Duration   `json:"took"`   // nanoseconds
	Stages []time.Duration `json:"stages"` // of the plan, in nanoseconds
	// Assumes are sentences that state the assumptions.
	Assumes []string `json:"assumes"`
	// TooShort are sentences about limits of the files that end the deployment before the forecast does.
	TooShort []string `json:"-"`
}

// Times that AWS and sluice take in addition to task starts and drains. AWS does not document them.
// The values were observed on AWS and are the defaults of the local AWS.
const (
	usualStart   = 34 * time.Second // of a task on Fargate, small image
	scheduleTime = 5 * time.Second  // until ECS acts on a request
	registerTime = 5 * time.Second  // from running to healthy: target registration, first check
	noticeTime   = 3 * time.Second  // sluice's polls: a task counts as healthy at the second one
	claimTime    = 2 * time.Second  // before the first write: the read-back delay of the claim
	stopTime     = 6 * time.Second  // from the end of the drain until the task has stopped
	delistTime   = 18 * time.Second // until ECS no longer lists a deleted task set
)

// ReplaceTime returns the time until the new revision is primary. Each mode has one of the methods of
// [Estimate] for it.
type ReplaceTime func(*Estimate, plan.Stage) time.Duration

// New returns how long the plan takes with the given timings. replace is that of the plan's mode.
func New(p *plan.Plan, t Timings, replace ReplaceTime) Forecast {
	f := Estimate{plan: p, replace: replace, start: t.Start, tasks: max(1, t.Tasks), drain: max(p.Drain, t.Drain)}
	if r := p.Registry; r != nil {
		f.drain = r.CacheExpiry()
	}
	if f.start == 0 {
		f.start = usualStart
	}
	var out Forecast
	for i, s := range p.Stages {
		d := f.stageTime(s)
		if i == 0 {
			d += claimTime
		}
		out.Stages = append(out.Stages, d)
		out.Took += d
	}
	out.Took += p.Bake
	out.Assumes = f.listAssumptions(t.Start > 0)
	out.TooShort = f.listShortLimits(out)
	return out
}

// listShortLimits compares the limits of the files with the forecast. The durations of waits are compared when the files
// are read.
func (f *Estimate) listShortLimits(out Forecast) (all []string) {
	p, starts := f.plan, false
	if p.Timeout > 0 && out.Took > p.Timeout {
		all = append(all, fmt.Sprintf("the timeout of the deployment is %s, and it is expected to take %s: raise the timeout",
			plan.FormatDuration(p.Timeout), plan.FormatDuration(out.Took)))
	}
	for i, s := range p.Stages {
		starts = starts || s.StartsCanary() || s.ReplacesPrimary()
		if !s.IsWait() && s.Timeout > 0 && s.Timeout < p.Timeout && out.Stages[i] > s.Timeout {
			all = append(all, fmt.Sprintf("the timeout of stage %d %s is %s, and it is expected to take %s: raise the timeout",
				i+1, s.Name, plan.FormatDuration(s.Timeout), plan.FormatDuration(out.Stages[i])))
		}
	}
	if starts && p.ProgressDeadline > 0 && p.ProgressDeadline < f.start {
		all = append(all, fmt.Sprintf("progressDeadline is %s, and tasks run %s after their launch: the deployment fails before; "+
			"raise progressDeadline", plan.FormatDuration(p.ProgressDeadline), plan.FormatDuration(f.start)))
	}
	return all
}

// Estimate adds up the times of the stages of a plan, one after the other.
type Estimate struct {
	plan    *plan.Plan
	replace ReplaceTime
	start   time.Duration
	tasks   int
	drain   time.Duration // how long callers may use a task that is stopping
	shifted bool          // weights moved in the stage before
}

func (f *Estimate) stageTime(s plan.Stage) time.Duration {
	switch {
	case s.IsWait():
		f.shifted = false
		return s.Duration
	case s.RunsTask():
		f.shifted = false
		return f.start
	case s.StartsCanary():
		return f.taskStartTime()
	case s.ShiftsTraffic():
		return f.weightsTime()
	case s.ReplacesPrimary():
		return f.replace(f, s)
	case s.EndsCanary():
		return f.propagationWait(s) + f.retireTime() // the canary and a kept old primary drain concurrently
	}
	return 0
}

// TaskSetTime returns the time until a new task set is primary and the previous one is deleted.
func (f *Estimate) TaskSetTime(s plan.Stage) time.Duration {
	switch {
	case s.ReplacesAll():
		return f.taskStartTime() + f.syncPropagation() + f.retireTime()
	case s.KeepOld:
		return f.taskStartTime()
	}
	return f.taskStartTime() + f.retireTime()
}

// NoTime is the forecast of a mode without a primary.
func (f *Estimate) NoTime(plan.Stage) time.Duration { return 0 }

// taskStartTime returns the time from the creation of new tasks until they are healthy.
func (f *Estimate) taskStartTime() time.Duration {
	f.shifted = false
	return scheduleTime + f.start + registerTime + noticeTime
}

// retireTime returns the time from the write that removes capacity until the capacity is deleted.
func (f *Estimate) retireTime() time.Duration {
	return f.drain + stopTime + noticeTime + delistTime
}

func (f *Estimate) weightsTime() time.Duration {
	if f.plan.WaitsAfterShift() {
		return f.plan.ShiftPropagation()
	}
	f.shifted = true
	return time.Second
}

// propagationWait returns the wait, in a stage that removes the canary, for weights that moved
// shortly before.
func (f *Estimate) propagationWait(s plan.Stage) time.Duration {
	own := f.plan.WaitsAfterShift() && f.plan.StateBefore(s.Index).CanaryShare() > 0 // the stage shifts
	if f.shifted || own {
		return f.plan.ShiftPropagation()
	}
	return 0
}

// syncPropagation returns the wait for weights in a stage that replaces everything. Behind a load
// balancer that takes minutes, weights move only if a canary was left.
func (f *Estimate) syncPropagation() time.Duration {
	if f.plan.WaitsAfterShift() {
		return 0
	}
	return f.plan.ShiftPropagation()
}

// RollingTime returns the time of ECS's own rolling update, in batches. A batch begins when the
// tasks of the previous batch are healthy, while the replaced tasks still drain.
func (f *Estimate) RollingTime(plan.Stage) time.Duration {
	f.shifted = false
	n, ahead := f.batchCount()
	one, last := f.start+registerTime, f.drain+stopTime
	if !ahead { // the old tasks of the last batch stop while its new tasks start
		last = max(0, last-one)
	}
	return scheduleTime + time.Duration(n)*one + f.bakeTime() + last + delistTime + noticeTime
}

// batchCount returns in how many batches tasks are replaced. A batch has as many tasks as may be
// added, otherwise as many as may be missing (ECS Developer Guide, "Deployment configuration").
// ahead reports whether new tasks start before old ones stop.
func (f *Estimate) batchCount() (n int, ahead bool) {
	c := f.configuration()
	if shiftsItself(c) {
		return 1, true
	}
	least, most := int(*orDefault(c.MinimumHealthyPercent, 100)), int(*orDefault(c.MaximumPercent, 200))
	floor, ceiling := (f.tasks*least+99)/100, f.tasks*most/100
	atOnce := max(1, ceiling-floor)
	return (f.tasks + atOnce - 1) / atOnce, ceiling > f.tasks
}

// stopsAllFirst reports whether ECS may stop each task that serves before new ones serve.
func (f *Estimate) stopsAllFirst() bool {
	c, least := f.configuration(), f.configuration().MinimumHealthyPercent
	return f.plan.Controller == plan.ControllerECS && f.plan.From != "" && f.plan.HasChanges() && !shiftsItself(c) &&
		least != nil && *least == 0
}

func orDefault[T any](p *T, other T) *T {
	if p == nil {
		return &other
	}
	return p
}

func (f *Estimate) listAssumptions(measured bool) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	from := "the usual time"
	if measured {
		from = "like the running tasks"
	}
	say("the new version is healthy, and its tasks run %s after their launch, %s", plan.FormatDuration(f.start), from)
	if f.drain > 0 {
		say("open requests of a stopping task end within %s", plan.FormatDuration(f.drain))
	}
	if f.stopsAllFirst() {
		say("ECS stops all tasks first, as minimumHealthyPercent 0 allows: no task serves for about %s then",
			plan.FormatDuration(scheduleTime+f.start+registerTime))
	}
	if f.plan.Mode().HasService() && f.hookCount() > 0 {
		say("each lifecycle hook answers immediately")
	}
	for _, s := range f.plan.Stages {
		if s.NeedsApproval() {
			say("approvals are given immediately")
			break
		}
	}
	for _, s := range f.plan.Stages {
		if s.Task != nil {
			say("the work of step %s takes no time", s.Task.Step)
		}
	}
	if f.plan.WaitsAfterShift() && slices.ContainsFunc(f.plan.Stages, plan.Stage.ShiftsTraffic) {
		say("each change of weights takes %s: AWS does not report when every node of a %s uses it",
			plan.FormatDuration(f.plan.ShiftPropagation()), f.plan.Balancer.Name())
	}
	return append(all, f.shiftAssumptions()...)
}
