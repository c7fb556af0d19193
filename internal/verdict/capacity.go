package verdict

import (
	"fmt"
	"math"
	"time"

	"github.com/sluice-ecs/sluice"
)

// State is where a verdict stands.
type State string

const (
	Progressing State = "progressing"
	Healthy     State = "healthy"
	Failing     State = "failed"  // repeated failures of one cause
	Stalling    State = "stalled" // nothing moved until the deadline
	Ended       State = "ended"   // the Outcome says how; of a [Rollout]
)

// Observation is one look: at a task set for [Capacity], at a service for
// [Rollout].
type Observation struct {
	At      time.Time       // our clock
	Targets []sluice.Target // of its target groups; nil without a load balancer, or unread

	// Of a task set.
	Set     *sluice.TaskSet
	Mine    func(id string) bool // which targets are tasks of this set; nil: cannot be told
	Stopped []sluice.StoppedTask // stopped since the last look

	// Of a service. What [Rollout.Needs] did not ask for may be left out.
	Service *Service // nil: there is none
	Records []Record
	Fallen  []Stopped // told for the first time
	Logs    []Log
	Unread  []string // what could not be read, and why
	Past    Past     // what was found of a revision that has not appeared
	Blind   bool     // the history of deployments cannot be read at all

	Code CodeLook // of a CodeDeploy deployment, for [BlueGreen]
}

// Past is what the history of a service tells of a revision, once it was read.
type Past struct {
	Read bool
	ARN  string // of the newest service deployment that brought it; empty: none
}

// Verdict is the judgement so far.
type Verdict struct {
	State    State
	Cause    Cause  // of Failing; the leading one otherwise
	Detail   string // for people: "2 of 3 tasks running, 1 of 3 targets healthy"
	Counts   Counts
	NextLook time.Duration // from the observation; 0 once ended

	// Of a [Rollout].
	Outcome    sluice.Outcome // empty while progressing
	Revision   string         // family:revision that is waited for
	Deployment string         // ARN of its service deployment, else "ecs-svc/<digits>"; empty before it appears
	By         string         // revision rolled back to, or superseded by
	Causes     []Cause        // the leading one first
	Logs       []Log
	Unread     []string // what could not be read, and why
	Next       string   // what to do, one sentence
}

// Counts are the numbers behind a verdict.
type Counts struct {
	Desired, Pending, Running   int
	Healthy, Draining, Targets  int
	Unhealthy, Initial, Stopped int
}

// Cause is why tasks failed, with how often.
type Cause struct {
	Text  string // "exit code 1 (container web): Essential container in task exited"
	Count int
	Task  string // one of them

	Kind      CauseKind // of a [Rollout]
	Container string    // of the task, if one explains its end
	Revision  string    // family:revision of the task

	sign bool // told by an event or a target, not by a stopped task
}

// Capacity judges whether a task set has all the healthy tasks that it should
// have. Make one with [Await].
type Capacity struct {
	deadline  time.Duration // without progress
	failAfter int           // failures of one cause, with no healthy task between
	began     time.Time
	moved     time.Time // last progress
	last      Counts
	lastSteps int
	causes    map[string]Cause
	order     []string
	reached   int // most healthy tasks seen
	minimum   int
	sure      bool // one whole look is not enough
	confirmed bool // the last look and the one before were whole
	was       bool // the last look was whole
}

// FailAfter is how many failures of one cause end a wait.
const FailAfter = 3

// Await starts a judge. deadline is how long nothing may move; minimum is how
// many healthy tasks there must be at least, whatever the desired count says.
func Await(now time.Time, deadline time.Duration, minimum int) Capacity {
	return Capacity{deadline: deadline, failAfter: FailAfter, began: now, moved: now, causes: map[string]Cause{}, minimum: minimum}
}

// confirmWhole is how long after a first whole look the second comes.
const confirmWhole = 2 * time.Second

// Twice makes a judge that believes in health only when two looks in a row show
// it: AWS's answers may lag, and a task in a crash loop is healthy for a moment.
func (c Capacity) Twice() Capacity {
	c.sure = true
	return c
}

// Patient makes a judge that no number of failures ends, only the deadline: for
// what served before, since there is nothing else to return to, and ECS starts
// its tasks again.
func (c Capacity) Patient() Capacity {
	c.failAfter = math.MaxInt
	return c
}

// See adds an observation.
func (c Capacity) See(o Observation) (Capacity, Verdict) {
	n := count(o)
	c = c.blame(o)
	if c.progressed(n) {
		c.moved = o.At
	}
	c.last = n
	whole := c.whole(o, n)
	c.confirmed, c.was = whole && c.was, whole
	if n.Healthy > c.reached {
		c.reached = n.Healthy
	}
	return c, c.judge(o, n)
}

func count(o Observation) Counts {
	n := Counts{Stopped: len(o.Stopped)}
	if o.Set != nil {
		n.Desired, n.Pending, n.Running = o.Set.Desired, o.Set.Pending, o.Set.Running
	}
	for _, t := range o.Targets {
		if o.Mine != nil && !o.Mine(t.ID) {
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

// progressed: more running or healthy tasks than ever before since the last
// change of what is desired. Tasks that come and go are no progress.
func (c *Capacity) progressed(n Counts) bool {
	steps := n.Running + 2*n.Healthy
	if n.Desired != c.last.Desired {
		c.lastSteps = steps
		return true
	}
	if steps > c.lastSteps {
		c.lastSteps = steps
		return true
	}
	return false
}

// blame counts failures by cause; a task that got healthy since forgives them.
func (c Capacity) blame(o Observation) Capacity {
	causes := make(map[string]Cause, len(c.causes))
	for k, v := range c.causes {
		causes[k] = v
	}
	if n := count(o); n.Healthy > c.reached {
		clear(causes)
		c.order = nil
	}
	for _, t := range o.Stopped {
		text, ok := CauseOf(t)
		if !ok {
			continue
		}
		if _, seen := causes[text]; !seen {
			c.order = append(c.order[:len(c.order):len(c.order)], text)
		}
		causes[text] = Cause{Text: text, Count: causes[text].Count + 1, Task: t.ID}
	}
	c.causes = causes
	return c
}

// leading is the most frequent cause, the first of equals.
func (c Capacity) leading() Cause {
	var best Cause
	for _, text := range c.order {
		if k := c.causes[text]; k.Count > best.Count {
			best = k
		}
	}
	return best
}

func (c Capacity) judge(o Observation, n Counts) Verdict {
	v := Verdict{State: Progressing, Cause: c.leading(), Counts: n, Detail: detail(o, n), NextLook: c.next(o)}
	switch {
	case v.Cause.Count >= c.failAfter:
		v.State = Failing
	case c.whole(o, n) && !c.sure || c.confirmed:
		v.State = Healthy
	case c.whole(o, n):
		v.NextLook = confirmWhole
	case o.At.Sub(c.moved) >= c.deadline:
		v.State = Stalling
	}
	return v
}

// whole: every task that the set should have is running and its target healthy. One
// more than it should have is a replacement: ECS has given up the one beside it.
func (c Capacity) whole(o Observation, n Counts) bool {
	if o.Set == nil || n.Desired < c.minimum || n.Running != n.Desired || n.Pending > 0 {
		return false
	}
	if o.Targets == nil {
		return o.Set.Steady
	}
	return n.Healthy >= max(n.Desired, c.minimum)
}

// next: look often while things are likely to change, less often when a start
// takes long. A Fargate task takes 20–60 s to run; its target one check more.
func (c Capacity) next(o Observation) time.Duration {
	switch waited := o.At.Sub(c.moved); {
	case waited < 20*time.Second:
		return 2 * time.Second
	case waited < 2*time.Minute:
		return 3 * time.Second
	default:
		return 5 * time.Second
	}
}

func detail(o Observation, n Counts) string {
	if o.Set == nil {
		return "no task set"
	}
	text := fmt.Sprintf("%d of %d tasks running", n.Running, n.Desired)
	if o.Targets != nil {
		text += fmt.Sprintf(", %d healthy in the target group", n.Healthy)
		if n.Unhealthy > 0 {
			text += fmt.Sprintf(" (%d unhealthy: %s)", n.Unhealthy, why(o))
		}
	}
	return text
}

func why(o Observation) string {
	for _, t := range o.Targets {
		if t.State == "unhealthy" && (o.Mine == nil || o.Mine(t.ID)) {
			return t.Description
		}
	}
	return ""
}
