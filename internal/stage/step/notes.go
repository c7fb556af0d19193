package step

import (
	"fmt"
	"slices"
	"sync"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// NoteDeleted notes a resource that a rollback cannot restore. It warns once.
func NoteDeleted(s *Step, what, arn string) {
	a := memory.DeletedResource{Kind: what, ARN: arn}
	if slices.Contains(s.DeletedResources, a) {
		return
	}
	s.DeletedResources = append(s.DeletedResources, a)
	s.EmitWarning("the %s was deleted during the deployment: it cannot be restored", a)
}

// EmitReasons emits why tasks fail, their last log lines, and which reads were denied.
func EmitReasons(s *Step, of sluice.Variant, v verdict.Verdict) {
	for _, k := range v.Causes {
		emitFailure(s, sluice.FailureSeen{Variant: of, Cause: k.Text, Count: k.Count, Task: k.Task})
	}
	for _, l := range v.Logs {
		for i, line := range l.Lines {
			if s.IsFirstTime(fmt.Sprint("log ", l.Task, " ", i, line)) {
				s.Host.Emit(sluice.Noted{Message: "log of " + l.Container + ": " + line, Log: l.Container})
			}
		}
	}
	for _, u := range v.Unread {
		if s.IsFirstTime("unread " + u) {
			s.EmitWarning("not read: %s", u)
		}
	}
}

// IsFirstTime reports whether it is called with this text for the first time.
func (s *Step) IsFirstTime(what string) bool {
	s.Emitted.mu.Lock()
	defer s.Emitted.mu.Unlock()
	if s.Emitted.reported[what] {
		return false
	}
	if s.Emitted.reported == nil {
		s.Emitted.reported = map[string]bool{}
	}
	s.Emitted.reported[what] = true
	return true
}

// HasReported reports whether [Step.IsFirstTime] was called with this text.
func (s *Step) HasReported(what string) bool {
	s.Emitted.mu.Lock()
	defer s.Emitted.mu.Unlock()
	return s.Emitted.reported[what]
}

// emitted holds the values that were emitted last, so that an event is emitted only on a change.
type emitted struct {
	mu             sync.Mutex      // of failures, reported and capacity: a wait for ECS runs next to its checks
	failures       map[string]int  // count of each cause
	reported       map[string]bool // see [Step.IsFirstTime]
	capacity       map[string]sluice.CapacityChanged
	Progress       string // what ECS was doing
	CanaryRevision string // its revision, under controller CODE_DEPLOY
	// percent of the traffic at the canary, under controller CODE_DEPLOY
	CanaryShare int
}

// EmitCapacity emits the counts of a variant, a task set or a deployment if they changed.
func (s *Step) EmitCapacity(c sluice.CapacityChanged) {
	if s.Emitted.changes(c) {
		s.Host.Emit(c)
	}
}

func (e *emitted) changes(c sluice.CapacityChanged) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	of := string(c.Variant) + " " + c.TaskSet
	if e.capacity[of] == c {
		return false
	}
	if e.capacity == nil {
		e.capacity = map[string]sluice.CapacityChanged{}
	}
	e.capacity[of] = c
	return true
}

// emitFailure emits an event when the count of a cause grows. Polls may show several causes in
// turn, so each cause has its own count. A lower count is a stale answer and is ignored.
func emitFailure(s *Step, f sluice.FailureSeen) {
	if s.Emitted.grows(f) {
		s.Host.Emit(f)
	}
}

func (e *emitted) grows(f sluice.FailureSeen) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	cause := string(f.Variant) + " " + f.Cause
	if e.failures[cause] >= f.Count {
		return false
	}
	if e.failures == nil {
		e.failures = map[string]int{}
	}
	e.failures[cause] = f.Count
	return true
}
