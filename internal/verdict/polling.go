package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// polling stores how the service changes, which determines the time of the next poll.
type polling struct {
	fingerprint string        // of the last poll: everything that counts as a change
	changedAt   time.Time     // when the fingerprint last changed
	progressAt  time.Time     // when the last progress was seen
	bestScore   int           // most progress since the direction was last set
	direction   string        // desired count, deployment, rolling back or not: a change resets the score
	drainDelay  time.Duration // deregistration delay of the service's targets; 0: none, or not known
	drainRead   bool          // it was read, or cannot be read
	replacedAt  time.Time     // when a replaced task was last seen running
	drainEnds   time.Time     // before this time, targets of replaced tasks are still draining
}

// noteProgress stores what changed and what progressed since the last poll.
func (r *ServiceFollower) noteProgress(o Observation) {
	s := o.Service
	if s == nil {
		return
	}
	if print := fingerprintOf(s, r.lastRecord); print != r.pace.fingerprint {
		r.pace.fingerprint, r.pace.changedAt = print, o.At
	}
	heading := fmt.Sprint(s.Desired, " ", r.followed.rollingBack, " ", r.followed.id, " ", r.lastRecord.milestoneText())
	score := r.followed.progressScore(s)
	if heading != r.pace.direction || score > r.pace.bestScore {
		r.pace.direction, r.pace.bestScore, r.pace.progressAt = heading, score, o.At
	}
	trackSince(&r.since.restored, r.isRollback(s) && !r.isRestoring(s), o.At)
	r.pace.noteDrain(o, r.isReplacing(o.Service) || r.isRestoring(o.Service))
}

// noteDrain stores how long targets of the replaced tasks drain. The last of these tasks begins to
// drain after the last read that shows it running.
func (p *polling) noteDrain(o Observation, replacing bool) {
	if o.DrainRead {
		p.drainRead, p.drainDelay = true, o.DrainDelay
	}
	if replacing || p.replacedAt.IsZero() {
		p.replacedAt = o.At
	}
	if p.drainDelay > 0 {
		p.drainEnds = p.replacedAt.Add(p.drainDelay)
	}
}

// milestoneText changes when the deployment enters another state, stage or traffic step. It is empty
// without a record.
func (rec *Record) milestoneText() string {
	if rec == nil {
		return ""
	}
	return fmt.Sprint(rec.Status, " ", rec.Stage, " ", rec.Weight)
}

// progressScore grows as tasks of the followed revision start and other tasks stop. In a rollback
// it is negated.
func (b *binding) progressScore(s *Service) int {
	score := 0
	for _, d := range s.Deployments {
		score += runningScore(d.ID == b.id, d.Running)
	}
	for _, ts := range s.TaskSets {
		score += runningScore(ts.Revision == b.revision, ts.Running)
		if ts.Revision == b.revision && ts.Steady {
			score++
		}
	}
	if b.rollingBack {
		return -score
	}
	return score
}

func runningScore(ours bool, running int) int {
	if ours {
		return 2 * running
	}
	return -running
}

// fingerprintOf returns all values whose change makes further changes soon likely. The beginning of a
// drain is none: the drain takes its time.
func fingerprintOf(s *Service, rec *Record) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.Status, s.Desired, s.Running, s.Pending, s.Current, rec.milestoneText())
	for _, d := range s.Deployments {
		fmt.Fprintln(&b, d.ID, d.Status, d.State, d.Running, d.Pending, d.Failed)
	}
	for _, ts := range s.TaskSets {
		fmt.Fprintln(&b, ts.ID, ts.Status, ts.Running, ts.Pending, ts.Steady)
	}
	i := slices.IndexFunc(s.Events, func(e diagnosis.Event) bool { return !e.ReportsDrain() })
	if i >= 0 {
		fmt.Fprintln(&b, s.Events[i].ID, s.Events[i].At, s.Events[i].Message)
	}
	return b.String()
}

const (
	busyInterval = time.Second     // shortly after a change, and near an end
	calmInterval = 2 * time.Second // without changes: one read per two seconds and ten services
	idleInterval = 5 * time.Second // after a long time without changes, and while ECS shifts requests or bakes
	busyFor      = 10 * time.Second
	calmFor      = 10 * time.Minute
	decisionWait = 10 * time.Second
	// startInterval applies before a task of the followed deployment runs. It must start, become
	// healthy and replace another task first: no verdict is nearer than that.
	startInterval = 5 * time.Second
	// placeInterval applies once, when the deployment was just created: ECS places its tasks within ten seconds, and no
	// task runs before that.
	placeInterval = 10 * time.Second
	// replaceInterval applies while other deployments still have running tasks: they must stop first.
	replaceInterval = 3 * time.Second
	// The intervals below apply while ECS itself rolls a failed deployment back: even if all tasks
	// fail between two polls, the verdict waits for the end of the rollback.
	guardedStartInterval   = 8 * time.Second
	guardedReplaceInterval = 7 * time.Second
	// drainInterval applies while the targets of the last replaced tasks drain.
	drainInterval = 5 * time.Second
	// countingInterval applies while the circuit breaker counts failed tasks whose cause is known, and restoringInterval
	// while the tasks of the rollback start and stop. No verdict is nearer than the time that a stopping task takes to
	// be removed.
	countingInterval, restoringInterval = 8 * time.Second, 5 * time.Second
	// restoredInterval applies when a rollback only waits until the last failed task is removed: callers have the former
	// version already. It grows with that wait up to longestRestored, because the targets of these tasks may drain for
	// minutes. If any of them has run, the first poll comes after firstRestored: ECS completes a deployment in a step of its
	// scheduler, ten seconds apart, after the last drain.
	firstRestored, restoredInterval, longestRestored = 10 * time.Second, 4 * time.Second, 10 * time.Second
)

// nextPoll returns the time until the next poll. It is one second for a while after each change,
// since the scheduler acts in steps of up to ten seconds. It is also one second while a decision is
// near, and long after minutes without a change. It is longer while the new tasks start and replace
// the old ones without a failure, because the deployment cannot end before.
func (r *ServiceFollower) nextPoll(s *Service, now time.Time) time.Duration {
	wait := calmInterval
	switch still := now.Sub(r.pace.changedAt); {
	case r.conclusion != nil:
		return 0
	case r.changeExpected(s, now):
		wait = busyInterval
	case !r.since.uncounted.IsZero():
		wait = min(restoringInterval, max(maxReadLag-now.Sub(r.since.uncounted), 0))
	case r.hold.time > 0:
		wait = min(stableInterval, r.hold.time)
	case r.lastRecord.passesTime() && s.IsNative():
		wait = idleInterval
	case r.ecsBakes && s.Bake > 0:
		wait = min(idleInterval, max(s.Bake-now.Sub(r.since.ecsBakes), busyInterval))
	case r.breakerCounts(s):
		wait = countingInterval
	case r.isRestoring(s):
		wait = restoringInterval
	case r.isRollback(s):
		wait = r.restoredWait(s, now)
	case r.isStarting(s) && r.polls == 1 && r.want.FromStart && !s.breakerRollsBack():
		wait = placeInterval
	case r.isStarting(s):
		wait = guardedOr(s, guardedStartInterval, startInterval)
	case r.isReplacing(s):
		wait = guardedOr(s, guardedReplaceInterval, replaceInterval)
	case r.pace.drainDelay > 0 && r.hasReplaced(s):
		wait = min(drainInterval, max(r.pace.drainEnds.Sub(now), calmInterval))
	case still >= calmInterval && r.mustRunBeforeFailing(s):
		wait = calmInterval
	case still < busyFor:
		wait = busyInterval
	case still >= calmFor:
		wait = idleInterval
	}
	if end := r.Limit(); !end.IsZero() {
		wait = min(wait, max(end.Sub(now), 0))
	}
	return wait
}

// restoredWait returns the time until the next poll of a rollback whose failed tasks run no more.
func (r *ServiceFollower) restoredWait(s *Service, now time.Time) time.Duration {
	waited := now.Sub(r.since.restored)
	_, ran := r.failures.LongestLife()
	if waited < firstRestored && len(s.Deployments) > 1 && (ran || r.failures.Count() == 0) {
		return max(firstRestored-waited, restoredInterval)
	}
	return min(max(restoredInterval, now.Sub(r.pace.changedAt)/8), longestRestored)
}

// guardedOr returns the first interval if ECS rolls a failed deployment back, else the second.
func guardedOr(s *Service, guarded, other time.Duration) time.Duration {
	if s.breakerRollsBack() {
		return guarded
	}
	return other
}

// mustRunBeforeFailing reports whether no task of the followed deployment runs, and those that failed ran for as long as
// calmInterval before: a poll shows the next one while it runs.
func (r *ServiceFollower) mustRunBeforeFailing(s *Service) bool {
	if s == nil {
		return false
	}
	d := r.followed.deploymentIn(s)
	life, ran := r.failures.LongestLife()
	return d != nil && d.Running == 0 && ran && life >= calmInterval && !r.followed.rollingBack
}

// isReplacing reports whether ECS replaces tasks of other deployments, and nothing has failed.
func (r *ServiceFollower) isReplacing(s *Service) bool {
	return r.othersRun(s) && !s.IsNative()
}

// othersRun reports whether nothing has failed, and tasks of other deployments run.
func (r *ServiceFollower) othersRun(s *Service) bool {
	d := r.unfailedDeployment(s)
	return d != nil && slices.ContainsFunc(s.Deployments,
		func(x Deployment) bool { return x.ID != d.ID && x.Running > 0 })
}

// unfailedDeployment returns the followed deployment of ECS while it is in progress and nothing has failed, otherwise
// nil.
func (r *ServiceFollower) unfailedDeployment(s *Service) *Deployment {
	if s == nil || s.Controller != "ECS" || r.followed.rollingBack || r.failures.Count() > 0 {
		return nil
	}
	d := r.followed.deploymentIn(s)
	if d == nil || d.State != "IN_PROGRESS" || d.Failed > 0 {
		return nil
	}
	return d
}

// hasReplaced reports whether all tasks run, and no replaced task does. Their targets drain, and then
// they stop: ECS completes no deployment before that. It rolls back one that fails.
func (r *ServiceFollower) hasReplaced(s *Service) bool {
	d := r.unfailedDeployment(s)
	return d.hasStarted() && s.breakerRollsBack() && !s.IsNative() && !r.isReplacing(s) && len(s.Deployments) > 1
}

// isStarting reports whether no task of the followed deployment runs yet, beside those of other deployments. An own
// strategy of ECS has begun with its tasks by then.
func (r *ServiceFollower) isStarting(s *Service) bool {
	return r.othersRun(s) && r.followed.deploymentIn(s).Running == 0
}

// breakerCounts reports whether tasks have failed, the circuit breaker has counted them, and it will roll the deployment
// back. Failures that it does not count are judged here, and soon.
func (r *ServiceFollower) breakerCounts(s *Service) bool {
	if s == nil || !s.breakerRollsBack() || r.followed.rollingBack {
		return false
	}
	d, seen := r.followed.deploymentIn(s), r.failures.Leading().Count
	return d != nil && d.State == "IN_PROGRESS" && (d.Failed > 0 || seen > 0) && seen <= r.breakerCount.counted
}

// isRollback reports whether ECS rolls the followed deployment back, or restores it by a rollback.
func (r *ServiceFollower) isRollback(s *Service) bool {
	return s != nil && s.Controller == "ECS" && (r.followed.rollingBack || r.followsRestored(s))
}

// isRestoring reports whether ECS rolls the deployment back and still has tasks to start or to stop. A task that stops is
// removed seconds later, and a task that starts behind a load balancer is checked: the rollback does not end before.
func (r *ServiceFollower) isRestoring(s *Service) bool {
	if !r.isRollback(s) {
		return false
	}
	for _, d := range s.Deployments {
		if d.Status != "PRIMARY" && d.Running+d.Pending > 0 ||
			d.Status == "PRIMARY" && d.Running < s.Desired && len(s.Groups) > 0 {
			return true
		}
	}
	return false
}

// changeExpected reports whether the state is doubtful and a poll within seconds decides it.
func (r *ServiceFollower) changeExpected(s *Service, now time.Time) bool {
	for _, at := range []time.Time{r.since.missing, r.since.lagging, r.since.ended, r.since.inconsistent,
		r.since.noDesired} {
		if !at.IsZero() && now.Sub(at) < decisionWait {
			return true
		}
	}
	rec := r.lastRecord
	rollsBack := s != nil && s.breakerRollsBack() // then the threshold is not the end
	return rec != nil && (rec.Status == "STOP_REQUESTED" || rec.Breaker.Threshold > 0 && !rollsBack &&
		rec.Breaker.Failures+1 >= rec.Breaker.Threshold && !rec.isOver() && now.Sub(r.pace.changedAt) < time.Minute)
}

// lacksTasks reports whether no task is desired that would show whether a version works, the restored one too.
func (r *ServiceFollower) lacksTasks(s *Service) bool {
	return s != nil && s.Desired == 0 && s.Status == "ACTIVE" && !r.want.AllowsNoTasks
}

// checkLimits ends a wait that AWS does not end.
func (r *ServiceFollower) checkLimits(o Observation) *conclusion {
	s := o.Service
	if trackSince(&r.since.noDesired, r.lacksTasks(s), o.At) >= confirmAfter {
		return concludeNoTask(s.Name)
	}
	if s != nil && r.followed.bound {
		for _, c := range diagnosis.ExplainEvents(s.Events, r.followed.created) {
			if c.Kind == diagnosis.BlockedByConfig && r.followed.needsTaskChange(s) {
				return &conclusion{outcome: sluice.Stalled, why: "AWS can neither stop nor start a task", cause: &c}
			}
		}
	}
	if end := r.judgeUnusedGroup(o); end != nil {
		return end
	}
	if end := r.judgeRegistered(); end != nil {
		return end
	}
	if r.limit.isNear(o.At.Sub(r.began)) && !(r.limit.follows && r.hold.time > 0) {
		return &conclusion{outcome: sluice.TimedOut, why: r.limit.text()}
	}
	if r.isHeld() {
		r.pace.progressAt = o.At // the time counts from its end
	}
	waits := r.hold.time > 0 && r.followed.allTasksRun(s)
	if r.want.Deadline > 0 && !waits && o.At.Sub(r.pace.progressAt) >= r.want.Deadline {
		return &conclusion{outcome: sluice.Stalled, why: fmt.Sprintf("no progress for %s", r.want.Deadline)}
	}
	return nil
}

// isHeld reports whether no task has to start or stop before ECS goes on: a hook waits for an answer, ECS lets time pass,
// or it shifts requests back to a restored version whose tasks run all. The record of that one shows no stage.
func (r *ServiceFollower) isHeld() bool {
	return r.ecsBakes || r.shiftsBack || r.lastRecord != nil && r.lastRecord.holdsTasks()
}

// mayShiftBack reports whether ECS's own strategy may shift requests back to a restored version whose tasks run all.
func (r *ServiceFollower) mayShiftBack(s *Service, now time.Time) bool {
	shifts := s != nil && s.IsNative() && r.followsRestored(s) && r.followed.allTasksRun(s)
	since := trackSince(&r.since.shiftsBack, shifts, now)
	return since >= 0 && since < longestShiftBack
}

// longestShiftBack is how long a shift back may take: ECS moves all requests at once, behind a Network Load Balancer
// within ten minutes, and hooks of a rollback run before it.
const longestShiftBack = time.Hour

// needsTaskChange reports whether the followed deployment is in progress and still has tasks to
// start or to stop. A rollback of a version that never got a task has none: ECS's events about that
// version are no reason to end the rollback.
func (b *binding) needsTaskChange(s *Service) bool {
	d := b.deploymentIn(s)
	if d == nil || d.State != "IN_PROGRESS" {
		return false
	}
	others := slices.ContainsFunc(s.Deployments, func(x Deployment) bool {
		return x.ID != d.ID &&
			x.Running+x.Pending > 0
	})
	return others || d.Running != d.Desired
}
