package verdict

import (
	"cmp"
	"fmt"
	"time"
)

// shortestLimit is the shortest hard limit of a wait whose caller gave none, and no other shortest one.
const shortestLimit = 10 * time.Minute

// Pace is how long the parts of a deployment take, as its service shows. It is read only when a limit that follows from
// it is near.
type Pace struct {
	Read  bool
	Start time.Duration // the slowest start of a running task
	Check time.Duration // until the load balancer calls a target healthy
	Drain time.Duration // the longest deregistration delay
}

// timeLimit is the hard limit of a wait. A limit that follows from the service is twice the time that its deployment
// takes by its pace, and at least the shortest one. Time that ECS or CodeDeploy lets pass by its configuration is added.
type timeLimit struct {
	fixed   time.Duration // of the caller; 0: none
	follows bool          // without one, the limit follows from the service
	least   time.Duration // of a limit that follows from the service
	bake    time.Duration
	pace    Pace
	rounds  int           // in which the tasks are replaced
	held    time.Duration // passed by configuration
	lastAt  time.Time
}

func newTimeLimit(w Wanted) timeLimit {
	return timeLimit{fixed: w.Timeout, follows: w.Timeout <= 0 && w.DefaultTimeout,
		least: cmp.Or(w.LeastTimeout, shortestLimit), bake: w.Bake, rounds: 1}
}

// see adds a poll. s may be nil. passes says whether time passes by configuration.
func (l timeLimit) see(o Observation, s *Service, passes bool) timeLimit {
	if passes && !l.lastAt.IsZero() {
		l.held += o.At.Sub(l.lastAt)
	}
	l.lastAt = o.At
	if s != nil {
		l.rounds = s.rounds()
	}
	if o.Pace.Read {
		l.pace = o.Pace
	}
	return l
}

// duration returns the limit; 0: there is none.
func (l timeLimit) duration() time.Duration {
	if l.fixed > 0 || !l.follows {
		return l.fixed
	}
	takes := time.Duration(l.rounds) * (l.pace.Start + l.pace.Check + l.pace.Drain)
	return (max(l.least, 2*takes) + l.bake + l.held).Round(time.Second)
}

// end returns when the limit of a wait passes; the zero time: never.
func (l timeLimit) end(began time.Time) time.Time {
	if l.duration() <= 0 {
		return time.Time{}
	}
	return began.Add(l.duration())
}

// isNear reports whether the limit has passed after waited.
func (l timeLimit) isNear(waited time.Duration) bool {
	return l.duration() > 0 && waited >= l.duration()
}

// needsPace reports whether the limit would pass, and the pace has not been read.
func (l timeLimit) needsPace(waited time.Duration) bool {
	return l.follows && !l.pace.Read && l.isNear(waited)
}

func (l timeLimit) text() string {
	return fmt.Sprintf("%s passed", l.duration())
}

// rounds returns in how many rounds ECS replaces the tasks of a rolling update, by minimumHealthyPercent and
// maximumPercent.
func (s *Service) rounds() int {
	if s.IsNative() || s.Controller != "ECS" || s.MaxPercent == 0 {
		return 1
	}
	spare := s.Desired*s.MaxPercent/100 - (s.Desired*s.MinPercent+99)/100
	return (s.Desired + max(spare, 1) - 1) / max(spare, 1)
}
