package verdict

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// buildVerdict returns the verdict so far.
func (b *CodeDeployFollower) buildVerdict(o Observation) Verdict {
	v := Verdict{State: Progressing, Revision: b.revision, Deployment: b.main.id, Causes: b.listCauses(),
		Logs:   b.failures.Logs(),
		Unread: b.unread,
		Counts: b.countTasks(), NextPoll: b.nextPoll(o.At), Detail: b.progressText(), Withheld: b.hold.why}
	if b.conclusion != nil {
		v.State, v.Outcome, v.By = Ended, b.conclusion.outcome, b.conclusion.by
	}
	if len(v.Causes) > 0 {
		v.Cause = v.Causes[0]
	}
	if b.conclusion != nil {
		v.Detail, v.Next = b.endText(v), b.adviceFor(v)
	}
	return v
}

func (b *CodeDeployFollower) countTasks() Counts {
	n := Counts{Stopped: b.failures.Count()}
	n.Running, n.Pending, n.Desired = b.greenCounts()
	return n
}

// listCauses returns the causes, the leading one first. They come from CodeDeploy's error, from
// failed tasks and from the service's events.
func (b *CodeDeployFollower) listCauses() []diagnosis.Cause {
	if b.conclusion != nil && b.conclusion.outcome == sluice.Succeeded {
		return nil
	}
	all := b.failures.Ranked()
	said, told := codeDeployCause(b.main.deployment, b.main.target)
	if len(all) == 0 && b.service != nil && b.greenSet() != nil && !b.main.target.eventSucceeded("Install") {
		all = diagnosis.ExplainEvents(b.service.Events, b.main.beganAt())
	}
	switch {
	case !told:
	case said.Kind == diagnosis.SlowStart && len(all) > 0:
	case said.Kind == diagnosis.OtherCause:
		all = append(all, said)
	default:
		all = append([]diagnosis.Cause{said}, all...)
	}
	return all
}

func (t *CodeTarget) eventSucceeded(event string) bool {
	e := t.Event(event)
	return e != nil && e.Status == "Succeeded"
}

// endReason returns CodeDeploy's message about the end of the deployment, in one clause. It is
// empty where a cause contains the message already.
func (b *CodeDeployFollower) endReason() string {
	if _, told := codeDeployCause(b.main.deployment, b.main.target); told || b.main.deployment.Message == "" {
		return ""
	}
	return strings.TrimSuffix(b.main.deployment.Message, ".")
}

// progressText returns the current state: "AllowTraffic; web:2: 3 of 3 running, 10% of the traffic;
// web:1: 3 running, 90%".
func (b *CodeDeployFollower) progressText() string {
	if b.main.id == "" {
		return b.absentText()
	}
	parts := []string{b.statusText()}
	green, blue := b.taskSets()
	if green != nil {
		running, pending, desired := b.greenCounts()
		parts = append(parts, fmt.Sprintf("%s: %s%s, %g%% of the traffic",
			firstNonEmpty(b.revision, "green"), sluice.RunningText(running, desired), pendingText(pending), green.Weight))
	}
	if blue != nil {
		parts = append(parts, fmt.Sprintf("%s: %d running, %g%%", firstNonEmpty(b.previousRevision, "blue"),
			blue.Running, blue.Weight))
	}
	if b.hold.why != "" {
		parts = append(parts, b.hold.why)
	}
	return strings.Join(parts, "; ")
}

func pendingText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d pending", n)
}

// absentText describes a service for which no deployment is followed yet.
func (b *CodeDeployFollower) absentText() string {
	what := firstNonEmpty(b.want.Revision, "a deployment")
	switch {
	case b.service == nil:
		return "the service does not exist"
	case b.doubted != "":
		return b.doubted + " has ended; a newer deployment may not be listed yet"
	}
	if p := b.service.primarySet(); p != nil {
		return what + " has not appeared; " + p.Revision + " serves"
	}
	return what + " has not appeared"
}

// statusText describes the current step of the deployment, or of its rollback.
func (b *CodeDeployFollower) statusText() string {
	l := b.currentDeployment()
	text := l.stepText()
	if l == &b.rollback {
		text = "rolling back by " + l.id + ": " + text
	}
	return text
}

func (l *trackedDeployment) stepText() string {
	status := "not started"
	switch {
	case l.deployment != nil && (l.target == nil || l.deployment.Ended() || l.deployment.Status == "Ready"):
		status = l.deployment.Status
	case l.target != nil:
		status = l.target.Status
	}
	switch e := l.target.CurrentEvent(); {
	case status == "Ready":
		return l.readyText()
	case l.hasSucceeded():
		return "Succeeded"
	case l.isOver():
		return status
	case e != nil:
		return e.Name
	case l.isFinishing():
		return l.keepText()
	case status == "InProgress" && l.lastSucceeded() != "":
		return l.lastSucceeded() + " done"
	}
	return status
}

// lastSucceeded returns the name of the lifecycle event that succeeded last.
func (l *trackedDeployment) lastSucceeded() (name string) {
	if l.target == nil {
		return ""
	}
	for _, e := range l.target.Events {
		if e.Status == "Succeeded" {
			name = e.Name
		}
	}
	return name
}

// readyText describes how to continue a deployment that is ready, and what happens if the request
// does not come in time.
func (l *trackedDeployment) readyText() string {
	text := "ready: it waits until a user shifts the traffic to the replacement (aws deploy continue-deployment " +
		"--deployment-wait-type READY_WAIT --deployment-id " + l.id + ")"
	if l.deployment == nil || l.deployment.Ready == 0 {
		return text
	}
	text += fmt.Sprintf(", for %s", l.deployment.Ready)
	if since := l.lastEventEnd(); !since.IsZero() {
		text += " until " + since.Add(l.deployment.Ready).UTC().Format("15:04:05Z")
	}
	return text + ", then it is stopped"
}

func (l *trackedDeployment) keepText() string {
	switch {
	case l.deployment == nil || l.deployment.Terminate == 0:
		return "ending"
	case l.deployment.KeepBlue:
		return "ending; the original task set is kept"
	}
	text := fmt.Sprintf("all traffic is at the replacement; the original task set is kept for %s",
		l.deployment.Terminate)
	if since := l.lastEventEnd(); !since.IsZero() {
		text += " until " + since.Add(l.deployment.Terminate).UTC().Format("15:04:05Z")
	}
	return text
}

// endText describes in one line how the deployment ended, and why.
func (b *CodeDeployFollower) endText(v Verdict) string {
	what := firstNonEmpty(b.revision, b.main.id)
	if v.Outcome == sluice.Succeeded {
		return strings.TrimSuffix(b.servedText()+"; "+b.conclusion.why, "; ")
	}
	var why []string
	if v.Cause.Count > 0 {
		why = append(why, v.Cause.String())
	}
	if b.conclusion.why != "" {
		why = append(why, strings.TrimSuffix(b.conclusion.why, "."))
	}
	if b.polls > 0 && (v.Outcome == sluice.TimedOut || v.Outcome == sluice.Stalled) {
		why = append(why, "last seen: "+b.progressText())
	}
	if where := b.trafficSplitText(v.Outcome); where != "" {
		why = append(why, where)
	}
	return strings.TrimSuffix(what+outcomeText(v.Outcome, v.By)+": "+strings.Join(why, "; "), ": ")
}

func (b *CodeDeployFollower) servedText() string {
	if b.main.deployment != nil && b.main.deployment.IsRollback() {
		return b.main.id + " succeeded"
	}
	text := firstNonEmpty(b.revision, b.main.id, b.previousRevision) + " serves"
	if b.greenSet() != nil {
		running, _, desired := b.greenCounts()
		text += fmt.Sprintf(", %d of %d running", running, desired)
	}
	return text
}

// trafficSplitText describes where the traffic is, if the deployment ended with traffic at the new
// revision.
func (b *CodeDeployFollower) trafficSplitText(o sluice.Outcome) string {
	green, blue := b.taskSets()
	if o != sluice.Failed && o != sluice.Stopped || green == nil || blue == nil || green.Weight == 0 {
		return ""
	}
	return fmt.Sprintf("%g%% of the traffic is at %s, %g%% at %s", green.Weight,
		firstNonEmpty(b.revision, "the replacement"), blue.Weight,
		firstNonEmpty(b.previousRevision, "the original task set"))
}

func (b *CodeDeployFollower) adviceFor(v Verdict) string {
	switch {
	case v.Outcome == sluice.Succeeded:
		return ""
	case b.conclusion.next != "":
		return b.conclusion.next
	case b.conclusion.thenDo != "":
		return b.failures.Leading().NextStep(b.conclusion.thenDo)
	case v.Cause.Kind != "":
		return v.Cause.Advice()
	case v.Outcome == sluice.TimedOut:
		return b.hold.nextAfterTimeout()
	case v.Outcome == sluice.Superseded:
		return diagnosis.Superseding.Advice()
	case v.Outcome == sluice.Stopped:
		return "deploy again"
	}
	if b.main.id == "" {
		return diagnosis.ReadEvents
	}
	return "read the state of deployment " + b.main.id + ": sluice status"
}
