package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// serviceState is the scheduler's private state of a service.
type serviceState struct {
	nextPass       world.Event // the next loop turn for the service
	passes         int
	eventCounts    []eventCount // changes since the last turn, reported together
	steadyReported bool         // the steady state was reported (controller ECS)
	stuckReported  bool         // a deployment that cannot continue was reported
	budget         startBudget

	// Of controller ECS:
	rules         Rules
	rollouts      []*Rollout     // oldest first
	failedSet     *world.TaskSet // rolled back; set to FAILED at the next turn
	failureReason string         // why
}

// setState is the scheduler's private state of a task set.
type setState struct {
	failedRounds     int       // rounds of starts in a row that failed before RUNNING
	epoch            int       // increases with each round and each success; tasks store it
	noStartBefore    time.Time // starts wait until then
	noPlaceReported  bool      // the lack of capacity was reported
	impairedReported bool      // starts that keep failing were reported
	roleReported     bool      // a role that cannot be assumed was reported
	kept             int       // tasks of a former deployment that its own revision replaces
	unplacedInRow    int       // attempts in a row that could not be placed

	failures       int  // counted by the circuit breaker
	reachedRunning bool // a task reached RUNNING: the circuit breaker's second stage
	wasHealthy     bool // a task was healthy

	stabilityChanges, visibleChange int // number of stability changes, and the newest one that the API returns
}

// taskState is the scheduler's private state of a task.
type taskState struct {
	nextStep      world.Event // the next step of its lifecycle
	targets       []*world.Target
	groupMissing  bool // a target group of its set does not exist
	waitsForDrain bool // waits until its targets are drained
	wasHealthy    bool // was healthy once
	epoch         int  // epoch of its set when it was started
	registration  registration
}

func stateOfService(s *world.Service) *serviceState {
	n, ok := s.SchedulerState.(*serviceState)
	if !ok {
		n = &serviceState{}
		s.SchedulerState = n
	}
	return n
}

func stateOfSet(ts *world.TaskSet) *setState {
	n, ok := ts.SchedulerState.(*setState)
	if !ok {
		n = &setState{}
		ts.SchedulerState = n
	}
	return n
}

func stateOfTask(t *world.Task) *taskState {
	n, ok := t.SchedulerState.(*taskState)
	if !ok {
		n = &taskState{}
		t.SchedulerState = n
	}
	return n
}
