package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
)

// CodeDeployFollower judges a CodeDeploy deployment until it ends. If the deployment is rolled
// back, it judges the rollback until that ends: the rollback is a deployment of its own. It is a
// value; make one with [FollowCodeDeploy].
type BlueGreen struct {
	want  Wanted
	began time.Time // clock of this process

	main, back leg // the deployment, and its rollback
	revision   string
	from       string // revision that was PRIMARY before
	service    *Service
	looked     time.Time // the first poll
	ended      time.Time // when a poll first returned that it failed
	unknown    time.Time // since when AWS returns no such deployment
	stood      bool      // it had ended at the first poll
	past       bool      // it was found among the replaced deployments
	explained  bool      // the reads that explain an end were requested
	ledger
	hearing
	codePace

	unread []string
	over   *ending
}

// trackedDeployment is one CodeDeploy deployment.
type leg struct {
	id string
	d  *CodeDeployment // nil: not read
	t  *CodeTarget
}

// CodeObservation is what one poll read of a CodeDeploy deployment.
type CodeLook struct {
	Asked      CodeNeeds
	Deployment *CodeDeployment // nil: not requested, or AWS returns none
	Target     *CodeTarget     // nil: not requested, or there is none yet
	Revision   string          // family:revision that it deploys; empty: not requested, or unknown
	Idle       bool            // no CodeDeploy deployment made the task sets of the service
}

// CodeNeeds lists what to read at a poll.
type CodeNeeds struct {
	Deployment string // id of a deployment; empty: none
	Target     string // id of the deployment whose target to read
	Revision   bool   // the revision of the deployment
	Service    bool   // the service itself
	Fallen     bool   // its stopped tasks
}

// FollowBlueGreen starts a judge of the deployment that w names.
func FollowBlueGreen(now time.Time, w Wanted) BlueGreen {
	if w.FailAfter <= 0 {
		w.FailAfter = FailAfter
	}
	return BlueGreen{want: w, began: now, main: leg{id: w.Deployment}, revision: w.Revision, codePace: codePace{changed: now, moved: now}}
}

// FollowDeployment names the deployment to follow, if none was named.
func (b BlueGreen) Follow(id string) BlueGreen {
	b.main.id, b.want.Deployment = id, id
	return b
}

// FollowReplaced names a deployment that has ended and that another deployment has replaced.
func (b BlueGreen) FollowPast(id string) BlueGreen {
	b.past = true
	return b.Follow(id)
}

// IsFollowing reports whether a deployment is already followed.
func (b BlueGreen) Follows() bool { return b.main.id != "" }

// MaxReadLag is how long AWS's responses may lag behind its writes.
const Lagging = settle

// Began returns when the wait began.
func (b BlueGreen) Began() time.Time { return b.began }

// FirstInterval returns how long to wait before the first poll.
func (b BlueGreen) First() time.Duration {
	if b.want.Fresh {
		return firstLook
	}
	return 0
}

// currentDeployment returns the deployment that is followed now: the rollback, if there is one.
func (b *BlueGreen) leg() *leg {
	if b.back.id != "" {
		return &b.back
	}
	return &b.main
}

// Needs returns what to read at a poll. It is mostly the target, which contains the progress. The
// deployment itself is read only where the target is not enough.
func (b BlueGreen) Needs(now time.Time) CodeNeeds {
	var n CodeNeeds
	l := b.leg()
	switch {
	case b.over != nil || b.main.id == "":
		return n
	case b.ending() && !b.explained:
		n.Service, n.Fallen = true, b.green() != nil
	case b.main.good() && b.explained:
		n.Service = true // to check that its tasks run
	case l.over():
		n.Deployment = l.id // for its rollback
	case l.d == nil && (b.want.Revision == "" || l == &b.back), l.d != nil && l.t == nil:
		n.Deployment, n.Target = l.id, l.id
	case l.finishing(), l.lacking(), b.looks > 1 && l.t == nil && l.d == nil:
		n.Deployment = l.id
	default:
		n.Target = l.id
	}
	n.Revision = b.revision == "" && l == &b.main && (l.d != nil || n.Deployment != "") && !b.asked.Revision
	if b.hurt(now) {
		n.Service, n.Fallen = true, true
	}
	n.Service = n.Service || b.looks == 0 && b.want.Revision == "" // for the names of the revisions
	return n
}

// IDs returns the ids of the deployment and of its rollback; empty: there is none.
func (b BlueGreen) IDs() (id, rollback string) { return b.main.id, b.back.id }

// isOver reports whether the deployment is known to have ended. A deployment has only one target,
// so a target that succeeded is the end of the deployment. Only the deployment contains the reason
// for a failure or a stop.
func (l *leg) over() bool { return l.d != nil && l.d.Ended() || l.good() }

// hasSucceeded reports whether the deployment is known to have succeeded.
func (l *leg) good() bool {
	return l.d != nil && l.d.Status == "Succeeded" || l.t != nil && l.t.Status == "Succeeded" && (l.d == nil || !l.d.Ended())
}

// isFinishing reports whether all traffic is moved and every lifecycle event has ended. Then only
// the status contains news.
func (l *leg) finishing() bool {
	if l.t == nil || !l.t.succeeded("AllowTraffic") {
		return false
	}
	return !slices.ContainsFunc(l.t.Events, func(e LifecycleEvent) bool { return e.Status != "Succeeded" && e.Status != "Skipped" })
}

// needsDeployment reports whether the target has a state that only the deployment explains.
func (l *leg) lacking() bool {
	if l.t == nil {
		return false
	}
	switch l.t.Status {
	case "Failed", "Skipped", "Unknown":
		return true
	case "Ready":
		return l.d == nil || l.d.Status != "Ready"
	}
	return l.t.Failed() != nil
}

// See adds an observation.
func (b BlueGreen) See(o Observation) (BlueGreen, Verdict) {
	b.learn(o)
	if b.over == nil {
		b.over = b.judge(o)
		b.walk(o.At)
	}
	v := b.verdict(o)
	b.hearing = b.heard(b.ledger, o.Logs)
	return b, v
}

// TimeOut ends the wait at its hard limit without another observation.
func (b BlueGreen) GiveUp(now time.Time, why string) (BlueGreen, Verdict) {
	if b.over == nil {
		b.over = &ending{outcome: sluice.TimedOut, why: strings.TrimSuffix(fmt.Sprintf("%s passed; %s", b.want.Timeout, why), "; ")}
	}
	return b, b.verdict(Observation{At: now})
}

// NeededLogs returns the failed tasks whose last log lines to read.
func (b BlueGreen) Explain() []Stopped { return b.unheard(b.ledger) }

// LastRead returns the deployment and its target as last read. Once the rollback was read, it
// returns those of the rollback.
func (b BlueGreen) Shown() (*CodeDeployment, *CodeTarget) {
	if b.back.d != nil {
		return b.back.d, b.back.t
	}
	return b.main.d, b.main.t
}

// recordObservation stores what the poll read.
func (b *BlueGreen) learn(o Observation) {
	look, unread := o.Code, !b.main.over()
	if b.looks++; b.looked.IsZero() {
		b.looked = o.At
	}
	for _, l := range []*leg{&b.main, &b.back} {
		if look.Deployment != nil && look.Deployment.ID == l.id {
			l.d = look.Deployment
		}
		if look.Target != nil && look.Target.Deployment == l.id {
			l.t = look.Target
		}
	}
	b.stood = b.stood || unread && b.main.over() && (b.past || o.At.Sub(b.looked) < busy)
	b.revision = firstNonEmpty(b.revision, look.Revision)
	b.explained = b.explained || b.ending() && look.Asked.Service
	for _, u := range o.Unread {
		if !slices.Contains(b.unread, u) {
			b.unread = append(slices.Clone(b.unread), u)
		}
	}
	b.recall(o)
	b.noteAsked(look.Asked, o.At)
	if d := b.main.d; d != nil && d.RollbackID != "" {
		b.back.id = d.RollbackID
	}
}

// recordService stores the service and its stopped tasks.
func (b *BlueGreen) recall(o Observation) {
	if s := o.Service; s != nil {
		b.service = s
		b.name(s)
	}
	var said map[string]string
	if b.service != nil {
		said = probes(b.service.Events)
	}
	b.ledger = b.add(slices.DeleteFunc(slices.Clone(o.Fallen), func(t Stopped) bool { return !b.ours(t) }), said)
	b.ledger = b.hear(o.Logs, said)
	if e := b.main.t.Event("Install"); e != nil && e.Status == "Succeeded" {
		b.ledger = b.forgive()
	}
}

// learnRevisions reads the revisions of both task sets from the service.
func (b *BlueGreen) name(s *Service) {
	green, blue := b.sets()
	for _, ts := range s.TaskSets {
		switch {
		case b.main.id != "" && ts.ExternalID == b.main.id, green != nil && ts.ID == green.ID:
			b.revision = firstNonEmpty(b.revision, ts.Revision)
		case blue != nil && ts.ID == blue.ID, blue == nil && ts.Status == "PRIMARY":
			b.from = ts.Revision
		}
	}
}

// isFollowedTask reports whether a task belongs to the replacement task set.
func (b *BlueGreen) ours(t Stopped) bool {
	g := b.green()
	return g != nil && t.Deployment == g.ID || b.revision != "" && t.Revision == b.revision && b.revision != b.from
}

// taskSets returns the replacement and the original task set. They come from the newest target that
// has them.
func (b *BlueGreen) sets() (green, blue *CodeSet) {
	for _, t := range []*CodeTarget{b.back.t, b.main.t} {
		if t != nil && (t.Green != nil || t.Blue != nil) {
			return t.Green, t.Blue
		}
	}
	return nil, nil
}

func (b *BlueGreen) green() *CodeSet {
	g, _ := b.sets()
	return g
}

// findConclusion returns how the deployment ended; nil: it has not ended.
func (b *BlueGreen) judge(o Observation) *ending {
	end := b.fate(o)
	if end == nil {
		end = b.looping()
	}
	if end == nil {
		end = b.limits(o.At)
	}
	return end
}

func (b *BlueGreen) fate(o Observation) *ending {
	if b.main.id == "" {
		return b.unmade(o)
	}
	if b.vanished(o) {
		return &ending{outcome: sluice.Gone, why: "CodeDeploy knows no deployment " + b.main.id + " here", next: "check the deployment's id and the Region"}
	}
	switch {
	case !b.main.over():
		return nil
	case b.main.good():
		return b.served()
	case b.ending() && !b.explained:
		return nil
	case b.back.id != "":
		return b.returned()
	}
	return b.unreturned(o.At)
}

// isUnknownToAWS reports whether AWS has returned no such deployment for as long as its responses
// may lag.
func (b *BlueGreen) vanished(o Observation) bool {
	look := o.Code
	switch {
	case look.Deployment != nil || look.Target != nil:
		b.unknown = time.Time{}
	case look.Asked.Deployment == b.main.id && b.unknown.IsZero():
		b.unknown = o.At
	}
	return !b.unknown.IsZero() && o.At.Sub(b.unknown) >= settle
}

// judgeNeverDeployed judges a service that CodeDeploy has not deployed yet. If the revision it was
// created with is steady, the wait succeeds; otherwise the wait continues.
func (b *BlueGreen) unmade(o Observation) *ending {
	s := b.service
	if s == nil || s.Status != "ACTIVE" {
		if !o.At.Before(b.began.Add(settle)) {
			return &ending{outcome: sluice.Gone, why: "there is no such service", next: "check cluster, service name and Region; create the service, then wait again"}
		}
		return nil
	}
	if o.Code.Idle && s.Desired == 0 && !b.want.Empty {
		return noTask(s.Name)
	}
	p := s.primarySet()
	if !o.Code.Idle || p == nil || !steady(p) || b.want.Revision != "" && p.Revision != b.want.Revision {
		return nil
	}
	if o.At.Before(b.began.Add(settle)) {
		return nil // a list that lags may omit a deployment that was just created
	}
	b.revision = p.Revision
	return &ending{outcome: sluice.Succeeded, why: "CodeDeploy has not deployed it since it was made"}
}

// endNeedsCheck reports whether the deployment, or its rollback if there is one, has ended without
// success. It is also true for a success that the first poll already returned (endedAtFirst); that
// success is checked once more against the service.
func (b *BlueGreen) ending() bool {
	switch {
	case !b.main.over():
		return false
	case b.main.good():
		return b.stood
	case b.back.id != "":
		return b.back.over()
	}
	return true
}

// judgeSuccess judges a deployment that succeeded. If it had ended before the wait began, another
// deployment may have replaced it since.
func (b *BlueGreen) served() *ending {
	if b.stood && !b.explained {
		return nil
	}
	rollback := b.main.d != nil && b.main.d.IsRollback()
	if s := b.service; b.stood && s != nil && !rollback {
		p := s.primarySet()
		if p != nil && (b.past || p.ExternalID != "" && p.ExternalID != b.main.id) && p.Revision != b.revision {
			return overtaken(p.Revision)
		}
	}
	if b.wantsNoTask() {
		return noTask(b.serviceName())
	}
	if b.stood && !b.serves() {
		return nil
	}
	end := &ending{outcome: sluice.Succeeded}
	if rollback {
		end.why = "it took deployment " + firstNonEmpty(b.main.d.RollbackOf, "before it") + " back"
	}
	return end
}

// wantsNoTask reports whether the desired count is 0, although the wait needs a running task.
func (b *BlueGreen) wantsNoTask() bool {
	g := b.green()
	switch {
	case b.want.Empty:
		return false
	case b.stood && b.service != nil:
		return b.service.Desired == 0
	}
	return g != nil && g.Desired == 0
}

// serviceName returns the name of the service, or "the service" if it was not read.
func (b *BlueGreen) serviceName() string {
	if b.service == nil {
		return "the service"
	}
	return b.service.Name
}

// isServing reports whether tasks of the deployed revision run: at least one, or all of them where
// the wait requires that.
func (b *BlueGreen) serves() bool {
	if b.service == nil {
		return true
	}
	p := b.service.primarySet()
	if p == nil || p.Desired == 0 {
		return p != nil
	}
	return p.Running > 0 && !b.want.Serving || p.Running >= p.Desired && p.Pending == 0
}

// judgeRollback judges the rollback; nil: it has not ended.
func (b *BlueGreen) returned() *ending {
	switch {
	case !b.back.over():
		return nil
	case b.back.good():
		return &ending{outcome: sluice.RolledBack, by: b.from, why: b.reason()}
	}
	return &ending{outcome: sluice.Failed, why: fmt.Sprintf("%s; its rollback %s ended %s: %s", b.reason(), b.back.id, b.back.d.Status, b.back.d.Message),
		next: "see where the traffic is: sluice status; then deploy again"}
}

// judgeNoRollback judges a deployment that failed or was stopped and for which CodeDeploy names no
// rollback. AWS's responses may lag, so an expected rollback is waited for.
func (b *BlueGreen) unreturned(now time.Time) *ending {
	d, patience := b.main.d, time.Duration(0)
	switch {
	case d.RollbackMessage != "":
	case b.expected():
		patience = rollsBackWithin
	case d.Code == "MANUAL_STOP":
		patience = confirm // the stop request may have included a rollback
	}
	if b.ended.IsZero() {
		b.ended = now
	}
	if now.Sub(b.ended) < patience {
		return nil
	}
	outcome := sluice.Failed
	if d.Code == "MANUAL_STOP" {
		outcome = sluice.Stopped
	}
	why := b.reason()
	if d.RollbackMessage != "" {
		why += "; " + d.RollbackMessage
	}
	return &ending{outcome: outcome, why: strings.TrimPrefix(why, "; ")}
}

// expectsRollback reports whether the settings of the deployment cause a rollback.
func (b *BlueGreen) expected() bool {
	d := b.main.d
	event := "DEPLOYMENT_FAILURE"
	switch d.Code {
	case "MANUAL_STOP":
		event = "DEPLOYMENT_STOP_ON_REQUEST"
	case "ALARM_ACTIVE":
		event = "DEPLOYMENT_STOP_ON_ALARM"
	}
	return b.want.Returning || slices.Contains(d.RollbackOn, event)
}

// judgeCrashLoop ends the wait if tasks of the replacement fail repeatedly with one cause.
// CodeDeploy has no circuit breaker: it waits an hour.
func (b *BlueGreen) looping() *ending {
	c := b.leading()
	if c.Count < b.want.FailAfter || b.main.over() {
		return nil
	}
	return &ending{outcome: sluice.Failed, why: "CodeDeploy goes on waiting for up to an hour", next: c.Kind.Advice() + "; and end the deployment: " + b.wayBack()}
}

// rollbackCommand returns the command that stops the deployment and rolls it back.
func (b *BlueGreen) wayBack() string {
	if s := b.service; s != nil && s.Cluster != "" {
		return fmt.Sprintf("sluice rollback --cluster %s --service %s", s.Cluster, s.Name)
	}
	return "aws deploy stop-deployment --auto-rollback-enabled --deployment-id " + b.main.id
}

// checkLimits ends a wait that AWS does not end.
func (b *BlueGreen) limits(now time.Time) *ending {
	if b.want.Timeout > 0 && now.Sub(b.began) >= b.want.Timeout {
		return &ending{outcome: sluice.TimedOut, why: fmt.Sprintf("%s passed", b.want.Timeout)}
	}
	if b.want.Deadline > 0 && !b.patient() && now.Sub(b.moved) >= b.want.Deadline {
		return b.stalled()
	}
	return nil
}

// concludeStalled returns the end of a wait without progress. If a hook's function is running, it
// is the cause: the other work of those events takes a moment only.
func (b *BlueGreen) stalled() *ending {
	end := &ending{outcome: sluice.Stalled, why: fmt.Sprintf("nothing moved for %s", b.want.Deadline)}
	if e := b.leg().t.Current(); e != nil && slices.Contains(hooked, e.Name) {
		end.why = fmt.Sprintf("the function of hook %s has said nothing for %s", e.Name, b.want.Deadline)
		end.next = HookFailed.Advice()
	}
	return end
}

// hookEvents are the lifecycle events in which CodeDeploy only calls a function (CodeDeploy User
// Guide, "AppSpec 'hooks' section").
var hooked = []string{"BeforeInstall", "AfterInstall", "AfterAllowTestTraffic", "BeforeAllowTraffic", "AfterAllowTraffic"}

// waitsAsConfigured reports whether the deployment does not progress because it is configured to
// wait: for a person, for its next traffic step, or for the termination of the original task set.
func (b *BlueGreen) patient() bool {
	l := b.leg()
	shifting := l.t.Event("AllowTraffic")
	return l.t != nil && l.t.Status == "Ready" || l.d != nil && l.d.Status == "Ready" || l.finishing() || shifting != nil && shifting.Status == "InProgress"
}
