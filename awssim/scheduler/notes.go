package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// serviceState is the scheduler's private state of a service.
type serviceNotes struct {
	loop   world.Event // the next loop turn for the service
	loops  int
	tally  []tally // changes since the last turn, reported together
	steady bool    // the steady state was reported (controller ECS)
	stuck  bool    // a deployment that cannot continue was reported
	starts allowance

	// Of controller ECS:
	rules    Rules
	rollouts []*Rollout     // oldest first
	failing  *world.TaskSet // rolled back; set to FAILED at the next turn
	failure  string         // why
}

// setState is the scheduler's private state of a task set.
type setNotes struct {
	failed   int       // rounds of starts in a row that failed before RUNNING
	epoch    int       // increases with each round and each success; tasks store it
	heldTill time.Time // starts wait until then
	noPlace  bool      // the lack of capacity was reported
	impaired bool      // starts that keep failing were reported
	refused  bool      // a role that cannot be assumed was reported
	unplaced int       // attempts in a row that could not be placed

	failures int  // counted by the circuit breaker
	ran      bool // a task reached RUNNING: the circuit breaker's second stage
	proven   bool // a task was healthy

	judged, shown int // number of stability changes, and the newest one that the API returns
}

// taskState is the scheduler's private state of a task.
type taskNotes struct {
	next     world.Event // the next step of its lifecycle
	targets  []*world.Target
	astray   bool // a target group of its set does not exist
	draining bool // waits until its targets are drained
	proven   bool // was healthy once
	epoch    int  // epoch of its set when it was started
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
