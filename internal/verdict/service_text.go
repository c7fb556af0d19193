package verdict

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// buildVerdict returns the verdict so far.
func (r *ServiceFollower) buildVerdict(o Observation) Verdict {
	v := Verdict{
		State: Progressing, Revision: firstNonEmpty(r.followed.revision, r.want.Revision),
		Deployment: firstNonEmpty(r.followed.arn, r.followed.id, r.want.Deployment),
		Causes:     r.listCauses(o), Logs: r.failures.Logs(), Unread: r.unread, Counts: r.countTasks(o),
		NextPoll:    r.nextPoll(o.Service, o.At),
		RollingBack: r.rollbackText(), Withheld: r.hold.why,
	}
	v.Parts = r.progressParts(o, v.RollingBack)
	v.Detail = strings.Join(v.Parts, "; ")
	if r.conclusion != nil {
		v.State, v.Outcome, v.By = Ended, r.conclusion.outcome, r.conclusion.by
		v.NoTasks = r.conclusion.noTasks
	}
	if len(v.Causes) > 0 {
		v.Cause = v.Causes[0]
	}
	if r.conclusion != nil {
		v.Detail, v.Next = r.endText(v), r.adviceFor(v)
	}
	return v
}

// listCauses returns the causes, the leading one first: fired alarms, failed tasks, events,
// targets, and tasks that still start.
func (r *ServiceFollower) listCauses(o Observation) []diagnosis.Cause {
	var all []diagnosis.Cause
	if r.conclusion != nil && r.conclusion.cause != nil {
		all = append(all, *r.conclusion.cause)
	}
	if r.conclusion != nil && r.conclusion.outcome == sluice.Succeeded {
		return nil
	}
	s := o.Service
	if s == nil {
		s = r.last
	}
	all = append(all, r.failures.Ranked()...)
	if s != nil && r.followed.bound {
		all = r.addHints(all, s, o)
	}
	for i := range all {
		all[i] = all[i].WithCheck(r.check)
	}
	if len(all) == 0 && r.lastRecord != nil && r.lastRecord.Breaker.Status == "TRIGGERED" {
		all = append(all, diagnosis.Cause{Kind: diagnosis.BreakerFired,
			Text: firstNonEmpty(r.lastRecord.Reason, r.followed.rollbackReason,
				"the circuit breaker stopped the deployment"), Count: 1})
	}
	return all
}

// addHints adds causes of kinds that are not in the list yet. They come from events, targets and
// tasks that still start, not from stopped tasks.
func (r *ServiceFollower) addHints(all []diagnosis.Cause, s *Service, o Observation) []diagnosis.Cause {
	all = diagnosis.AddHints(all, diagnosis.ExplainEvents(s.Events, r.followed.created), o.Targets)
	if c, ok := r.registration.Cause(); ok {
		all = diagnosis.AddKind(all, c)
	}
	timedOut := r.conclusion != nil && !r.followed.rollingBack &&
		(r.conclusion.outcome == sluice.TimedOut || r.conclusion.outcome == sluice.Stalled)
	running, pending, desired := r.followed.taskNumbers(s)
	if len(all) > 0 || !timedOut || len(r.lastRecord.AwaitedHooks()) > 0 {
		return all
	}
	switch c, ok := r.explainDrain(s, o); {
	case ok && r.hold.why != "": // ECS has ended the deployment, and the text says what withholds the success
		return all
	case ok || pending == 0 && s.Running != running:
		return append(all, c...)
	}
	if c, ok := diagnosis.ExplainSlowStart(running, pending, desired); ok {
		all = append(all, c)
	}
	return all
}

// explainDrain returns the cause of a rolling update whose tasks all run and are healthy: the former tasks have not
// stopped. ok is false if tasks are missing or unhealthy.
func (r *ServiceFollower) explainDrain(s *Service, o Observation) (c []diagnosis.Cause, ok bool) {
	d := r.followed.deploymentIn(s)
	if d != nil && r.lastRecord.passesTime() {
		return unended(d, " run: ECS is in the stage "+r.lastRecord.Stage), true
	}
	if d == nil || !r.followed.allTasksRun(s) || o.Targets != nil && countHealthy(o.Targets) < s.Desired {
		return nil, false
	}
	if len(s.Deployments) < 2 { // nothing is missing but the end
		return unended(d, " run, and their targets are healthy: ECS has not ended the deployment"), o.Targets != nil
	}
	until := ""
	if end := r.pace.drainEnds; r.pace.drainDelay > 0 && !end.IsZero() {
		until = " until " + end.UTC().Format("2006-01-02 15:04:05Z")
	}
	text := fmt.Sprintf("all %s run; the former tasks drain%s", sluice.Plural(d.Running, "task"), until)
	return []diagnosis.Cause{{Kind: diagnosis.Draining, Text: text, Count: 1}}, true
}

func unended(d *Deployment, why string) []diagnosis.Cause {
	text := "all " + sluice.Plural(d.Running, "task")
	if d.Running < d.Desired || d.Running == 0 {
		text = fmt.Sprintf("%d of %s", d.Running, sluice.Plural(d.Desired, "task"))
	}
	return []diagnosis.Cause{{Kind: diagnosis.Unended, Text: text + why, Count: 1}}
}

// taskNumbers returns the task counts of the followed deployment, or of the task sets of its
// revision.
func (b *binding) taskNumbers(s *Service) (running, pending, desired int) {
	if d := b.deploymentIn(s); d != nil && !b.external {
		return d.Running, d.Pending, d.Desired
	}
	for _, ts := range s.TaskSets {
		if ts.Revision == b.revision && ts.Status != "DRAINING" {
			running, pending, desired = running+ts.Running, pending+ts.Pending, desired+ts.Desired
		}
	}
	return running, pending, desired
}

func (r *ServiceFollower) countTasks(o Observation) Counts {
	var n Counts
	s := o.Service
	if s == nil {
		return n
	}
	n.Running, n.Pending, n.Desired = r.followed.taskNumbers(s)
	if r.conclusion != nil && r.conclusion.isReplaced { // the followed deployment may have no task any more
		d := s.newestOf(r.followed.revision, func(d Deployment) bool { return d.Running > 0 })
		n.Running, n.Pending, n.Desired = d.Running, d.Pending, max(d.Desired, d.Running)
	}
	n.Stopped = r.failures.Count()
	for _, t := range o.Targets {
		n.Targets++
		switch t.State {
		case "healthy":
			n.Healthy++
		case "unhealthy":
			n.Unhealthy++
		case "draining":
			n.Draining++
		case "initial":
			n.Initial++
		}
	}
	return n
}

// progressParts returns the current state in parts, the counts of its tasks first: "web:3: 1 of 2 running, 1 pending",
// "web:2: 2 running".
func (r *ServiceFollower) progressParts(o Observation, rollback string) []string {
	s := o.Service
	if s == nil {
		s = r.last
	}
	switch {
	case s == nil && r.polls == 0:
		return []string{"the service has not been read yet"}
	case s == nil:
		return []string{"the service does not exist"}
	case !r.followed.bound:
		return r.absentTexts(s)
	}
	parts := append(r.followed.followedTexts(s), r.followed.otherTexts(s)...)
	if rec := r.lastRecord; rec != nil {
		parts = append(parts, rec.progressTexts()...)
	}
	if r.hold.why != "" {
		parts = append(parts, r.hold.why)
	}
	if rollback != "" {
		parts = append(parts, rollback)
	}
	return parts
}

// rollbackText says that ECS rolls the deployment back, to which revision and why; empty: it does not.
func (r *ServiceFollower) rollbackText() string {
	to, why := "", r.followed.rollbackReason
	switch rec := r.lastRecord; {
	case rec != nil && rec.isRollingBack():
		to, why = toText(rec.BackTo), firstNonEmpty(rec.RollbackReason, rec.Reason)
	case !r.followed.rollingBack:
		return ""
	}
	return strings.TrimSuffix("rolling back"+to+": "+strings.TrimSuffix(why, "."), ": ")
}

func (r *ServiceFollower) absentTexts(s *Service) []string {
	serves := primaryRevision(s)
	if p := s.primarySet(); p != nil {
		serves = p.Revision
	}
	what := firstNonEmpty(r.want.Revision, r.want.Deployment, "a deployment")
	if serves == "" || serves == what {
		return []string{what + " has not appeared"}
	}
	return []string{what + " has not appeared", serves + " serves"}
}

func (b *binding) followedTexts(s *Service) []string {
	running, pending, desired := b.taskNumbers(s)
	if b.deploymentIn(s) == nil && desired+running+pending == 0 {
		return []string{firstNonEmpty(b.revision, b.id, b.arn) + ": no task"}
	}
	text := firstNonEmpty(b.revision, b.id) + ": " + sluice.RunningText(running, desired)
	if pending > 0 {
		text += fmt.Sprintf(", %d pending", pending)
	}
	if d := b.deploymentIn(s); d != nil && d.Failed > 0 {
		text += fmt.Sprintf(", %d failed", d.Failed)
	}
	return []string{text}
}

func (b *binding) otherTexts(s *Service) []string {
	var parts []string
	for _, d := range s.Deployments {
		if m := b.deploymentIn(s); (m == nil || d.ID != m.ID) && d.Running+d.Pending > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d running", d.Revision, d.Running))
		}
	}
	for _, ts := range s.TaskSets {
		if ts.Revision != b.revision && ts.Running+ts.Pending > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d running", ts.Revision, ts.Running))
		}
	}
	return parts
}

// progressTexts returns the parts of a record that users need.
func (rec *Record) progressTexts() []string {
	var parts []string
	if rec.Stage != "" {
		stage := rec.Stage
		if rec.Weight > 0 && rec.Weight < 100 {
			stage += fmt.Sprintf(" with %g%% of the traffic", rec.Weight)
		}
		parts = append(parts, stage)
	}
	if h := rec.awaitedHook(); h != nil {
		text := "hook " + h.ID + " awaits an answer by sluice continue"
		if !h.ExpiresAt.IsZero() {
			text += " until " + h.ExpiresAt.UTC().Format("2006-01-02 15:04:05Z")
			if h.Then != "" {
				text += ", then " + h.Then
			}
		}
		parts = append(parts, text)
	}
	if rec.Breaker.Failures > 0 && !rec.isOver() {
		parts = append(parts, fmt.Sprintf("circuit breaker at %d of %d failures", rec.Breaker.Failures,
			rec.Breaker.Threshold))
	}
	if rec.Status == "STOP_REQUESTED" && !rec.isRollingBack() {
		parts = append(parts, "being stopped")
	}
	return parts
}

func toText(revision string) string {
	if revision == "" {
		return ""
	}
	return " to " + revision
}

// endText describes in one line how the deployment ended, and why.
func (r *ServiceFollower) endText(v Verdict) string {
	what := firstNonEmpty(v.Revision, v.Deployment, "the deployment")
	if v.Outcome == sluice.Succeeded {
		return strings.TrimSuffix(fmt.Sprintf("%s serves, %d of %d running; %s", what, v.Counts.Running,
			v.Counts.Desired, r.conclusion.why), "; ")
	}
	var why []string
	if v.Cause.Count > 0 && v.Cause.Kind != diagnosis.Superseding {
		why = append(why, v.Cause.String())
	}
	if r.conclusion.why != "" {
		why = append(why, strings.TrimSuffix(r.conclusion.why, "."))
	}
	if r.polls > 0 && (v.Outcome == sluice.TimedOut || v.Outcome == sluice.Stalled) {
		why = append(why, "last seen: "+v.Detail)
	}
	ended := outcomeText(v.Outcome, v.By)
	if v.Outcome == sluice.Superseded && v.By == v.Revision {
		ended = " was superseded by a newer deployment of the same revision"
	}
	if ended == "" && v.Revision == "" && v.Deployment == "" {
		return strings.Join(why, "; ") // the service does not exist: there is nothing to name
	}
	return strings.TrimSuffix(what+ended+": "+strings.Join(why, "; "), ": ")
}

func outcomeText(o sluice.Outcome, by string) string {
	switch o {
	case sluice.RolledBack:
		return " was rolled back" + toText(by)
	case sluice.Superseded:
		return strings.TrimSuffix(" was superseded by "+by, " by ")
	case sluice.Failed:
		return " failed"
	case sluice.TimedOut:
		return " is undecided"
	case sluice.Stalled:
		return " is stalled"
	case sluice.Stopped:
		return " was stopped"
	}
	return ""
}

func (r *ServiceFollower) adviceFor(v Verdict) string {
	switch {
	case v.Outcome == sluice.Succeeded:
		return ""
	case r.conclusion.next != "":
		return r.conclusion.next
	case r.conclusion.thenDo != "":
		return r.failures.Leading().WithCheck(r.check).NextStep(r.conclusion.thenDo)
	case v.Cause.Kind != "":
		return v.Cause.Advice()
	case len(r.lastRecord.AwaitedHooks()) > 0 && (v.Outcome == sluice.TimedOut || v.Outcome == sluice.Stalled):
		return "run sluice continue in the application's folder: ECS waits for an answer to a hook"
	case v.Outcome == sluice.TimedOut && !r.followed.bound && (r.want.Deployment != "" || r.want.Revision != ""):
		return "run sluice status to see what is running: nothing has started what the wait names"
	case v.Outcome == sluice.TimedOut && r.last == nil:
		return "correct the name of the cluster or the service, or the Region; or create the service"
	case v.Outcome == sluice.TimedOut && !r.since.canaryLeft.IsZero():
		return "run sluice deploy with a pipeline that has ECS_PRIMARY_ROLLOUT: no deployment promotes this canary"
	case v.Outcome == sluice.TimedOut:
		return r.hold.nextAfterTimeout()
	}
	return diagnosis.ReadEvents
}

func firstNonEmpty(all ...string) string { return cmp.Or(all...) }
