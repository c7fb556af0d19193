package verdict

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// Needs lists what else to read of a service at a poll.
type Needs struct {
	Records      []string // ARNs of service deployments
	StoppedTasks bool     // tasks that stopped since the last read
	Targets      []string // ARNs of target groups whose health to read
	Pace         bool     // how long the parts of a deployment take
	Checks       bool     // how long the health checks take to notice a failure
	Check        string   // ARN of a target group whose health check to read
	Drain        []string // ARNs of target groups whose deregistration delay to read
	History      string   // family:revision whose newest service deployment to find and read
}

// NeededLogs returns which logs to read to explain the verdict: the last lines of a failed
// container, once for each cause.
func (r ServiceFollower) NeededLogs() []diagnosis.Stopped { return r.failures.NeededLogs() }

// Any reports whether anything has to be read.
func (n Needs) Any() bool {
	return len(n.Records)+len(n.Targets)+len(n.Drain)+len(n.Check) > 0 || n.StoppedTasks || n.Pace || n.Checks || n.History != ""
}

// readState stores what was read, and when to read again.
type readState struct {
	listStates        string    // statesOf the service when the record was last read
	recordDue         time.Time // when to read the record again; zero: only after a change
	stoppedDue        time.Time // when to read the stopped tasks again; zero: only after a failure
	stoppedDueAgain   time.Time // when to read them once more after that
	stoppedReadAt     time.Time // when the stopped tasks were read last
	rollbackAt        time.Time // when the rollback was first seen
	failedThen        int       // tasks that ECS had counted as failed when the stopped tasks were read last
	starts            int       // tasks that ECS had started when the stopped tasks were read because of them
	checksTargets     bool      // tasks were missing when AWS reported success, or the version serves: targets must be healthy
	isSuspect         bool      // a task was replaced since the first poll, and the next read tells why
	groupReadAt       time.Time // when target health was read last
	probedFingerprint string    // the fingerprint at which target health was read because nothing changed

	targets []sluice.Target // that were read last
}

const (
	// rereadAfter and rereadAgainAfter allow for AWS's responses, which lag, and for failed tasks,
	// which take seconds to stop.
	rereadAfter, rereadAgainAfter = 5 * time.Second, 20 * time.Second
	// stageInterval applies to native strategies: only the record contains their lifecycle stages.
	stageInterval = 10 * time.Second
	// scaleUpInterval is stageInterval while ECS starts the tasks.
	scaleUpInterval = 30 * time.Second
	// See [ServiceFollower.overdueAfter].
	overdueAfter, overdueRollbackAfter = 15 * time.Second, time.Minute
)

// Needs returns what to read after s was read, and before [ServiceFollower.See]. It is empty as
// long as the service does not change.
func (r ServiceFollower) Needs(s *Service, now time.Time) Needs {
	if s == nil || r.conclusion != nil {
		return Needs{}
	}
	var n Needs
	if s.Controller != "EXTERNAL" && !r.noHistory {
		n.Records = r.neededRecords(s, now)
		n.History = r.neededHistory(now)
	}
	n.StoppedTasks = r.needsStopped(s, now)
	if len(s.Groups) > 0 && (n.StoppedTasks && sawUnhealthyTarget(r.last, s) || r.isOverdue(s, now) ||
		r.reads.checksTargets && r.followed.allTasksRun(s) || r.isNearEnd(now) || r.needsGroup(s, now)) {
		n.Targets = s.Groups
	} else if r.needsRegistered(s, now) || r.isNearEnd(now) {
		n.Targets = r.servingGroups(s)
	}
	if r.needsDrain(s) || r.isNearEnd(now) && !r.pace.drainRead {
		n.Drain = s.Groups
	}
	fails := r.failures.Count() > 0 && r.failures.Leading().FailsCheck() && r.check == (diagnosis.Check{})
	if groups := r.servingGroups(s); (fails || r.isNearEnd(now)) && len(groups) > 0 {
		n.Check = groups[0]
	}
	n.Pace = r.limit.needsPace(now.Sub(r.began))
	n.Checks = r.stability.needsChecks()
	return n
}

// isNearEnd reports whether this poll reaches a limit. Then everything is read that explains why the deployment has not
// ended.
func (r ServiceFollower) isNearEnd(now time.Time) bool {
	return !r.want.ReadOnce && (r.limit.isNear(now.Sub(r.began)) ||
		r.want.Deadline > 0 && now.Sub(r.pace.progressAt) >= r.want.Deadline)
}

// needsDrain reports whether to read how long targets drain: once, when no replaced task runs any more.
func (r ServiceFollower) needsDrain(s *Service) bool {
	return !r.pace.drainRead && !r.want.ReadOnce && r.hasReplaced(s)
}

// neededHistory returns the revision if it has not appeared for as long as AWS's responses may lag.
// Then one search of the history checks whether it was deployed before and replaced.
func (r ServiceFollower) neededHistory(now time.Time) string {
	if r.followed.bound || r.historyRead || r.since.unseen.IsZero() || now.Sub(r.since.unseen) <= maxReadLag {
		return ""
	}
	return r.want.Revision
}

// neededRecords returns the ARN of the followed deployment when the list of deployments changed. It
// adds the current deployment if that is another one.
func (r ServiceFollower) neededRecords(s *Service, now time.Time) []string {
	if r.followsRestored(s) || r.isJustBegun(s) {
		return nil // the record is of the deployment that failed, or shows nothing yet
	}
	var arns []string
	due := statesOf(s) != r.reads.listStates || !r.since.uncounted.IsZero() || r.isRecordDue(s, now)
	due = due && !r.rollbackGoesOn(s)
	mine := r.followed.arn
	if !r.followed.bound && r.want.Deployment != "" {
		b := r.followed
		b.chooseNamed(r.want.Deployment, s)
		mine = b.arn
	}
	if mine != "" && (due || r.lastRecord == nil || r.recordLags(s)) {
		arns = append(arns, mine)
	}
	if s.Current != "" && s.Current != mine && (due || !r.followed.bound) {
		arns = append(arns, s.Current)
	}
	return arns
}

// isRecordDue reports whether it is time to read the record again. While ECS starts the tasks, it shows no other stage.
func (r ServiceFollower) isRecordDue(s *Service, now time.Time) bool {
	due := r.reads.recordDue
	if d := r.followed.deploymentIn(s); d != nil && d.Running < d.Desired && r.lastRecord.startsTasks() {
		due = due.Add(scaleUpInterval - stageInterval)
	}
	return !r.reads.recordDue.IsZero() && !now.Before(due)
}

// rollbackGoesOn reports whether the record is of a rollback, and the list shows that it has not ended: then the record
// shows nothing else.
func (r ServiceFollower) rollbackGoesOn(s *Service) bool {
	p := s.primaryDeployment()
	return r.lastRecord != nil && r.lastRecord.isRollingBack() && !s.IsNative() && p != nil && p.State == "IN_PROGRESS"
}

// isJustBegun reports whether this is the first poll of a deployment that was just created and that the caller names.
// Its record shows nothing yet. What it shows of a rolling update follows only after a change of the list.
func (r ServiceFollower) isJustBegun(s *Service) bool {
	return r.last == nil && r.want.FromStart && s.findDeployment(r.want.Deployment) != nil
}

// followsRestored reports whether the wait is for the deployment that ECS's rollback restores, or has restored.
func (r ServiceFollower) followsRestored(s *Service) bool {
	p, id := s.primaryDeployment(), firstNonEmpty(r.followed.id, r.want.Deployment)
	return p != nil && p.ID == id && (isRollback(p) || s.rolledBackTo(id))
}

// statesOf returns the parts of the list that only the record explains.
func statesOf(s *Service) string {
	all := s.Current
	for _, d := range s.Deployments {
		all += "\n" + d.ID + " " + d.Status + " " + d.State + " " + d.Reason
	}
	for _, e := range s.Events {
		if containsAny(e.Message, []string{"rolling back", "deployment failed", "deployment completed", "alarm"}) {
			return all + "\n" + e.ID
		}
	}
	return all
}

// recordLags reports whether the list contains an end that the record does not contain yet.
func (r ServiceFollower) recordLags(s *Service) bool {
	if r.lastRecord == nil || r.lastRecord.isOver() && !r.since.lagging.IsZero() {
		return true
	}
	p := s.primaryDeployment()
	return !r.lastRecord.isOver() && p != nil && (p.State == "COMPLETED" || s.Current != r.followed.arn)
}

// furtherStopsAfter is the time between reads of stopped tasks while the circuit breaker counts on, and the cause is
// known: further tasks change the number only. In the rollback that follows they are read once, unless enough are known.
const furtherStopsAfter = 10 * time.Second

// needsStopped reports whether to read the stopped tasks: only if something indicates a failed
// task.
func (r ServiceFollower) needsStopped(s *Service, now time.Time) bool {
	if r.failures.Count() > 0 && r.followed.rollingBack && !s.IsNative() {
		return r.reads.stoppedReadAt.Before(r.reads.rollbackAt) && !r.failures.Reach(0)
	}
	if r.failures.Count() > 0 && r.breakerCounts(s) && now.Sub(r.reads.stoppedReadAt) < furtherStopsAfter {
		return false
	}
	isDue := !r.reads.stoppedDue.IsZero() && !now.Before(r.reads.stoppedDue)
	if !isDue && r.awaitsMoreFailures(s) {
		return false
	}
	if isDue || r.unreadStarts(s) > 0 && (r.last != nil || !r.followsRestored(s)) {
		return true
	}
	if r.last == nil {
		return sawFailureAtStart(s, r.want)
	}
	return r.followed.sawFailure(r.last, s)
}

// awaitsMoreFailures reports whether the cause is known, ECS has counted tasks as failed since the stopped tasks were
// read last, and all of them are too few to end the wait.
func (r ServiceFollower) awaitsMoreFailures(s *Service) bool {
	d, known := r.followed.deploymentIn(s), r.failures.Leading().Count
	if d == nil || known == 0 || s.hasBreaker() || d.Failed <= r.reads.failedThen {
		return false
	}
	return known+d.Failed-r.reads.failedThen < cmp.Or(max(r.want.FailAfter, 0), diagnosis.FailAfter)
}

// unreadStarts returns how many tasks ECS has started for the deployment, if that is more than are desired and than when
// the stopped tasks were last read: ECS has replaced a task. Otherwise it is 0.
func (r ServiceFollower) unreadStarts(s *Service) int {
	if n, desired := s.countStarts(r.followed.created); n > max(desired, r.reads.starts) {
		return n
	}
	return 0
}

// sawFailureAtStart reports whether the first poll indicates a failed task. The wait may begin in
// the middle of a deployment, unless FromStart: then no task can have failed before. A wait for the deployment that a
// rollback restored needs no task of the one that failed.
func sawFailureAtStart(s *Service, want Wanted) bool {
	p := s.primaryDeployment()
	restored := p != nil && s.rolledBackTo(p.ID)
	for _, d := range s.Deployments {
		if restored && p.ID == want.Deployment && d.ID != p.ID {
			continue
		}
		if d.State != "COMPLETED" && d.Failed > 0 || d.Running < d.Desired && !want.FromStart {
			return true
		}
	}
	for _, ts := range s.TaskSets {
		if !ts.Steady && ts.Status != "DRAINING" {
			return true
		}
	}
	return restored && p.ID != want.Deployment
}

// sawFailure reports whether the changes between two polls indicate a failed task.
func (b *binding) sawFailure(was, s *Service) bool {
	return sawFailureOf(was, s, func(d Deployment) bool { return d.ID == b.id }, func(ts sluice.TaskSet) bool {
		return ts.Revision == b.revision
	})
}

// sawFailureOf is sawFailure for the tasks of the deployments and task sets that are ours.
func sawFailureOf(was, s *Service, oursInList func(Deployment) bool, oursInSets func(sluice.TaskSet) bool) bool {
	fresh, begun := newEvents(was, s)
	if slices.ContainsFunc(fresh, diagnosis.Event.IsWorrying) {
		return true
	}
	grew, fell := false, false
	for _, d := range s.Deployments {
		old := was.findDeployment(d.ID)
		switch {
		case old == nil:
			grew = true
			continue
		case d.Failed > old.Failed:
			return true
		}
		ours := oursInList(d)
		grew = grew || d.Running+d.Pending > old.Running+old.Pending
		fell = fell || ours && (d.Running < old.Running || d.Running+d.Pending < old.Running+old.Pending)
	}
	for _, ts := range s.TaskSets {
		i := slices.IndexFunc(was.TaskSets, func(x sluice.TaskSet) bool { return x.ID == ts.ID })
		if i < 0 {
			grew = true
			continue
		}
		old, total := was.TaskSets[i], ts.Running+ts.Pending
		grew = grew || total > old.Running+old.Pending
		fell = fell || oursInSets(ts) && ts.Status != "DRAINING" &&
			(ts.Running < old.Running || total < old.Running+old.Pending)
	}
	return fell || begun && !grew
}

// newEvents returns the events since the last poll. begun is true if tasks were started.
func newEvents(was, s *Service) (fresh []diagnosis.Event, begun bool) {
	last := ""
	if len(was.Events) > 0 {
		last = was.Events[0].ID
	}
	for _, e := range s.Events {
		if e.ID == last {
			break
		}
		fresh = append(fresh, e)
		begun = begun || e.ReportsStart()
	}
	return fresh, begun
}

// sawUnhealthyTarget reports whether an event since the last poll says that a target is unhealthy. was
// is nil at the first poll.
func sawUnhealthyTarget(was, s *Service) bool {
	if was == nil {
		return false
	}
	fresh, _ := newEvents(was, s)
	return slices.ContainsFunc(fresh, diagnosis.Event.ReportsUnhealthyTarget)
}

// isOverdue reports whether all tasks have run for a while and the deployment is not completed.
func (r ServiceFollower) isOverdue(s *Service, now time.Time) bool {
	d := r.followed.deploymentIn(s)
	return d.hasStarted() && s.Running == d.Running &&
		r.pace.fingerprint != r.reads.probedFingerprint && now.Sub(r.pace.changedAt) >= r.overdueAfter(s) &&
		!now.Before(r.pace.drainEnds)
}

// overdueAfter returns how long all tasks may run without the deployment being completed before their targets are
// read. In a rollback they are those of the version that served all the time, and failed tasks take their time to be
// removed.
func (r ServiceFollower) overdueAfter(s *Service) time.Duration {
	if r.isRollback(s) {
		return overdueRollbackAfter
	}
	return overdueAfter
}

// noteReads stores what was read.
func (r *ServiceFollower) noteReads(o Observation) {
	s := o.Service
	if s == nil {
		return
	}
	if r.isJustBegun(s) {
		r.reads.listStates = statesOf(s)
		if s.IsNative() {
			r.reads.recordDue = o.At // the next poll reads it
		}
	}
	r.reads.noteRecord(o, r.want.FromStart)
	hurt := r.last == nil && sawFailureAtStart(o.Service, r.want) || r.last != nil &&
		r.followed.sawFailure(r.last, o.Service)
	if n := r.unreadStarts(s); n > 0 && r.last == nil && r.followsRestored(s) {
		r.reads.starts = n // of the deployment that failed
	} else if n > 0 {
		r.reads.starts, r.reads.isSuspect, hurt = n, r.last != nil, true
	}
	r.reads.noteStopped(o.At, hurt)
	if o.StoppedRead {
		r.reads.stoppedReadAt, r.reads.failedThen = o.At, 0
		if d := r.followed.deploymentIn(s); d != nil {
			r.reads.failedThen = d.Failed
		}
	}
	trackSince(&r.reads.rollbackAt, r.followed.rollingBack, o.At)
	r.reads.isSuspect = r.reads.isSuspect && !r.reads.stoppedDue.IsZero() && r.failures.Count() == 0
	if o.Targets != nil {
		r.reads.probedFingerprint, r.reads.targets, r.reads.groupReadAt = r.pace.fingerprint, o.Targets, o.At
	}
	r.last = s
}

// noteRecord stores when to read the record again, after o contains it. fromStart: the deployment was
// just created.
func (n *readState) noteRecord(o Observation, fromStart bool) {
	now := statesOf(o.Service)
	switch {
	case len(o.Records) == 0:
		return
	case fromStart && n.listStates == "":
		n.listStates = now // a record of a new deployment changes only with the list
	case now != n.listStates:
		n.listStates, n.recordDue = now, o.At.Add(rereadAfter)
	case !n.recordDue.IsZero() && !o.At.Before(n.recordDue):
		n.recordDue = time.Time{}
	}
	if o.Service.IsNative() && n.recordDue.IsZero() {
		n.recordDue = o.At.Add(stageInterval)
	}
}

// noteStopped stores when to read the stopped tasks again. hurt: the poll indicated a failed task.
func (n *readState) noteStopped(at time.Time, hurt bool) {
	switch {
	case hurt:
		n.stoppedDue, n.stoppedDueAgain = at.Add(rereadAfter), at.Add(rereadAgainAfter)
	case !n.stoppedDue.IsZero() && !at.Before(n.stoppedDue):
		n.stoppedDue, n.stoppedDueAgain = n.stoppedDueAgain, time.Time{}
	}
}

func containsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}
