package rehearse

import (
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// Case is one rehearsal, whole.
type Case struct {
	Says  []string // what it is about, a sentence per line
	Seed  uint64   // of every draw of the world
	World World
	Old   string // how the version that serves behaves, as options of an image: "latency=1s"
	New   string // how the new one does
	// Pipeline has a stage per line: "ECS_CANARY_ROLLOUT scale=50". None is quick
	// sync, or the rolling update of a service with controller ECS.
	Pipeline []string
	Breaker  bool          // a rolling service has ECS's circuit breaker with rollback
	Suspend  bool          // the files ask for suspendAutoScaling
	Before   string        // a task that is run before the stages, as options of its image
	After    string        // one after them; its failure rolls back if this begins with "rollback&"
	Job      Job           // in the place of a service
	Away     time.Duration // after each kill, until somebody goes on; 0: [restart]
	Outside  string        // onOutsideChange; empty is stop
	Deadline time.Duration // progressDeadline
	Faults   []string      // lines of awssim/fault, from the start of the deployment
	Hands    []Hand        // people, and others
	Kills    []Kill        // one process of sluice after the other
	Full     Full
	Codec    bool // through the wire's codec

	// Files and File are the user's own application, in the place of Pipeline.
	Files  fs.FS
	File   string
	Fails  string                      // the first of its steps before, or after, the stages fails: [stepBefore], [stepAfter]
	Lookup func(string) (string, bool) // of the environment, for files that ask for it; nil: there is none
	// Options of the plan.
	QuickSync bool
}

// Hand is what somebody does meanwhile: at a time after the start, after a stage has
// ended or a write was answered, or once CodeDeploy has begun a lifecycle event.
type Hand struct {
	At    time.Duration
	Stage int    // counted from 1; 0: by time
	Event string // "AllowTraffic"; empty: by time
	Write int    // of sluice, counted from 1; 0: by time
	Does  string
}

// What a [Hand] may do; words after these are its arguments.
const (
	Rollback      = "rollback"       // a person asks for it
	Abort         = "abort"          // likewise
	Pause         = "pause"          // likewise; resumed a minute later
	EditRule      = "edit-rule"      // <primary> <canary>: somebody sets the first rule's weights
	Scale         = "scale"          // <n>: somebody sets the desired count
	DeleteService = "delete-service" // somebody does
	TakeClaim     = "take-claim"     // another deployment puts its claim on the service
	Second        = "second"         // a second sluice, with a journal of its own, deploys the same
	ResumeScaling = "resume-scaling" // somebody resumes auto scaling
	TakeOut       = "take-out"       // <n>: somebody deregisters an instance of the name
	PutIn         = "put-in"         // somebody registers an address that is no task's
	PutBack       = "put-back"       // somebody, or ECS, registers a task of the name again that is not found
	SayUnwell     = "say-unwell"     // <n>: somebody tells Cloud Map that an instance of the name is UNHEALTHY
	ScaleCanary   = "scale-canary"   // <percent>: somebody scales the task set beside the one that serves
	DeleteCanary  = "delete-canary"  // likewise
	PromoteCanary = "promote-canary" // likewise
	TakeOver      = "take-over"      // a second sluice takes the service over, clears it and deploys the same
	Update        = "update"         // somebody updates the service (rolling: to the old revision)
	Continue      = "continue"       // from then on somebody lets CodeDeploy go on as soon as it waits
	StopShift     = "stop-shift"     // <0 or 1>: somebody stops CodeDeploy's deployment, without or with its rollback
	Alarm         = "alarm"          // the alarm is raised that CodeDeploy watches
	StopTask      = "stop-task"      // somebody stops a task that was run
	Register      = "register"       // somebody registers another revision of such a task
)

// String is the case as text; [Parse] reads it back. A case with a user's own
// files has none.
func (c Case) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, s := range c.Says {
		line("# %s", s)
	}
	line("seed %d", c.Seed)
	line("world %s", c.World.words())
	if c.Old != "" {
		line("old %s", c.Old)
	}
	if c.New != "" {
		line("new %s", c.New)
	}
	if c.Breaker {
		line("breaker")
	}
	if c.Suspend {
		line("suspends")
	}
	if c.byItself() {
		line("job %s", c.Job.words())
	}
	if c.Before != "" {
		line("task-before %s", c.Before)
	}
	if c.After != "" {
		line("task-after %s", c.After)
	}
	if c.Outside != "" {
		line("outside %s", c.Outside)
	}
	if c.Deadline != 0 {
		line("deadline %s", c.Deadline)
	}
	if c.Away != 0 {
		line("away %s", c.Away)
	}
	if c.Codec {
		line("codec")
	}
	for _, s := range c.Pipeline {
		line("stage %s", s)
	}
	for _, f := range c.Faults {
		line("fault %s", f)
	}
	for _, h := range c.Hands {
		line("%s", h)
	}
	for _, k := range c.Kills {
		line("%s", k)
	}
	if c.Full.Row > 0 {
		line("full row=%d for=%d", c.Full.Row, c.Full.For)
	}
	return b.String()
}

func (h Hand) String() string {
	switch {
	case h.Stage > 0 && h.At > 0:
		return fmt.Sprintf("after-stage %d+%s %s", h.Stage, h.At, h.Does)
	case h.Stage > 0:
		return fmt.Sprintf("after-stage %d %s", h.Stage, h.Does)
	case h.Write > 0:
		return fmt.Sprintf("after-write %d+%s %s", h.Write, h.At, h.Does)
	case h.Event != "":
		return fmt.Sprintf("at-event %s %s", h.Event, h.Does)
	}
	return fmt.Sprintf("at %s %s", h.At, h.Does)
}

func (k Kill) String() string {
	when, what := "before", "write"
	if k.After {
		when = "after"
	}
	if k.Row {
		what = "row"
	}
	return fmt.Sprintf("kill %s %s %d", when, what, k.N)
}
