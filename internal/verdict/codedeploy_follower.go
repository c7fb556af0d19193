package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// CodeDeployFollower judges a CodeDeploy deployment until it ends. If the deployment is rolled
// back, it judges the rollback until that ends: the rollback is a deployment of its own. It is a
// value; make one with [FollowCodeDeploy].
type CodeDeployFollower struct {
	want  Wanted
	began time.Time // clock of this process

	main, rollback   trackedDeployment // the deployment, and its rollback
	revision         string
	previousRevision string // revision that was PRIMARY before
	service          *Service
	firstPollAt      time.Time // the first poll
	failedAt         time.Time // when a poll first returned that it failed
	unknownSince     time.Time // since when AWS returns no such deployment
	endedAtFirst     bool      // it had ended at the first poll
	wasReplaced      bool      // it was found among the replaced deployments
	isChosen         bool      // the caller did not name it
	confirmed        bool      // a read that cannot be from before the wait chose it, or showed it in progress
	doubted          string    // id of a deployment that had ended and may not be the newest
	explanationRead  bool      // the reads that explain an end were requested
	failures         diagnosis.Failures
	limit            timeLimit
	codeTasks
	codePolling

	unread     []string
	conclusion *conclusion
}

// trackedDeployment is one CodeDeploy deployment.
type trackedDeployment struct {
	id         string
	deployment *CodeDeployment // nil: not read
	target     *CodeTarget
}

// CodeObservation is what one poll read of a CodeDeploy deployment.
type CodeObservation struct {
	Requested    CodeNeeds
	Deployment   *CodeDeployment // nil: not requested, or AWS returns none
	Target       *CodeTarget     // nil: not requested, or there is none yet
	Revision     string          // family:revision that it deploys; empty: not requested, or unknown
	NoDeployment bool            // no CodeDeploy deployment made the task sets of the service
}

// CodeNeeds lists what to read at a poll.
type CodeNeeds struct {
	Deployment   string // id of a deployment; empty: none
	Target       string // id of the deployment whose target to read
	Revision     bool   // the revision of the deployment
	Service      bool   // the service itself
	StoppedTasks bool   // its stopped tasks
	Checks       bool   // how long its health checks take to notice a failure
}

// FollowCodeDeploy starts a judge of the deployment that w names.
func FollowCodeDeploy(now time.Time, w Wanted) CodeDeployFollower {
	return CodeDeployFollower{want: w, began: now, main: trackedDeployment{id: w.Deployment},
		revision: firstNonEmpty(w.Revision, w.Deploys),
		limit:    newTimeLimit(w), codePolling: codePolling{changedAt: now, progressAt: now}}
}

// FollowDeployment chooses the deployment to follow, if none was named. readAt is when the reads that found it were
// sent. AWS's responses lag: an end of it soon after the wait began may be that of an earlier deployment, and
// then [CodeDeployFollower.IsFollowing] is false again.
func (b CodeDeployFollower) FollowDeployment(id string, readAt time.Time) CodeDeployFollower {
	b.main.id, b.isChosen = id, true
	b.confirmed = readAt.Sub(b.began) >= maxReadLag
	return b
}

// FollowReplaced chooses a deployment that has ended and that another deployment has replaced.
func (b CodeDeployFollower) FollowReplaced(id string, readAt time.Time) CodeDeployFollower {
	b.wasReplaced = true
	return b.FollowDeployment(id, readAt)
}

// IsFollowing reports whether a deployment is already followed.
func (b CodeDeployFollower) IsFollowing() bool { return b.main.id != "" }

// MaxReadLag is how long AWS's responses may lag behind its writes.
const MaxReadLag = maxReadLag

// Limit returns when the wait reaches its hard limit; the zero time: never.
func (b CodeDeployFollower) Limit() time.Time { return b.limit.end(b.began) }

// Began returns when the wait began.
func (b CodeDeployFollower) Began() time.Time { return b.began }

// FirstInterval returns how long to wait before the first poll.
func (b CodeDeployFollower) FirstInterval() time.Duration {
	switch {
	case b.want.JustCreated:
		return firstPollAfter
	case b.want.JustStopped:
		return eventInterval
	}
	return 0
}

// currentDeployment returns the deployment that is followed now: the rollback, if there is one.
func (b *CodeDeployFollower) currentDeployment() *trackedDeployment {
	if b.rollback.id != "" {
		return &b.rollback
	}
	return &b.main
}

// Needs returns what to read at a poll. It is mostly the target, which contains the progress. The
// deployment itself is read only where the target is not enough.
func (b CodeDeployFollower) Needs(now time.Time) CodeNeeds {
	var n CodeNeeds
	l := b.currentDeployment()
	switch {
	case b.conclusion != nil || b.main.id == "":
		return n
	case b.endNeedsCheck() && !b.explanationRead:
		n.Service, n.StoppedTasks = true, b.greenSet() != nil && !b.endsAsRequested()
	case b.main.hasSucceeded() && (b.explanationRead || b.hold.why != ""):
		n.Service = true // to check that its tasks run
	case l.isOver():
		n.Deployment = l.id // for its rollback
	case l.deployment == nil && (b.want.Revision == "" || l == &b.rollback), l.deployment != nil && l.target == nil:
		n.Deployment, n.Target = l.id, l.id
	case l.isFinishing(), l.needsDeployment(), b.polls > 1 && l.target == nil && l.deployment == nil:
		n.Deployment = l.id
	default:
		n.Target = l.id
	}
	n.Revision = b.revision == "" && l == &b.main && (l.deployment != nil || n.Deployment != "") &&
		!b.requested.Revision
	if b.sawFailure(now) {
		n.Service, n.StoppedTasks = true, true
	}
	n.Checks = b.stability.needsChecks()
	n.Service = n.Service || b.isServiceDue(now) || b.polls == 0 && b.want.Revision == "" // for the names of the revisions
	return n
}

// IDs returns the ids of the deployment and of its rollback; empty: there is none.
func (b CodeDeployFollower) IDs() (id, rollback string) { return b.main.id, b.rollback.id }

// isOver reports whether the deployment is known to have ended. A deployment has only one target,
// so a target that succeeded is the end of the deployment. Only the deployment contains the reason
// for a failure or a stop.
func (l *trackedDeployment) isOver() bool {
	return l.deployment != nil && l.deployment.Ended() || l.hasSucceeded()
}

// hasSucceeded reports whether the deployment is known to have succeeded.
func (l *trackedDeployment) hasSucceeded() bool {
	return l.deployment != nil && l.deployment.Status == "Succeeded" || l.target != nil &&
		l.target.Status == "Succeeded" && (l.deployment == nil || !l.deployment.Ended())
}

// isFinishing reports whether all traffic is moved and every lifecycle event has ended. Then only
// the status contains news.
func (l *trackedDeployment) isFinishing() bool {
	if l.target == nil || !l.target.eventSucceeded("AllowTraffic") {
		return false
	}
	return !slices.ContainsFunc(l.target.Events, func(e LifecycleEvent) bool {
		return e.Status != "Succeeded" &&
			e.Status != "Skipped"
	})
}

// needsDeployment reports whether the target has a state that only the deployment explains.
func (l *trackedDeployment) needsDeployment() bool {
	if l.target == nil {
		return false
	}
	switch l.target.Status {
	case "Failed", "Skipped", "Unknown":
		return true
	case "Ready":
		return l.deployment == nil || l.deployment.Status != "Ready"
	}
	return l.target.FailedEvent() != nil
}

// See adds an observation.
func (b CodeDeployFollower) See(o Observation) (CodeDeployFollower, Verdict) {
	b.recordObservation(o)
	if b.conclusion == nil {
		b.conclusion = b.findConclusion(o)
		b.noteProgress(o.At)
	}
	v := b.buildVerdict(o)
	return b, v
}

// TimeOut ends the wait at its hard limit without another observation.
func (b CodeDeployFollower) TimeOut(now time.Time, why string) (CodeDeployFollower, Verdict) {
	if b.conclusion == nil {
		b.conclusion = &conclusion{outcome: sluice.TimedOut,
			why: strings.TrimSuffix(b.limit.text()+"; "+why, "; ")}
	}
	return b, b.buildVerdict(Observation{At: now})
}

// NeededLogs returns the failed tasks whose last log lines to read.
func (b CodeDeployFollower) NeededLogs() []diagnosis.Stopped { return b.failures.NeededLogs() }

// LastRead returns the deployment and its target as last read. Once the rollback was read, it
// returns those of the rollback.
func (b CodeDeployFollower) LastRead() (*CodeDeployment, *CodeTarget) {
	if b.rollback.deployment != nil {
		return b.rollback.deployment, b.rollback.target
	}
	return b.main.deployment, b.main.target
}

// recordObservation stores what the poll read.
func (b *CodeDeployFollower) recordObservation(o Observation) {
	b.limit = b.limit.see(o, nil, b.waitsAsConfigured() && !b.isReady())
	look, unread := o.Code, !b.main.isOver()
	if b.polls++; b.firstPollAt.IsZero() {
		b.firstPollAt = o.At
	}
	for _, l := range []*trackedDeployment{&b.main, &b.rollback} {
		if look.Deployment != nil && look.Deployment.ID == l.id {
			l.deployment = look.Deployment
		}
		if look.Target != nil && look.Target.Deployment == l.id {
			l.target = look.Target
		}
	}
	b.endedAtFirst = b.endedAtFirst || unread && b.main.isOver() &&
		(b.wasReplaced || o.At.Sub(b.firstPollAt) < busyInterval)
	inProgress := !b.main.isOver() && (look.Deployment != nil || look.Target != nil)
	b.confirmed = b.confirmed || inProgress && o.At.Sub(b.began) >= maxReadLag
	b.revision = firstNonEmpty(b.revision, look.Revision)
	b.explanationRead = b.explanationRead || b.endNeedsCheck() && look.Requested.Service
	b.unread = diagnosis.NoteUnread(b.unread, o.Unread...)
	for _, l := range o.Logs {
		b.unread = diagnosis.NoteUnread(b.unread, l.Unread())
	}
	b.recordService(o)
	b.noteRequested(look.Requested, o.At)
	if d := b.main.deployment; d != nil && d.RollbackID != "" {
		b.rollback.id = d.RollbackID
	}
}

// recordService stores the service and its stopped tasks.
func (b *CodeDeployFollower) recordService(o Observation) {
	if s := o.Service; s != nil {
		b.service = s
		b.learnRevisions(s)
	}
	var events []diagnosis.Event
	if b.service != nil {
		events = b.service.Events
	}
	before := b.failures.Count()
	b.failures = b.failures.AddStopped(slices.DeleteFunc(slices.Clone(o.NewlyStopped),
		func(t diagnosis.Stopped) bool { return !b.isFollowedTask(t) }), events)
	died := b.failures.Count() > before
	b.failures = b.failures.AddLogs(o.Logs, events)
	if b.main.target.eventSucceeded("Install") {
		b.failures = b.failures.KeepDeaths(events)
	}
	b.noteTasks(o, died)
}

// learnRevisions reads the revisions of both task sets from the service.
func (b *CodeDeployFollower) learnRevisions(s *Service) {
	green, blue := b.taskSets()
	for _, ts := range s.TaskSets {
		switch {
		case b.main.id != "" && ts.ExternalID == b.main.id, green != nil && ts.ID == green.ID:
			b.revision = firstNonEmpty(b.revision, ts.Revision)
		case blue != nil && ts.ID == blue.ID, blue == nil && ts.Status == "PRIMARY":
			b.previousRevision = ts.Revision
		}
	}
}

// isFollowedTask reports whether a task belongs to the replacement task set. Tasks of its revision that stopped before
// the deployment began served in an earlier one.
func (b *CodeDeployFollower) isFollowedTask(t diagnosis.Stopped) bool {
	g := b.greenSet()
	return g != nil && t.Deployment == g.ID || b.revision != "" && t.Revision == b.revision &&
		b.revision != b.previousRevision && !t.StoppedAt.Before(b.main.beganAt())
}

// taskSets returns the replacement and the original task set. They come from the newest target that
// has them.
func (b *CodeDeployFollower) taskSets() (green, blue *CodeSet) {
	for _, t := range []*CodeTarget{b.rollback.target, b.main.target} {
		if t != nil && (t.Green != nil || t.Blue != nil) {
			return t.Green, t.Blue
		}
	}
	return nil, nil
}

func (b *CodeDeployFollower) greenSet() *CodeSet {
	g, _ := b.taskSets()
	return g
}

// findConclusion returns how the deployment ended; nil: it has not ended.
func (b *CodeDeployFollower) findConclusion(o Observation) *conclusion {
	end := b.outcomeNow(o)
	if end == nil {
		end = b.judgeCrashLoop()
	}
	if end != nil && b.mayBeEarlier(end, o.At) {
		b.chooseAgain()
		end = nil
	}
	if end == nil {
		end = b.checkLimits(o.At)
	}
	return end
}

// mayBeEarlier reports whether the end may be that of an earlier deployment, because AWS's responses lag: the
// rules are those of [ServiceFollower.needsSecondPoll]. It is false if the caller named the deployment, or
// waits for a revision that serves, unless a deployment of it was just started.
func (b *CodeDeployFollower) mayBeEarlier(end *conclusion, now time.Time) bool {
	switch {
	case !b.isChosen || b.confirmed || b.want.ReadOnce:
		return false
	case b.want.JustStarted:
		return true
	case end.outcome == sluice.Succeeded:
		return b.want.Revision == ""
	}
	return b.endedAtFirst && now.Sub(b.began) < confirmAfter
}

// chooseAgain follows no deployment until one is chosen.
func (b *CodeDeployFollower) chooseAgain() {
	again := FollowCodeDeploy(b.began, b.want)
	again.doubted, again.service, again.unread = b.main.id, b.service, b.unread
	*b = again
}

func (b *CodeDeployFollower) outcomeNow(o Observation) *conclusion {
	if b.main.id == "" {
		return b.judgeNeverDeployed(o)
	}
	if b.isUnknownToAWS(o) {
		return &conclusion{outcome: sluice.Gone, why: "CodeDeploy has no deployment " + b.main.id + " here",
			next: "check the deployment's id and the Region"}
	}
	switch {
	case !b.main.isOver():
		return nil
	case b.main.hasSucceeded():
		return b.concludeSuccess(o, b.judgeSuccess())
	case b.endNeedsCheck() && !b.explanationRead:
		return nil
	case b.rollback.id != "":
		return b.judgeRollback()
	}
	return b.judgeNoRollback(o.At)
}

// isUnknownToAWS reports whether AWS has returned no such deployment for as long as its responses
// may lag.
func (b *CodeDeployFollower) isUnknownToAWS(o Observation) bool {
	look := o.Code
	switch {
	case look.Deployment != nil || look.Target != nil:
		b.unknownSince = time.Time{}
	case look.Requested.Deployment == b.main.id && b.unknownSince.IsZero():
		b.unknownSince = o.At
	}
	return !b.unknownSince.IsZero() && o.At.Sub(b.unknownSince) >= maxReadLag
}

// judgeNeverDeployed judges a service that CodeDeploy has not deployed yet. If the revision it was
// created with is steady, the wait succeeds; otherwise the wait continues. If the wait is only for a revision that
// serves, it succeeds at the first poll: a deployment that is not listed yet has not replaced the revision.
func (b *CodeDeployFollower) judgeNeverDeployed(o Observation) *conclusion {
	s := b.service
	if s == nil || s.Status != "ACTIVE" {
		if !o.At.Before(b.began.Add(maxReadLag)) {
			return &conclusion{outcome: sluice.Gone, why: "the service does not exist",
				next: "check cluster, service name and Region; create the service, then wait again"}
		}
		return nil
	}
	if o.Code.NoDeployment && s.Desired == 0 && !b.want.AllowsNoTasks {
		return concludeNoTask(s.Name)
	}
	p := s.primarySet()
	if !o.Code.NoDeployment || p == nil || !isSteady(p) || b.want.Revision != "" && p.Revision != b.want.Revision {
		return nil
	}
	if !b.want.Serving && o.At.Before(b.began.Add(maxReadLag)) {
		return nil // a list that lags may omit a deployment that was just created
	}
	b.revision = p.Revision
	return &conclusion{outcome: sluice.Succeeded, why: "CodeDeploy has not deployed it since it was created"}
}

// endNeedsCheck reports whether the deployment, or its rollback if there is one, has ended without
// success. It is also true for a success that the first poll already returned (endedAtFirst); that
// success is checked once more against the service.
func (b *CodeDeployFollower) endNeedsCheck() bool {
	switch {
	case !b.main.isOver():
		return false
	case b.main.hasSucceeded():
		return b.endedAtFirst
	case b.rollback.id != "":
		return b.rollback.isOver()
	}
	return true
}

// endsAsRequested reports whether the caller has just stopped the deployment, and it is rolled back: the caller knows why.
func (b *CodeDeployFollower) endsAsRequested() bool {
	return b.want.JustStopped && b.rollback.hasSucceeded()
}

// judgeSuccess judges a deployment that succeeded. If it had ended before the wait began, another
// deployment may have replaced it since.
func (b *CodeDeployFollower) judgeSuccess() *conclusion {
	if b.endedAtFirst && !b.explanationRead {
		return nil
	}
	rollback := b.main.deployment != nil && b.main.deployment.IsRollback()
	if s := b.service; b.endedAtFirst && s != nil && !rollback {
		p := s.primarySet()
		if p != nil && (b.wasReplaced || p.ExternalID != "" && p.ExternalID != b.main.id) && p.Revision != b.revision {
			return concludeSuperseded(p.Revision)
		}
	}
	if b.wantsNoTask() {
		return concludeNoTask(b.service.shownName())
	}
	if b.endedAtFirst && !b.isServing() {
		return nil
	}
	end := &conclusion{outcome: sluice.Succeeded}
	if rollback {
		end.why = "it rolled back the deployment " + firstNonEmpty(b.main.deployment.RollbackOf, "before it")
	}
	return end
}

// wantsNoTask reports whether the desired count is 0, although the wait needs a running task.
func (b *CodeDeployFollower) wantsNoTask() bool {
	g := b.greenSet()
	switch {
	case b.want.AllowsNoTasks:
		return false
	case b.endedAtFirst && b.service != nil:
		return b.service.Desired == 0
	}
	return g != nil && g.Desired == 0
}

// isServing reports whether all tasks of the deployed revision run.
func (b *CodeDeployFollower) isServing() bool {
	if b.service == nil {
		return true
	}
	p := b.service.primarySet()
	if p == nil || p.Desired == 0 {
		return p != nil
	}
	return p.Running >= p.Desired && p.Pending == 0
}

// judgeRollback judges the rollback; nil: it has not ended.
func (b *CodeDeployFollower) judgeRollback() *conclusion {
	switch {
	case !b.rollback.isOver():
		return nil
	case b.rollback.hasSucceeded():
		return &conclusion{outcome: sluice.RolledBack, by: b.previousRevision, why: b.endReason()}
	}
	return &conclusion{outcome: sluice.Failed, why: fmt.Sprintf("%s; its rollback %s ended %s: %s", b.endReason(),
		b.rollback.id, b.rollback.deployment.Status, b.rollback.deployment.Message),
		next: "check where the traffic is: sluice status; then deploy again"}
}

// judgeNoRollback judges a deployment that failed or was stopped and for which CodeDeploy names no
// rollback. AWS's responses may lag, so an expected rollback is waited for.
func (b *CodeDeployFollower) judgeNoRollback(now time.Time) *conclusion {
	d, patience := b.main.deployment, time.Duration(0)
	switch {
	case d.RollbackMessage != "":
	case b.want.ExpectsRollback || d.rollsBack():
		patience = rollsBackWithin
	case d.Code == "MANUAL_STOP":
		patience = confirmAfter // the stop request may have included a rollback
	}
	if b.failedAt.IsZero() {
		b.failedAt = now
	}
	if now.Sub(b.failedAt) < patience {
		return nil
	}
	outcome := sluice.Failed
	if d.Code == "MANUAL_STOP" {
		outcome = sluice.Stopped
	}
	why := b.endReason()
	if d.RollbackMessage != "" {
		why += "; " + d.RollbackMessage
	}
	return &conclusion{outcome: outcome, why: strings.TrimPrefix(why, "; ")}
}

// rollsBack reports whether the settings of the deployment cause a rollback.
func (d *CodeDeployment) rollsBack() bool {
	event := "DEPLOYMENT_FAILURE"
	switch d.Code {
	case "MANUAL_STOP":
		event = "DEPLOYMENT_STOP_ON_REQUEST"
	case "ALARM_ACTIVE":
		event = "DEPLOYMENT_STOP_ON_ALARM"
	}
	return slices.Contains(d.RollbackOn, event)
}

// judgeCrashLoop ends the wait if tasks of the replacement fail repeatedly with one cause.
// CodeDeploy has no circuit breaker: it waits an hour.
func (b *CodeDeployFollower) judgeCrashLoop() *conclusion {
	if !b.failures.Reach(b.want.FailAfter) || b.want.ExpectsRollback || b.main.isOver() && !b.main.hasSucceeded() {
		return nil
	}
	why := "CodeDeploy continues to wait for up to an hour"
	if b.main.target.eventSucceeded("Install") {
		why = "CodeDeploy does not watch tasks that were healthy once"
	}
	return &conclusion{outcome: sluice.Failed, why: why,
		thenDo: "and end the deployment: " + b.rollbackCommand()}
}

// rollbackCommand returns the command that stops the deployment and rolls it back.
func (b *CodeDeployFollower) rollbackCommand() string {
	if s := b.service; s != nil && s.Cluster != "" {
		return fmt.Sprintf("sluice rollback --cluster %s --service %s", s.Cluster, s.Name)
	}
	return "sluice rollback"
}

// checkLimits ends a wait that AWS does not end. The hard limit does not pass between two reads of one poll: what was
// read so far says nothing yet.
func (b *CodeDeployFollower) checkLimits(now time.Time) *conclusion {
	if b.limit.isNear(now.Sub(b.began)) && !b.hasNewNeeds(b.Needs(now)) {
		return &conclusion{outcome: sluice.TimedOut, why: b.limit.text()}
	}
	if b.waitsAsConfigured() {
		b.progressAt = now // the time counts from its end
	}
	if b.want.Deadline > 0 && b.hold.time == 0 && now.Sub(b.progressAt) >= b.want.Deadline {
		return b.concludeStalled()
	}
	return nil
}

// concludeStalled returns the end of a wait without progress. If a hook's function is running, it
// is the cause: the other work of those events takes a moment only.
func (b *CodeDeployFollower) concludeStalled() *conclusion {
	end := &conclusion{outcome: sluice.Stalled, why: fmt.Sprintf("no progress for %s", b.want.Deadline)}
	if e := b.currentDeployment().target.CurrentEvent(); e != nil && slices.Contains(hookEvents, e.Name) {
		end.why = fmt.Sprintf("the function of hook %s has not reported for %s", e.Name, b.want.Deadline)
		end.next = diagnosis.HookFailed.Advice()
	}
	return end
}

// hookEvents are the lifecycle events in which CodeDeploy only calls a function (CodeDeploy User
// Guide, "AppSpec 'hooks' section").
var hookEvents = []string{"BeforeInstall", "AfterInstall", "AfterAllowTestTraffic", "BeforeAllowTraffic",
	"AfterAllowTraffic"}

// waitsAsConfigured reports whether the deployment does not progress because it is configured to
// wait: for a person, for its next traffic step, or for the termination of the original task set.
func (b *CodeDeployFollower) waitsAsConfigured() bool {
	l := b.currentDeployment()
	shifting := l.target.Event("AllowTraffic")
	return b.isReady() || l.isFinishing() || shifting != nil && shifting.Status == "InProgress"
}

// isReady reports whether the deployment waits for a person.
func (b *CodeDeployFollower) isReady() bool {
	l := b.currentDeployment()
	return l.target != nil && l.target.Status == "Ready" || l.deployment != nil && l.deployment.Status == "Ready"
}
