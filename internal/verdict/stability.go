package verdict

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

const (
	// shortestStable and longestStable limit how long tasks must run after one has stopped by itself.
	shortestStable, longestStable = time.Minute, 5 * time.Minute
	// longLife is how long a task must have run to count as one that was stable. Its end says little about the others.
	longLife = 10 * time.Minute
	// longestNotice limits the time that is added for the health checks.
	longestNotice = 5 * time.Minute
	// stableInterval is the time between polls while only time can make the tasks stable.
	stableInterval = 5 * time.Second
)

// Stability judges whether tasks keep running, after some of them ran and then stopped by themselves. The rule is one
// for every mode: success is withheld until all tasks have run, without another death, for twice the longest life of a
// task that died, for 1 to 5 minutes, and for the time that a health check then takes to notice a failure. Then the
// deaths are forgotten. Tasks that AWS or a person stopped are no deaths. It is a value; the zero value has seen nothing.
type Stability struct {
	since  time.Time     // since when all tasks run without another death; zero: they do not
	needed time.Duration // how long they must; 0: no task has died
	checks HealthChecks
	deaths int
}

// HealthChecks is how long the health checks of a service take to notice that a task fails. They are read only after a
// task has stopped by itself.
type HealthChecks struct {
	Read   bool
	Notice time.Duration // the slowest of those of its target groups and containers; 0: nothing checks its tasks
}

// needsChecks reports whether tasks have died, the others run, and the health checks have not been read.
func (s Stability) needsChecks() bool { return s.needed > 0 && !s.since.IsZero() && !s.checks.Read }

// withChecks stores the health checks, if they were read.
func (s Stability) withChecks(c HealthChecks) Stability {
	if c.Read {
		s.checks = c
	}
	return s
}

// See adds a poll. died says whether this poll returned another death, complete whether all tasks run, and failures are
// those counted so far.
func (s Stability) See(now time.Time, died, complete bool, failures ...diagnosis.Failures) Stability {
	s.deaths, s.needed = 0, 0
	for _, f := range failures {
		s.deaths += f.Count()
		if life, any := f.LongestLife(); any {
			s.needed = max(s.needed, stableTime(life)+min(s.checks.Notice, longestNotice))
		}
	}
	if died || !complete {
		s.since = time.Time{}
	}
	trackSince(&s.since, complete && !died, now)
	return s
}

// stableTime returns how long tasks must run after one of them has stopped after life.
func stableTime(life time.Duration) time.Duration {
	if life >= longLife {
		return shortestStable
	}
	return min(max(2*life, shortestStable), longestStable)
}

// Remaining returns how long the tasks must still run; 0: no task has died, or they have been stable since.
func (s Stability) Remaining(now time.Time) time.Duration {
	if s.needed == 0 {
		return 0
	}
	if s.since.IsZero() {
		return s.needed
	}
	return max(s.needed-now.Sub(s.since), 0)
}

// isOver reports whether tasks have died, and the others have been stable since.
func (s Stability) isOver(now time.Time) bool { return s.needed > 0 && s.Remaining(now) == 0 }

// Text says what success waits for; empty: for nothing.
func (s Stability) Text(now time.Time) string {
	if s.Remaining(now) == 0 {
		return ""
	}
	by := " stopped by itself"
	if s.deaths > 1 {
		by = " stopped by themselves"
	}
	return fmt.Sprintf("%s%s: success needs %s without another", sluice.Plural(s.deaths, "task"), by,
		s.needed.Round(time.Second))
}
