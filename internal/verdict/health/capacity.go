package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// Capacity judges whether a task set has all its desired tasks, running and healthy. Make one with
// [AwaitCapacity].
type Capacity struct {
	deadline      time.Duration // without progress
	began         time.Time
	progressAt    time.Time // last progress
	movedAt       time.Time // last change of the counts
	last          verdict.Counts
	mostSteps     int
	failures      diagnosis.Failures
	unread        []string // what could not be read, and why
	mostHealthy   int      // most healthy tasks so far
	minimum       int
	needsTwoPolls bool   // one complete poll is not enough
	confirmed     bool   // the last two polls were complete, with the same targets
	wasComplete   bool   // the last poll was complete
	ofFormer      bool   // see OfFormer
	healthy       string // the healthy targets of the last poll
	registration  verdict.Registration
}

// AwaitCapacity starts a judge. deadline is how long there may be no progress. minimum is the least
// number of healthy tasks, whatever the desired count is.
func AwaitCapacity(now time.Time, deadline time.Duration, minimum int) Capacity {
	return Capacity{deadline: deadline, began: now, progressAt: now, movedAt: now, minimum: minimum}
}

// confirmInterval is the time between a first complete poll and the second one.
const confirmInterval = 2 * time.Second

// stillAfter is how long nothing must have changed before polls are rarer while no task runs.
const stillAfter = 4 * time.Second

// WasComplete reports whether the last observation showed every task healthy.
func (c Capacity) WasComplete() bool { return c.wasComplete }

// RequireTwoPolls makes a judge that reports health only after two polls in a row with the same healthy
// targets. AWS's responses may lag, and a task in a crash loop is healthy for a moment.
func (c Capacity) RequireTwoPolls() Capacity {
	c.needsTwoPolls = true
	return c
}

// OfFormer makes a judge of the version that a rollback restores. Tasks that lose their targets do not end its wait:
// there is no other version that could get them.
func (c Capacity) OfFormer() Capacity {
	c.ofFormer = true
	return c
}

// See adds an observation.
func (c Capacity) See(o verdict.Observation) (Capacity, verdict.Verdict) {
	n := CountTasks(o)
	c = c.countFailures(o)
	if c.madeProgress(n) {
		c.progressAt = o.At
	}
	if n != c.last {
		c.movedAt = o.At
	}
	c.last = n
	c = c.noteRegistered(o, n)
	whole, healthy := c.isComplete(o, n), healthyTargets(o)
	c.confirmed = whole && c.wasComplete && healthy == c.healthy
	c.wasComplete, c.healthy = whole, healthy
	if n.Healthy > c.mostHealthy {
		c.mostHealthy = n.Healthy
	}
	return c, c.judgeCapacity(o, n)
}

// noteRegistered adds a poll to the registration of tasks that all run. A task that failed may be deregistered by ECS.
func (c Capacity) noteRegistered(o verdict.Observation, n verdict.Counts) Capacity {
	if o.Set == nil || o.Targets == nil || n.Desired == 0 || n.Running < n.Desired || n.Pending > 0 || c.failures.Count() > 0 {
		c.registration = verdict.Registration{}
		return c
	}
	c.registration = c.registration.See(o.At, n.Desired, verdict.CountRegistered(o.Set.TargetGroup, ownTargets(o)))
	return c
}

// isLost reports whether no task will be healthy: none is registered. See [Capacity.OfFormer].
func (c Capacity) isLost() bool { return c.registration.IsLost() && !c.ofFormer }

// healthyTargets names the healthy targets of the set's own tasks, in order.
func healthyTargets(o verdict.Observation) string {
	var all []string
	for _, t := range ownTargets(o) {
		if t.State == "healthy" {
			all = append(all, fmt.Sprint(t.ID, ":", t.Port))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// CountTasks counts the tasks and targets of an observation. Tasks that ECS has told to stop do not run.
func CountTasks(o verdict.Observation) verdict.Counts {
	n := verdict.Counts{Stopped: len(o.NewlyStopped)}
	if o.Set != nil {
		n.Desired, n.Pending, n.Running = o.Set.Desired, o.Set.Pending, o.Set.Running
	}
	for _, t := range o.Targets {
		if o.IsOwnTarget != nil && !o.IsOwnTarget(t.ID) {
			continue
		}
		n.Targets++
		switch t.State {
		case "healthy":
			n.Healthy++
		case "draining":
			n.Draining++
		case "unhealthy":
			n.Unhealthy++
		case "initial":
			n.Initial++
		}
	}
	n.Running = max(n.Running-o.Stopping, 0)
	if o.Targets == nil && o.Set != nil && o.Set.Steady {
		n.Healthy = n.Running
	}
	if o.Stopping > 0 {
		n.Healthy = min(n.Healthy, n.Running)
	}
	return n
}

// madeProgress reports whether more tasks run or are healthy than ever before since the desired
// count last changed. Tasks that stop and start again are no progress.
func (c *Capacity) madeProgress(n verdict.Counts) bool {
	steps := n.Running + 2*n.Healthy
	if n.Desired != c.last.Desired {
		c.mostSteps = steps
		return true
	}
	if steps > c.mostSteps {
		c.mostSteps = steps
		return true
	}
	return false
}

// countFailures counts failures by cause. A task that became healthy resets the counts.
func (c Capacity) countFailures(o verdict.Observation) Capacity {
	if n := CountTasks(o); n.Healthy > c.mostHealthy {
		c.failures = c.failures.Reset()
	}
	c.failures = c.failures.AddStopped(o.NewlyStopped, o.Events)
	return c
}

// NeededLogs returns the failed tasks whose last log lines to read.
func (c Capacity) NeededLogs() []diagnosis.Stopped { return c.failures.NeededLogs() }

// AddLogs adds logs to the last observation, and judges it again.
func (c Capacity) AddLogs(o verdict.Observation, logs []diagnosis.Log) (Capacity, verdict.Verdict) {
	c = c.noteLogs(o, logs)
	return c, c.judgeCapacity(o, CountTasks(o))
}

func (c Capacity) noteLogs(o verdict.Observation, logs []diagnosis.Log) Capacity {
	c.failures = c.failures.AddLogs(logs, o.Events)
	for _, l := range logs {
		c.unread = diagnosis.NoteUnread(c.unread, l.Unread())
	}
	return c
}

func (c Capacity) judgeCapacity(o verdict.Observation, n verdict.Counts) verdict.Verdict {
	v := verdict.Verdict{State: verdict.Progressing, Counts: n, Detail: detailText(o, n),
		NextPoll: c.capacityInterval(o)}
	switch {
	case c.failures.Reach(diagnosis.FailAfter):
		v.State = verdict.Failing
	case c.isComplete(o, n) && !c.needsTwoPolls || c.confirmed:
		v.State = verdict.Healthy
	case c.isComplete(o, n):
		v.NextPoll = confirmInterval
	case o.At.Sub(c.progressAt) >= c.deadline || c.isLost():
		v.State = verdict.Stalling
	}
	return c.explainFailures(v, o)
}

// explainFailures adds to the verdict why tasks are not healthy, and what to do.
func (c Capacity) explainFailures(v verdict.Verdict, o verdict.Observation) verdict.Verdict {
	v.Causes, v.Logs, v.Unread = c.failures.Ranked(), c.failures.Logs(), c.unread
	if o.Set != nil && v.State != verdict.Healthy {
		var targets []sluice.Target
		if v.State != verdict.Progressing { // a target may be unhealthy for a moment while its task starts
			targets = ownTargets(o)
		}
		v.Causes = diagnosis.AddHints(v.Causes, diagnosis.ExplainEvents(o.Events, o.Set.CreatedAt), targets)
	}
	if lost, ok := c.registration.Cause(); ok {
		v.Causes = diagnosis.AddKind(v.Causes, lost)
	}
	if slow, ok := diagnosis.ExplainSlowStart(v.Counts.Running, v.Counts.Pending, v.Counts.Desired); ok &&
		v.State == verdict.Stalling && len(v.Causes) == 0 {
		v.Causes = append(v.Causes, slow)
	}
	if len(v.Causes) > 0 {
		v.Cause = v.Causes[0]
	}
	v.Next = adviceAfter(v)
	return v
}

// adviceAfter returns what to do after a wait that ended without success.
func adviceAfter(v verdict.Verdict) string {
	then := diagnosis.DeployOrRollBack
	if v.State == verdict.Stalling {
		then = "or raise progressDeadline; " + then
	}
	switch {
	case v.State != verdict.Failing && v.State != verdict.Stalling:
		return ""
	case v.Cause.Kind == "":
		return diagnosis.ReadEvents + "; " + then
	}
	return v.Cause.NextStep(then)
}

func ownTargets(o verdict.Observation) []sluice.Target {
	return slices.DeleteFunc(slices.Clone(o.Targets), func(t sluice.Target) bool {
		return o.IsOwnTarget != nil && !o.IsOwnTarget(t.ID)
	})
}

// isComplete reports whether every desired task runs and its target is healthy. One task more than
// desired is a replacement: ECS is about to stop the task it replaces.
func (c Capacity) isComplete(o verdict.Observation, n verdict.Counts) bool {
	if o.Set == nil || n.Desired < c.minimum || n.Running != n.Desired || n.Pending > 0 {
		return false
	}
	if o.Targets == nil {
		return o.Set.Steady
	}
	return n.Healthy >= max(n.Desired, c.minimum)
}

// capacityInterval is short while changes are likely, and longer when a start takes long, or before a
// task runs, also in the place of one that failed. A Fargate task runs after 20–60 s; its target is healthy one check
// later.
func (c Capacity) capacityInterval(o verdict.Observation) time.Duration {
	switch waited := o.At.Sub(c.progressAt); {
	case o.Set != nil && o.Set.Running == 0 && c.failures.Count() == 0 && waited < 2*time.Minute:
		return 4 * time.Second
	case o.Set != nil && o.Set.Running == 0 && waited < 2*time.Minute && o.At.Sub(c.movedAt) >= stillAfter:
		return 4 * time.Second
	case waited < 20*time.Second:
		return 2 * time.Second
	case waited < 2*time.Minute:
		return 3 * time.Second
	default:
		return 5 * time.Second
	}
}

func detailText(o verdict.Observation, n verdict.Counts) string {
	if o.Set == nil {
		return "no task set"
	}
	text := fmt.Sprintf("%d of %d tasks running", n.Running, n.Desired)
	if o.Targets != nil {
		text += fmt.Sprintf(", %d healthy", n.Healthy)
		if n.Unhealthy > 0 {
			text += fmt.Sprintf(" (%d unhealthy: %s)", n.Unhealthy, unhealthyReason(o))
		}
	}
	return text
}

func unhealthyReason(o verdict.Observation) string {
	for _, t := range o.Targets {
		if t.State == "unhealthy" && (o.IsOwnTarget == nil || o.IsOwnTarget(t.ID)) {
			return t.Description
		}
	}
	return ""
}
