package verdict

import (
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

// Observation is the result of one poll: of a task set for package health, of a service for
// [ServiceFollower].
type Observation struct {
	At           time.Time           // clock of this process; for [ServiceFollower], when the read was sent
	Targets      []sluice.Target     // of its target groups; nil without a load balancer, or unread
	Registered   []GroupCount        // of the target groups whose targets were read
	NewlyStopped []diagnosis.Stopped // tasks that were returned for the first time
	StoppedRead  bool                // the stopped tasks were read

	// Of a task set.
	Set         *sluice.TaskSet
	IsOwnTarget func(id string) bool // which targets are tasks of this set; nil: unknown
	Events      []diagnosis.Event    // of its service, newest first
	Stopping    int                  // tasks that still count as running, although ECS has told them to stop

	// Of a service. Fields that [ServiceFollower.Needs] did not request may be empty.
	Service   *Service // nil: there is none
	Records   []Record
	Logs      []diagnosis.Log
	Unread    []string // what could not be read, and why
	Past      Past     // the history of a revision that has not appeared
	NoHistory bool     // the history of deployments cannot be read

	DrainRead  bool          // the deregistration delay was read, or cannot be read
	DrainDelay time.Duration // of the target group with the shortest one

	Check  diagnosis.Check // of its target group, read when the wait is about to end
	Pace   Pace            // how long the parts of a deployment take
	Checks HealthChecks    // how long they take to notice a failure

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
	Outcome     sluice.Outcome // empty while progressing
	Parts       []string       // what the deployment does, the counts of its tasks first; Detail is these while progressing
	RollingBack string         // the one of Parts that says that ECS rolls it back; empty: it does not
	Withheld    string         // what withholds a success that AWS reports; empty: nothing
	Revision    string         // family:revision that is waited for
	Deployment  string         // ARN of its service deployment, otherwise "ecs-svc/<digits>"; empty before it appears
	By          string         // revision rolled back to, or superseded by
	NoTasks     bool           // [sluice.Gone] because the desired count is 0; false: the service does not exist
	Callers     Callers        // of an end: whether requests reach the service; empty: not read
}

// WithPart returns the verdict with another part of what the deployment does.
func (v Verdict) WithPart(text string) Verdict {
	v.Detail += "; " + text
	v.Parts = append(slices.Clip(v.Parts), text)
	return v
}

// Callers says whether requests reach a service.
type Callers string

const (
	CallersServed Callers = "served" // every production rule leads to a target group that can serve
	CallersNone   Callers = "none"   // no rule of its load balancer sends requests to its target groups
)

// Counts are the numbers of a verdict.
type Counts struct {
	Desired, Pending, Running   int
	Healthy, Draining, Targets  int
	Unhealthy, Initial, Stopped int
}
