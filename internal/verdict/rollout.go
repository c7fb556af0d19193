package verdict

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// Wanted describes what a wait is for. Without Revision and Deployment it is the deployment that is
// current at the first poll.
type Wanted struct {
	Revision string // family:revision that must serve
	// ARN or id of a service deployment, "ecs-svc/<digits>", a task set's ARN, or "d-XXXXXXXXX" of CodeDeploy
	Deployment string

	Inactive bool // the task definition of Revision was deregistered: no new deployment can use it

	AfterWrite Written // observations older than this write are skipped

	// JustStarted: a deployment of Revision was just started, perhaps of the revision that served before. A success
	// at the first poll may belong to the earlier one, so it is read for as long as AWS's responses may lag.
	JustStarted bool

	JustCreated     bool   // the CodeDeploy deployment was just created: the first poll waits
	FromStart       bool   // the ECS deployment was just created: no task of it can have failed before the first poll
	ExpectsRollback bool   // the CodeDeploy deployment was stopped with a rollback
	JustStopped     bool   // the caller has just stopped it, and knows why its tasks failed: the first poll waits
	Deploys         string // family:revision of the CodeDeploy deployment, if Revision is empty and the caller knows it
	EndsTermination bool   // the caller ends the wait of CodeDeploy before the replaced task set is deleted
	AnsweredHook    string // a hook that was answered before the wait: a record in which it waits is older
	AllowsNoTasks   bool   // the desired count may be 0: success of the deployment is enough
	AwaitsRelease   bool   // a success waits until no deployment of sluice has the service any more
	ReadOnce        bool   // single poll: read what would explain a failure immediately
	Serving         bool   // judge the running version, not a change: every task must run, other task sets may exist

	// Deaths are stopped tasks of the revision that another variant ran. They end no wait: a success waits until the
	// tasks are stable.
	Deaths []diagnosis.Stopped

	Bake    time.Duration // how long all tasks must have run, watched, before a success counts; 0: no time
	Timeout time.Duration // hard limit, from the first poll; 0: none
	// DefaultTimeout: without Timeout, the hard limit follows from the service, see [Pace]. It is at least
	// LeastTimeout; 0: 10 minutes.
	DefaultTimeout bool
	LeastTimeout   time.Duration
	Deadline       time.Duration // without progress; 0: none
	FailAfter      int           // failures of one cause since the tasks were last stable; 0: [diagnosis.FailAfter]
}

// BegunAgain returns the wanted end for a wait that begins again: the deployment is not new any more.
func (w Wanted) BegunAgain() Wanted {
	w.JustCreated, w.FromStart = false, false
	return w
}

// isEarlier reports whether a task is one of Deaths.
func (w Wanted) isEarlier(t diagnosis.Stopped) bool {
	return slices.ContainsFunc(w.Deaths, func(d diagnosis.Stopped) bool { return d.ID == t.ID })
}

const (
	// maxReadLag is how long AWS's responses may lag behind its writes. An end, a missing service
	// or a missing deployment counts only after that time.
	maxReadLag = 10 * time.Second
	// confirmAfter is when an end without success that the first poll already returned is read again before
	// it counts.
	confirmAfter = 3 * time.Second
	// rollsBackWithin is how long a failed deployment is read before the verdict is that no
	// rollback follows.
	rollsBackWithin = 30 * time.Second
)

// ServiceFollower judges whether a deployment of a service ends with the wanted revision serving.
// It is a value; make one with [FollowService].
type ServiceFollower struct {
	want  Wanted
	began time.Time // clock of this process, as all times here except created
	polls int

	followed binding    // the followed deployment
	since    conditions // since when doubtful states last
	failures diagnosis.Failures
	earlier  diagnosis.Failures // deaths of tasks of another variant
	breakerCount
	stability    Stability
	check        diagnosis.Check // of its target group; the zero value: not read
	registration Registration
	pace         polling
	reads        readState
	hold         hold // what withholds a success
	limit        timeLimit

	ecsBakes   bool // ECS may let the bake time of a rolling update pass
	shiftsBack bool // ECS may shift requests back to a restored version

	last        *Service
	lastRecord  *Record
	unread      []string
	wasActive   bool // the service was ACTIVE at a poll
	historyRead bool // the history was read for a revision that has not appeared
	noHistory   bool // the history of deployments cannot be read
	conclusion  *conclusion
}

// conditions stores since when each doubtful state has lasted; the zero time: it does not exist
// now.
type conditions struct {
	missing, unseen, ended, failed, lagging, noDesired, allRunning, inconsistent, uncounted, baking, unused, ecsBakes,
	shiftsBack, old, setsStay, canaryLeft, restored time.Time
}

// trackSince stores in at since when so is true, and returns for how long. It returns -1 if so is
// false.
func trackSince(at *time.Time, so bool, now time.Time) time.Duration {
	if !so {
		*at = time.Time{}
		return -1
	}
	if at.IsZero() {
		*at = now
	}
	return now.Sub(*at)
}

// conclusion is how a deployment ended.
type conclusion struct {
	outcome sluice.Outcome
	by      string
	why     string // AWS's reason, or that of this package
	next    string
	thenDo  string           // what follows the advice about the leading cause
	cause   *diagnosis.Cause // takes precedence over the counted causes

	noTasks    bool // the desired count is 0
	isReplaced bool // a newer deployment replaces the tasks already
}

// FollowService starts a judge. The hard limit counts from now.
func FollowService(now time.Time, w Wanted) ServiceFollower {
	return ServiceFollower{want: w, began: now, limit: newTimeLimit(w), pace: polling{changedAt: now, progressAt: now},
		reads: readState{checksTargets: w.Serving}, earlier: diagnosis.Failures{}.AddStopped(w.Deaths, nil).KeepDeaths(nil)}
}

// Record returns the service deployment's record, as read last; nil: there is none, or it was not read.
func (r ServiceFollower) Record() *Record { return r.lastRecord }

// Limit returns when the wait reaches its hard limit; the zero time: never.
func (r ServiceFollower) Limit() time.Time { return r.limit.end(r.began) }

// Began returns when the wait began.
func (r ServiceFollower) Began() time.Time { return r.began }

// See adds an observation. After the end it only adds explanations.
func (r ServiceFollower) See(o Observation) (ServiceFollower, Verdict) {
	if r.isOld(o) {
		v := r.skipObservation(o)
		return r, v
	}
	r.recordObservation(o)
	if r.conclusion == nil {
		r.conclusion = r.findConclusion(o)
		r.noteProgress(o)
	}
	v := r.buildVerdict(r.withLastTargets(o))
	r.noteReads(o)
	return r, v
}

// withLastTargets adds the targets that were read last to a poll that read none, so that what they show is told on
// while the deployment goes on and nothing changes. They decide nothing.
func (r *ServiceFollower) withLastTargets(o Observation) Observation {
	if o.Targets == nil && r.conclusion == nil && r.pace.fingerprint == r.reads.probedFingerprint &&
		o.At.Sub(r.reads.groupReadAt) <= 2*unusedInterval {
		o.Targets = r.reads.targets
	}
	return o
}

// TimeOut ends the wait at its hard limit without another observation, because reads fail. why may
// be empty.
func (r ServiceFollower) TimeOut(now time.Time, why string) (ServiceFollower, Verdict) {
	if r.conclusion == nil {
		r.conclusion = &conclusion{outcome: sluice.TimedOut,
			why: strings.TrimSuffix(r.limit.text()+"; "+why, "; ")}
	}
	return r, r.buildVerdict(Observation{At: now, Service: r.last})
}

// recordObservation stores what does not depend on the verdict.
func (r *ServiceFollower) recordObservation(o Observation) {
	r.polls++
	r.noHistory = r.noHistory || o.NoHistory
	r.unread = diagnosis.NoteUnread(r.unread, o.Unread...)
	for _, l := range o.Logs {
		r.unread = diagnosis.NoteUnread(r.unread, l.Unread())
	}
	if o.Service == nil {
		if r.last != nil {
			r.failures = r.failures.AddLogs(o.Logs, r.last.Events)
		}
		return
	}
	r.wasActive = r.wasActive || o.Service.Status == "ACTIVE"
	r.bindDeployment(o)
	r.followed.learnRevision(o.NewlyStopped)
	if rec := r.followed.recordIn(o); rec != nil {
		r.followed.endedAtFirst = r.followed.endedAtFirst || r.lastRecord == nil && rec.isOver()
		r.lastRecord = rec.withoutHook(r.want.AnsweredHook)
	}
	r.ecsBakes, r.shiftsBack = r.mayBake(o.Service, o.At), r.mayShiftBack(o.Service, o.At)
	r.limit = r.limit.see(o, o.Service, r.passesTime())
	r.noteRegistered(o)
	if o.Check != (diagnosis.Check{}) {
		r.check = o.Check
	}
	died := r.addStopped(o)
	r.failures = r.failures.AddLogs(o.Logs, o.Service.Events)
	r.breakerCount = r.breakerCount.see(r.followed.deploymentIn(o.Service), r.lastRecord)
	if r.hasRecovered(o) {
		r.failures = r.failures.KeepDeaths(o.Service.Events)
	}
	r.stability = r.stability.withChecks(o.Checks).See(o.At, died, r.followed.allTasksRun(o.Service), r.failures, r.earlier)
	if r.stability.isOver(o.At) {
		r.failures, r.earlier, r.breakerCount.counted = r.failures.Reset(), r.earlier.Reset(), 0
	}
}

// addStopped counts the tasks that were returned for the first time. died: one of them failed since the wait began.
func (r *ServiceFollower) addStopped(o Observation) (died bool) {
	before, events, restoredAt := r.failures.Count(), o.Service.Events, o.Service.restoredAt(r.followed.id)
	var past, fresh []diagnosis.Stopped
	for _, t := range o.NewlyStopped {
		switch {
		case !r.followed.ownsTask(t) || r.want.isEarlier(t):
		case t.StoppedAt.Before(restoredAt): // of a version that served then, and that a rollback restores now
			past = append(past, t)
		default:
			fresh = append(fresh, t)
		}
	}
	if len(past) > 0 {
		r.earlier = r.earlier.AddStopped(past, events).KeepDeaths(events)
	}
	r.failures = r.failures.AddStopped(fresh, events)
	return r.failures.Count() > before
}

// ownsTask reports whether a task belongs to the followed deployment.
func (b *binding) ownsTask(t diagnosis.Stopped) bool {
	if b.id != "" && t.Deployment != "" && !b.external {
		return t.Deployment == b.id
	}
	return b.revision != "" && t.Revision == b.revision
}

// learnRevision takes the revision of a deployment that the list does not contain any more from its stopped tasks.
func (b *binding) learnRevision(tasks []diagnosis.Stopped) {
	for _, t := range tasks {
		if b.revision == "" && b.id != "" && t.Deployment == b.id {
			b.revision = t.Revision
		}
	}
}

// recordIn returns the followed deployment's record from the observation.
func (b *binding) recordIn(o Observation) *Record { return findRecord(o, b.arn) }

func findRecord(o Observation, arn string) *Record {
	for i := range o.Records {
		if arn != "" && o.Records[i].ARN == arn {
			return &o.Records[i]
		}
	}
	return nil
}

// findConclusion returns how the deployment ended; nil: it has not ended.
func (r *ServiceFollower) findConclusion(o Observation) *conclusion {
	if end := r.outcomeNow(o); end != nil {
		return end
	}
	return r.checkLimits(o)
}

// allTasksRun reports whether every desired task of the followed revision runs.
func (b *binding) allTasksRun(s *Service) bool {
	running, pending, wanted := b.servingNumbers(s)
	return running >= wanted && pending == 0
}

// hasSurplus reports whether more tasks of the followed revision run or start than are wanted, also in a canary that stays
// beside the PRIMARY task set. ECS starts the replacement of an unhealthy task before it stops that one.
func (b *binding) hasSurplus(s *Service) bool {
	if d := b.deploymentIn(s); d != nil && !b.external {
		return d.Running+d.Pending > s.Desired
	}
	return slices.ContainsFunc(s.TaskSets, func(ts sluice.TaskSet) bool {
		return ts.Revision == b.revision && ts.Status != "DRAINING" && ts.Running+ts.Pending > ts.Desired
	})
}

// wantedTasks returns how many tasks a success needs.
func (b *binding) wantedTasks(s *Service) int {
	_, _, wanted := b.servingNumbers(s)
	return wanted
}

// servingNumbers returns the counts of the tasks that a success needs: those of the service, or of the PRIMARY task set
// at its scale. A canary of the same revision may stay beside that one.
func (b *binding) servingNumbers(s *Service) (running, pending, wanted int) {
	if p := s.primarySet(); b.external && p != nil && p.Revision == b.revision {
		return p.Running, p.Pending, p.Desired
	}
	running, pending, _ = b.taskNumbers(s)
	return running, pending, s.Desired
}

// outcomeNow returns the outcome that AWS's responses show.
func (r *ServiceFollower) outcomeNow(o Observation) *conclusion {
	if end, sure := r.judgeMissingService(o); sure {
		return end
	}
	if end, sure := r.judgeNotCreated(o); sure {
		return end
	}
	end := r.judgeBySource(o)
	if end != nil && (r.needsSecondPoll(o, end) || end.outcome == sluice.RolledBack && r.lacksTasks(o.Service)) {
		return nil
	}
	if end = r.concludeSuccess(o, end); end == nil {
		end = r.judgeCrashLoop(o)
	}
	return end
}

// judgeBySource judges by the source that AWS offers: task sets, the deployment's record, or the
// list of deployments.
func (r *ServiceFollower) judgeBySource(o Observation) *conclusion {
	switch {
	case r.followed.external:
		return r.judgeSets(o.Service, o.At)
	case r.lastRecord != nil:
		return r.judgeRecord(o)
	}
	return r.judgeListed(o.Service, o.At)
}

// needsSecondPoll reports whether the end may belong to an earlier deployment, because AWS's responses lag:
// a success that is read soon after the wait began, also if an earlier poll showed it in progress, and any
// end of the first poll. It is false if the caller named the deployment, or waits for a revision that
// serves, unless a deployment of it was just started.
func (r *ServiceFollower) needsSecondPoll(o Observation, end *conclusion) bool {
	serves := r.want.Revision != "" && !r.want.JustStarted && end.outcome == sluice.Succeeded
	if r.want.Deployment != "" || serves {
		return false
	}
	early := r.want.JustStarted || end.outcome == sluice.Succeeded
	if early = early && o.At.Sub(r.began) < maxReadLag; r.polls == 1 || early && r.since.ended.IsZero() {
		r.since.ended = o.At
	}
	return early || !r.since.ended.IsZero() && o.At.Sub(r.since.ended) < confirmAfter
}
