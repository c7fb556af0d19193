package verdict

import (
	"time"

	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// Survival says whether a version works whose tasks nobody watched, by the tasks that AWS lists as stopped for about an
// hour: it does not if at least [diagnosis.FailAfter] of them failed with one cause, and none of its running tasks has
// outlived them. The zero value is a version that works.
type Survival struct {
	Cause  diagnosis.Cause // why its tasks failed; the zero Cause: too few did
	Needed time.Duration   // how long a task must run to outlive those that failed
	Oldest time.Time       // since when its oldest running task runs; zero: none does
	Works  bool

	failures diagnosis.Failures
	longest  time.Duration // the longest life of those that failed, also if they are too few
}

// FailedSince returns how many tasks failed since a time.
func (s Survival) FailedSince(at time.Time) int { return s.failures.CountSince(at) }

// JudgeSurvival judges a version at now. started are the times since when its running tasks run.
func JudgeSurvival(now time.Time, stopped []diagnosis.Stopped, events []diagnosis.Event, started []time.Time) Survival {
	failures := diagnosis.Failures{}.AddStopped(stopped, events)
	life, _ := failures.LongestLife()
	if !failures.Reach(diagnosis.FailAfter) {
		return Survival{Works: true, longest: life}
	}
	s := Survival{Cause: failures.Leading(), Needed: stableTime(life), failures: failures, longest: life}
	for _, at := range started {
		if !at.IsZero() && (s.Oldest.IsZero() || at.Before(s.Oldest)) {
			s.Oldest = at
		}
	}
	s.Works = !s.Oldest.IsZero() && now.Sub(s.Oldest) >= s.Needed
	return s
}

// IsOver reports whether enough tasks failed to end a wait, and the version has been stable since, by the rule of
// [Stability]: none has failed for the needed time and the notice of its health checks, and a task has run for longer
// than that, and than all that failed, unless one of them lived for longLife: such a version counts as stable. A loop of
// tasks that live for less is never over.
func (s Survival) IsOver(now time.Time, notice time.Duration) bool {
	needed := s.Needed + min(notice, longestNotice)
	if s.failures.Count() == 0 || s.failures.CountSince(now.Add(-needed)) > 0 || s.Oldest.IsZero() {
		return false
	}
	if s.longest < longLife {
		needed = max(needed, s.longest)
	}
	return now.Sub(s.Oldest) >= needed
}

// IsPast reports whether what failed before a wait does not count in it: a running task has outlived those that failed,
// or the version serves, and one of them had run for long enough to serve. Tasks that stop within a minute are seldom
// healthy together.
func (s Survival) IsPast(serves bool) bool {
	return s.Works && s.failures.Count() > 0 || serves && s.longest >= shortestStable
}

// SeemsToFail reports whether a read of a service is a reason to read its stopped tasks: fewer tasks run than are
// desired, or ECS has replaced tasks since it started those of the version that serves.
func (s *Service) SeemsToFail() bool {
	if s.Running < s.Desired {
		return true
	}
	started, desired := s.countStarts(time.Time{})
	return started > desired
}

// countStarts returns how many tasks ECS has started since a time, or since it began to start those of the version that
// serves, and how many are desired. More are replacements.
func (s *Service) countStarts(since time.Time) (started, desired int) {
	desired = s.Desired
	if p := s.primaryDeployment(); since.IsZero() && p != nil {
		since = p.CreatedAt
	}
	if p := s.primarySet(); s.Controller == "EXTERNAL" && p != nil {
		since, desired = p.CreatedAt, p.Desired
	}
	return diagnosis.CountStarts(s.Events, since), desired
}
