package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// serviceNotes are the scheduler's notes on a service.
type serviceNotes struct {
	loop   world.Event // when it looks at the service next
	loops  int
	tally  []tally // what happened since the last look, told together
	steady bool    // the steady state has been told (controller ECS)
	stuck  bool    // that a deployment cannot move has been told
	starts allowance

	// Of controller ECS:
	rules    Rules
	rollouts []*Rollout     // oldest first
	failing  *world.TaskSet // rolled back from, to be marked FAILED at the next look
	failure  string         // why
}

// setNotes are its notes on a task set.
type setNotes struct {
	failed   int       // rounds of starts in a row that failed before RUNNING
	epoch    int       // grows with each round and each success; tasks carry it
	heldTill time.Time // no start before
	noPlace  bool      // that no task can be placed has been told
	impaired bool      // that tasks do not start has been told
	refused  bool      // that a role cannot be assumed has been told
	unplaced int       // attempts in a row that found no place

	failures int  // that the circuit breaker has counted
	ran      bool // a task reached RUNNING: the circuit breaker's second stage
	proven   bool // a task was healthy

	judged, shown int // judgements of its stability, and the newest one that is shown
}

// taskNotes are its notes on a task.
type taskNotes struct {
	next     world.Event // the next step of its life
	targets  []*world.Target
	astray   bool // a target group of its set is not there
	draining bool // waits for its targets to be gone
	proven   bool // was healthy once
	epoch    int  // its set's when it was started
	record   record
}

func serviceNote(s *world.Service) *serviceNotes {
	n, ok := s.Law.(*serviceNotes)
	if !ok {
		n = &serviceNotes{}
		s.Law = n
	}
	return n
}

func setNote(ts *world.TaskSet) *setNotes {
	n, ok := ts.Law.(*setNotes)
	if !ok {
		n = &setNotes{}
		ts.Law = n
	}
	return n
}

func taskNote(t *world.Task) *taskNotes {
	n, ok := t.Law.(*taskNotes)
	if !ok {
		n = &taskNotes{}
		t.Law = n
	}
	return n
}
