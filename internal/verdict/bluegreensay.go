package verdict

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// buildVerdict returns the verdict so far.
func (b *BlueGreen) verdict(o Observation) Verdict {
	v := Verdict{State: Progressing, Revision: b.revision, Deployment: b.main.id, Causes: b.reasons(), Logs: b.logs, Unread: b.unread,
		Counts: b.counts(), NextLook: b.next(o.At), Detail: b.stand()}
	if b.over != nil {
		v.State, v.Outcome, v.By = Ended, b.over.outcome, b.over.by
	}
	if len(v.Causes) > 0 {
		v.Cause = v.Causes[0]
	}
	if b.over != nil {
		v.Detail, v.Next = b.sentence(v), b.advice(v)
	}
	return v
}

func (b *BlueGreen) counts() Counts {
	n := Counts{Stopped: len(b.fallen)}
	if g := b.green(); g != nil {
		n.Desired, n.Pending, n.Running = g.Desired, g.Pending, g.Running
	}
	return n
}

// listCauses returns the causes, the leading one first. They come from CodeDeploy's error, from
// failed tasks and from the service's events.
func (b *BlueGreen) reasons() []Cause {
	if b.over != nil && b.over.outcome == sluice.Succeeded {
		return nil
	}
	all := b.ranked()
	said, told := codeCause(b.main.d, b.main.t)
	if len(all) == 0 && b.service != nil && b.green() != nil && !b.main.t.succeeded("Install") {
		all = signsIn(b.service.Events, b.main.begun())
	}
	switch {
	case !told:
	case said.Kind == SlowStart && len(all) > 0:
	case said.Kind == OtherCause:
		all = append(all, said)
	default:
		all = append([]Cause{said}, all...)
	}
	return all
}

func (t *CodeTarget) succeeded(event string) bool {
	e := t.Event(event)
	return e != nil && e.Status == "Succeeded"
}

// endReason returns CodeDeploy's message about the end of the deployment, in one clause. It is
// empty where a cause contains the message already.
func (b *BlueGreen) reason() string {
	if _, told := codeCause(b.main.d, b.main.t); told || b.main.d.Message == "" {
		return ""
	}
	return strings.TrimSuffix(b.main.d.Message, ".")
}

// progressText returns the current state: "AllowTraffic; web:2: 3 of 3 running, 10% of the traffic;
// web:1: 3 running, 90%".
func (b *BlueGreen) stand() string {
	if b.main.id == "" {
		return b.absence()
	}
	parts := []string{b.course()}
	green, blue := b.sets()
	if green != nil {
		parts = append(parts, fmt.Sprintf("%s: %d of %d running%s, %g%% of the traffic", firstNonEmpty(b.revision, "green"), green.Running, green.Desired, pending(green.Pending), green.Weight))
	}
	if blue != nil {
		parts = append(parts, fmt.Sprintf("%s: %d running, %g%%", firstNonEmpty(b.from, "blue"), blue.Running, blue.Weight))
	}
	return strings.Join(parts, "; ")
}

func pending(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d pending", n)
}

// absentText describes a service for which no deployment is followed yet.
func (b *BlueGreen) absence() string {
	what := firstNonEmpty(b.want.Revision, "a deployment")
	if b.service == nil {
		return "the service is not there"
	}
	if p := b.service.primarySet(); p != nil {
		return what + " has not appeared; " + p.Revision + " serves"
	}
	return what + " has not appeared"
}

// statusText describes the current step of the deployment, or of its rollback.
func (b *BlueGreen) course() string {
	l := b.leg()
	text := l.course()
	if l == &b.back {
		text = "rolling back by " + l.id + ": " + text
	}
	return text
}

func (l *leg) course() string {
	status := "not started"
	switch {
	case l.d != nil && (l.t == nil || l.d.Ended() || l.d.Status == "Ready"):
		status = l.d.Status
	case l.t != nil:
		status = l.t.Status
	}
	switch e := l.t.Current(); {
	case status == "Ready":
		return l.readyWords()
	case l.good():
		return "Succeeded"
	case l.over():
		return status
	case e != nil:
		return e.Name
	case l.finishing():
		return l.keepWords()
	case status == "InProgress" && l.lastDone() != "":
		return l.lastDone() + " done"
	}
	return status
}

// lastSucceeded returns the name of the lifecycle event that succeeded last.
func (l *leg) lastDone() (name string) {
	if l.t == nil {
		return ""
	}
	for _, e := range l.t.Events {
		if e.Status == "Succeeded" {
			name = e.Name
		}
	}
	return name
}

// readyText describes how to continue a deployment that is ready, and what happens if the request
// does not come in time.
func (l *leg) readyWords() string {
	text := "ready: it waits for somebody to send the traffic to the replacement (aws deploy continue-deployment --deployment-wait-type READY_WAIT --deployment-id " + l.id + ")"
	if l.d == nil || l.d.Ready == 0 {
		return text
	}
	text += fmt.Sprintf(", for %s", l.d.Ready)
	if since := l.lastEnd(); !since.IsZero() {
		text += " until " + since.Add(l.d.Ready).UTC().Format("15:04:05Z")
	}
	return text + ", then it is stopped"
}

func (l *leg) keepWords() string {
	switch {
	case l.d == nil || l.d.Terminate == 0:
		return "ending"
	case l.d.KeepBlue:
		return "ending; the original task set is kept"
	}
	text := fmt.Sprintf("all traffic is at the replacement; the original task set is kept for %s", l.d.Terminate)
	if since := l.lastEnd(); !since.IsZero() {
		text += " until " + since.Add(l.d.Terminate).UTC().Format("15:04:05Z")
	}
	return text
}

// endText describes in one line how the deployment ended, and why.
func (b *BlueGreen) sentence(v Verdict) string {
	what := firstNonEmpty(b.revision, b.main.id)
	if v.Outcome == sluice.Succeeded {
		return strings.TrimSuffix(b.servedWords()+"; "+b.over.why, "; ")
	}
	var why []string
	if v.Cause.Count > 0 {
		why = append(why, causeWords(v.Cause))
	}
	if b.over.why != "" {
		why = append(why, strings.TrimSuffix(b.over.why, "."))
	}
	if b.looks > 0 && (v.Outcome == sluice.TimedOut || v.Outcome == sluice.Stalled) {
		why = append(why, "last seen: "+b.stand())
	}
	if where := b.torn(v.Outcome); where != "" {
		why = append(why, where)
	}
	return strings.TrimSuffix(what+outcomeWords(v.Outcome, v.By)+": "+strings.Join(why, "; "), ": ")
}

func (b *BlueGreen) servedWords() string {
	if b.main.d != nil && b.main.d.IsRollback() {
		return b.main.id + " succeeded"
	}
	text := firstNonEmpty(b.revision, b.main.id, b.from) + " serves"
	if g := b.green(); g != nil {
		text += fmt.Sprintf(", %d of %d running", g.Running, g.Desired)
	}
	return text
}

// trafficSplitText describes where the traffic is, if the deployment ended with traffic at the new
// revision.
func (b *BlueGreen) torn(o sluice.Outcome) string {
	green, blue := b.sets()
	if o != sluice.Failed && o != sluice.Stopped || green == nil || blue == nil || green.Weight == 0 {
		return ""
	}
	return fmt.Sprintf("%g%% of the traffic is at %s, %g%% at %s", green.Weight, firstNonEmpty(b.revision, "the replacement"), blue.Weight, firstNonEmpty(b.from, "the original task set"))
}

func (b *BlueGreen) advice(v Verdict) string {
	switch {
	case v.Outcome == sluice.Succeeded:
		return ""
	case b.over.next != "":
		return b.over.next
	case v.Cause.Kind != "":
		return v.Cause.Kind.Advice()
	case v.Outcome == sluice.TimedOut:
		return "wait again: the deployment goes on, and a wait may begin at any time"
	case v.Outcome == sluice.Superseded:
		return Superseding.Advice()
	case v.Outcome == sluice.Stopped:
		return "deploy again"
	}
	if b.main.id == "" {
		return "see what the service says: aws ecs describe-services"
	}
	return "see what CodeDeploy says: aws deploy get-deployment --deployment-id " + b.main.id
}
