package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
)

// pace is how things move, which says when to look again.
type pace struct {
	print   string    // of the last look: all that counts as a change
	changed time.Time // the print differed
	moved   time.Time // progress
	best    int       // most progress since the direction was last set
	heading string    // what the direction is: desired count, rolling back or not
}

// walk notes what changed and what is progress since the last look.
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

// milestone changes when AWS says that the deployment entered another part of
// its life.
func (r *Rollout) milestone() string {
	if r.lastRec == nil {
		return ""
	}
	return fmt.Sprint(r.lastRec.Status, " ", r.lastRec.Stage, " ", r.lastRec.Weight)
}

// score grows as tasks of the followed revision run and others leave; the other
// way round in a rollback.
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

// printOf is everything whose change makes it likely that more changes soon.
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
	busy     = time.Second     // shortly after a change, and close to an end
	calm     = 2 * time.Second // while nothing moves: one read per two seconds and ten services
	idle     = 5 * time.Second // after long
	busyFor  = 10 * time.Second
	calmFor  = 10 * time.Minute
	nearWait = 10 * time.Second
)

// next is when to look again: every second for a while after each change, as the
// scheduler acts in steps of up to ten seconds, and while an answer is expected;
// seldom once nothing has moved for long.
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

// near: something doubtful stands that a look within seconds decides.
func (r *Rollout) near(now time.Time) bool {
	for _, at := range []time.Time{r.since.missing, r.since.lagging, r.since.ended, r.since.torn, r.since.none} {
		if !at.IsZero() && now.Sub(at) < nearWait {
			return true
		}
	}
	rec := r.lastRec
	return rec != nil && (rec.Status == "STOP_REQUESTED" || rec.Breaker.Threshold > 0 && rec.Breaker.Failures+1 >= rec.Breaker.Threshold && !rec.over() && now.Sub(r.changed) < time.Minute)
}

// limits ends a wait that AWS does not end.
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

// needsRoom reports whether the followed deployment is under way and has tasks left to
// start or to stop. A rollback of a version that never got a task has none: what ECS
// said of that version is no reason to end it.
func (r *Rollout) needsRoom(s *Service) bool {
	d := r.mine(s)
	if d == nil || d.State != "IN_PROGRESS" {
		return false
	}
	others := slices.ContainsFunc(s.Deployments, func(x Deployment) bool { return x.ID != d.ID && x.Running+x.Pending > 0 })
	return others || d.Running != d.Desired
}
