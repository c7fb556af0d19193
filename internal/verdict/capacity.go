package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// State is the state of a verdict.
type State string

const (
	Progressing State = "progressing"
	Healthy     State = "healthy"
	Failing     State = "failed"  // repeated failures of one cause
	Stalling    State = "stalled" // no progress until the deadline
	Ended       State = "ended"   // see Outcome; of a [ServiceFollower]
)

// Observation is the result of one poll: of a task set for [Capacity], of a service for
// [ServiceFollower].
type Observation struct {
	At           time.Time           // clock of this process
	Targets      []sluice.Target     // of its target groups; nil without a load balancer, or unread
	NewlyStopped []diagnosis.Stopped // tasks that were returned for the first time

	// Of a task set.
	Set         *sluice.TaskSet
	IsOwnTarget func(id string) bool // which targets are tasks of this set; nil: unknown
	Events      []diagnosis.Event    // of its service, newest first

	// Of a service. Fields that [ServiceFollower.Needs] did not request may be empty.
	Service   *Service // nil: there is none
	Records   []Record
	Logs      []diagnosis.Log
	Unread    []string // what could not be read, and why
	Past      Past     // the history of a revision that has not appeared
	NoHistory bool     // the history of deployments cannot be read

	DrainRead  bool          // the deregistration delay was read, or cannot be read
	DrainDelay time.Duration // of the target group with the shortest one

	Code CodeObservation // of a CodeDeploy deployment, for [CodeDeployFollower]
}

// Past is what the history of a service contains about a revision, once it was read.
type Past struct {
	Read bool
	ARN  string // of the newest service deployment that deployed it; empty: none
}

// Verdict is the judgement so far.
type Verdict struct {
	State    State
	Cause    diagnosis.Cause   // why it is Failing; otherwise the leading cause
	Causes   []diagnosis.Cause // the leading one first
	Logs     []diagnosis.Log   // the last lines of failed containers
	Unread   []string          // what could not be read, and why
	Next     string            // what the user should do, one sentence
	Detail   string            // for users: "2 of 3 tasks running, 1 of 3 targets healthy"
	Counts   Counts
	NextPoll time.Duration // from the observation; 0 once ended

	// Of a [ServiceFollower].
	Outcome    sluice.Outcome // empty while progressing
	Revision   string         // family:revision that is waited for
	Deployment string         // ARN of its service deployment, otherwise "ecs-svc/<digits>"; empty before it appears
	By         string         // revision rolled back to, or superseded by
}

// Counts are the numbers of a verdict.
type Counts struct {
	Desired, Pending, Running   int
	Healthy, Draining, Targets  int
	Unhealthy, Initial, Stopped int
}

// Capacity judges whether a task set has all its desired tasks, running and healthy. Make one with
// [AwaitCapacity].
type Capacity struct {
	deadline      time.Duration // without progress
	failAfter     int           // failures of one cause, with no healthy task between
	began         time.Time
	progressAt    time.Time // last progress
	last          Counts
	mostSteps     int
	failures      diagnosis.Failures
	unread        []string // what could not be read, and why
	mostHealthy   int      // most healthy tasks so far
	minimum       int
	needsTwoPolls bool // one complete poll is not enough
	confirmed     bool // the last two polls were complete
	wasComplete   bool // the last poll was complete
}

// AwaitCapacity starts a judge. deadline is how long there may be no progress. minimum is the least
// number of healthy tasks, whatever the desired count is.
func AwaitCapacity(now time.Time, deadline time.Duration, minimum int) Capacity {
	return Capacity{deadline: deadline, failAfter: diagnosis.FailAfter, began: now, progressAt: now, minimum: minimum}
}

// confirmInterval is the time between a first complete poll and the second one.
const confirmInterval = 2 * time.Second

// WasComplete reports whether the last observation showed every task healthy.
func (c Capacity) WasComplete() bool { return c.wasComplete }

// RequireTwoPolls makes a judge that reports health only after two healthy polls in a row. AWS's
// responses may lag, and a task in a crash loop is healthy for a moment.
func (c Capacity) RequireTwoPolls() Capacity {
	c.needsTwoPolls = true
	return c
}

// IgnoreFailures makes a judge that only the deadline ends, not a number of failures. It is for the
// previous version: there is no other version to return to, and ECS starts its tasks again.
func (c Capacity) IgnoreFailures() Capacity {
	c.failAfter = diagnosis.NoLimit
	return c
}

// See adds an observation.
func (c Capacity) See(o Observation) (Capacity, Verdict) {
	n := countObservation(o)
	c = c.countFailures(o)
	if c.madeProgress(n) {
		c.progressAt = o.At
	}
	c.last = n
	whole := c.isComplete(o, n)
	c.confirmed, c.wasComplete = whole && c.wasComplete, whole
	if n.Healthy > c.mostHealthy {
		c.mostHealthy = n.Healthy
	}
	return c, c.judgeCapacity(o, n)
}

func countObservation(o Observation) Counts {
	n := Counts{Stopped: len(o.NewlyStopped)}
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
	if o.Targets == nil && o.Set != nil && o.Set.Steady {
		n.Healthy = n.Running
	}
	return n
}

// madeProgress reports whether more tasks run or are healthy than ever before since the desired
// count last changed. Tasks that stop and start again are no progress.
func (c *Capacity) madeProgress(n Counts) bool {
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
func (c Capacity) countFailures(o Observation) Capacity {
	if n := countObservation(o); n.Healthy > c.mostHealthy {
		c.failures = c.failures.Reset()
	}
	c.failures = c.failures.AddStopped(o.NewlyStopped, o.Events)
	return c
}

// NeededLogs returns the failed tasks whose last log lines to read.
func (c Capacity) NeededLogs() []diagnosis.Stopped { return c.failures.NeededLogs() }

// AddLogs adds logs to the last observation, and judges it again.
func (c Capacity) AddLogs(o Observation, logs []diagnosis.Log) (Capacity, Verdict) {
	c = c.noteLogs(o, logs)
	return c, c.judgeCapacity(o, countObservation(o))
}

func (c Capacity) noteLogs(o Observation, logs []diagnosis.Log) Capacity {
	c.failures = c.failures.AddLogs(logs, o.Events)
	for _, l := range logs {
		c.unread = diagnosis.NoteUnread(c.unread, l.Unread())
	}
	return c
}

func (c Capacity) judgeCapacity(o Observation, n Counts) Verdict {
	v := Verdict{State: Progressing, Counts: n, Detail: detailText(o, n), NextPoll: c.capacityInterval(o)}
	switch {
	case c.failures.Reach(c.failAfter):
		v.State = Failing
	case c.isComplete(o, n) && !c.needsTwoPolls || c.confirmed:
		v.State = Healthy
	case c.isComplete(o, n):
		v.NextPoll = confirmInterval
	case o.At.Sub(c.progressAt) >= c.deadline:
		v.State = Stalling
	}
	return c.explainFailures(v, o)
}

// explainFailures adds to the verdict why tasks are not healthy, and what to do.
func (c Capacity) explainFailures(v Verdict, o Observation) Verdict {
	v.Causes, v.Logs, v.Unread = c.failures.Ranked(), c.failures.Logs(), c.unread
	if o.Set != nil && v.State != Healthy {
		var targets []sluice.Target
		if v.State != Progressing { // a target may be unhealthy for a moment while its task starts
			targets = ownTargets(o)
		}
		v.Causes = diagnosis.AddHints(v.Causes, diagnosis.ExplainEvents(o.Events, o.Set.CreatedAt), targets)
	}
	if slow, ok := diagnosis.ExplainSlowStart(v.Counts.Running, v.Counts.Pending, v.Counts.Desired); ok &&
		v.State == Stalling && len(v.Causes) == 0 {
		v.Causes = append(v.Causes, slow)
	}
	if len(v.Causes) > 0 {
		v.Cause = v.Causes[0]
	}
	v.Next = adviceAfter(v)
	return v
}

// adviceAfter returns what to do after a wait that ended without success.
func adviceAfter(v Verdict) string {
	then := deployOrRollBack
	if v.State == Stalling {
		then = "or raise progressDeadline; " + then
	}
	switch {
	case v.State != Failing && v.State != Stalling:
		return ""
	case v.Cause.Kind == "":
		return readEvents + "; " + then
	}
	return v.Cause.NextStep(then)
}

func ownTargets(o Observation) []sluice.Target {
	return slices.DeleteFunc(slices.Clone(o.Targets), func(t sluice.Target) bool {
		return o.IsOwnTarget != nil && !o.IsOwnTarget(t.ID)
	})
}

// isComplete reports whether every desired task runs and its target is healthy. One task more than
// desired is a replacement: ECS is about to stop the task it replaces.
func (c Capacity) isComplete(o Observation, n Counts) bool {
	if o.Set == nil || n.Desired < c.minimum || n.Running != n.Desired || n.Pending > 0 {
		return false
	}
	if o.Targets == nil {
		return o.Set.Steady
	}
	return n.Healthy >= max(n.Desired, c.minimum)
}

// capacityInterval is short while changes are likely, and longer when a start takes long. A Fargate
// task runs after 20–60 s; its target is healthy one check later.
func (c Capacity) capacityInterval(o Observation) time.Duration {
	switch waited := o.At.Sub(c.progressAt); {
	case waited < 20*time.Second:
		return 2 * time.Second
	case waited < 2*time.Minute:
		return 3 * time.Second
	default:
		return 5 * time.Second
	}
}

func detailText(o Observation, n Counts) string {
	if o.Set == nil {
		return "no task set"
	}
	text := fmt.Sprintf("%d of %d tasks running", n.Running, n.Desired)
	if o.Targets != nil {
		text += fmt.Sprintf(", %d healthy in the target group", n.Healthy)
		if n.Unhealthy > 0 {
			text += fmt.Sprintf(" (%d unhealthy: %s)", n.Unhealthy, unhealthyReason(o))
		}
	}
	return text
}

func unhealthyReason(o Observation) string {
	for _, t := range o.Targets {
		if t.State == "unhealthy" && (o.IsOwnTarget == nil || o.IsOwnTarget(t.ID)) {
			return t.Description
		}
	}
	return ""
}
