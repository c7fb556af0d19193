package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
)

// polling stores how the service changes, which determines the time of the next poll.
type pace struct {
	print   string    // of the last poll: everything that counts as a change
	changed time.Time // when the fingerprint last changed
	moved   time.Time // when the last progress was seen
	best    int       // most progress since the direction was last set
	heading string    // desired count, deployment, rolling back or not: a change resets the score
}

// noteProgress stores what changed and what progressed since the last poll.
func (r *Rollout) walk(o Observation) {
	s := o.Service
	if s == nil {
		return
	}
	if print := r.printOf(s); print != r.print {
		r.print, r.changed = print, o.At
	}
	heading := fmt.Sprint(s.Desired, " ", r.rolling, " ", r.id, " ", r.milestone())
	score := r.score(s)
	if heading != r.heading || score > r.best {
		r.heading, r.best, r.moved = heading, score, o.At
	}
}

// milestoneText changes when the deployment enters another state, stage or traffic step of its
// record.
func (r *Rollout) milestone() string {
	if r.lastRec == nil {
		return ""
	}
	return fmt.Sprint(r.lastRec.Status, " ", r.lastRec.Stage, " ", r.lastRec.Weight)
}

// progressScore grows as tasks of the followed revision start and other tasks stop. In a rollback
// it is negated.
func (r *Rollout) score(s *Service) int {
	score := 0
	for _, d := range s.Deployments {
		score += worth(d.ID == r.id, d.Running)
	}
	for _, ts := range s.TaskSets {
		score += worth(ts.Revision == r.revision, ts.Running)
		if ts.Revision == r.revision && ts.Steady {
			score++
		}
	}
	if r.rolling {
		return -score
	}
	return score
}

func worth(ours bool, running int) int {
	if ours {
		return 2 * running
	}
	return -running
}

// fingerprintOf returns all values whose change makes further changes soon likely.
func (r *Rollout) printOf(s *Service) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.Status, s.Desired, s.Running, s.Pending, s.Current, r.milestone())
	for _, d := range s.Deployments {
		fmt.Fprintln(&b, d.ID, d.Status, d.State, d.Running, d.Pending, d.Failed)
	}
	for _, ts := range s.TaskSets {
		fmt.Fprintln(&b, ts.ID, ts.Status, ts.Running, ts.Pending, ts.Steady)
	}
	if len(s.Events) > 0 {
		fmt.Fprintln(&b, s.Events[0].ID, s.Events[0].At, s.Events[0].Message)
	}
	return b.String()
}

const (
	busy     = time.Second     // shortly after a change, and near an end
	calm     = 2 * time.Second // without changes: one read per two seconds and ten services
	idle     = 5 * time.Second // after a long time without changes
	busyFor  = 10 * time.Second
	calmFor  = 10 * time.Minute
	nearWait = 10 * time.Second
)

// nextPoll returns the time until the next poll. It is one second for a while after each change,
// since the scheduler acts in steps of up to ten seconds. It is also one second while a decision is
// near, and long after minutes without a change.
func (r *Rollout) next(now time.Time) time.Duration {
	wait := calm
	switch still := now.Sub(r.changed); {
	case r.over != nil:
		return 0
	case still < busyFor, r.near(now):
		wait = busy
	case still >= calmFor:
		wait = idle
	}
	if r.want.Timeout > 0 {
		wait = min(wait, max(r.want.Timeout-now.Sub(r.began), 0))
	}
	return wait
}

// changeExpected reports whether the state is doubtful and a poll within seconds decides it.
func (r *Rollout) near(now time.Time) bool {
	for _, at := range []time.Time{r.since.missing, r.since.lagging, r.since.ended, r.since.torn, r.since.none} {
		if !at.IsZero() && now.Sub(at) < nearWait {
			return true
		}
	}
	rec := r.lastRec
	return rec != nil && (rec.Status == "STOP_REQUESTED" || rec.Breaker.Threshold > 0 && rec.Breaker.Failures+1 >= rec.Breaker.Threshold && !rec.over() && now.Sub(r.changed) < time.Minute)
}

// checkLimits ends a wait that AWS does not end.
func (r *Rollout) limits(o Observation) *ending {
	s := o.Service
	if s != nil && hold(&r.since.none, s.Desired == 0 && s.Status == "ACTIVE" && !r.want.Empty, o.At) >= confirm {
		return r.scaledAway(s)
	}
	if s != nil && r.bound {
		for _, c := range signsIn(s.Events, r.created) {
			if c.Kind == NoRoom && r.needsRoom(s) {
				return &ending{outcome: sluice.Stalled, why: "AWS can neither stop nor start a task", cause: &c}
			}
		}
	}
	if r.want.Timeout > 0 && o.At.Sub(r.began) >= r.want.Timeout {
		return &ending{outcome: sluice.TimedOut, why: fmt.Sprintf("%s passed", r.want.Timeout)}
	}
	waits := r.lastRec != nil && r.lastRec.awaiting() != nil
	if r.want.Deadline > 0 && !waits && o.At.Sub(r.moved) >= r.want.Deadline {
		return &ending{outcome: sluice.Stalled, why: fmt.Sprintf("nothing moved for %s", r.want.Deadline)}
	}
	return nil
}

// needsTaskChange reports whether the followed deployment is in progress and still has tasks to
// start or to stop. A rollback of a version that never got a task has none: ECS's events about that
// version are no reason to end the rollback.
func (r *Rollout) needsRoom(s *Service) bool {
	d := r.mine(s)
	if d == nil || d.State != "IN_PROGRESS" {
		return false
	}
	others := slices.ContainsFunc(s.Deployments, func(x Deployment) bool { return x.ID != d.ID && x.Running+x.Pending > 0 })
	return others || d.Running != d.Desired
}
