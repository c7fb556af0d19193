package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// buildVerdict returns the verdict so far.
func (r *Rollout) verdict(o Observation) Verdict {
	v := Verdict{
		State: Progressing, Revision: firstNonEmpty(r.revision, r.want.Revision), Deployment: firstNonEmpty(r.arn, r.id, r.want.Deployment),
		Causes: r.reasons(o), Logs: r.logs, Unread: r.unread, Counts: r.counts(o), NextLook: r.next(o.At), Detail: r.stand(o),
	}
	if r.over != nil {
		v.State, v.Outcome, v.By = Ended, r.over.outcome, r.over.by
	}
	if len(v.Causes) > 0 {
		v.Cause = v.Causes[0]
	}
	if r.over != nil {
		v.Detail, v.Next = r.sentence(v), r.advice(v)
	}
	return v
}

// listCauses returns the causes, the leading one first: fired alarms, failed tasks, events,
// targets, and tasks that still start.
func (r *Rollout) reasons(o Observation) []Cause {
	var all []Cause
	if r.over != nil && r.over.cause != nil {
		all = append(all, *r.over.cause)
	}
	if r.over != nil && r.over.outcome == sluice.Succeeded {
		return nil
	}
	all = append(all, r.ranked()...)
	s := o.Service
	if s == nil {
		s = r.last
	}
	if s != nil && r.bound {
		all = r.hints(all, s, o)
	}
	if len(all) == 0 && r.lastRec != nil && r.lastRec.Breaker.Status == "TRIGGERED" {
		all = append(all, Cause{Kind: BreakerFired, Text: firstNonEmpty(r.lastRec.Reason, r.why, "the circuit breaker cut the deployment off"), Count: 1})
	}
	return all
}

// addHints adds causes of kinds that are not in the list yet. They come from events and targets,
// not from stopped tasks.
func (r *Rollout) hints(all []Cause, s *Service, o Observation) []Cause {
	add := func(c Cause) {
		if !slices.ContainsFunc(all, func(have Cause) bool { return have.Kind == c.Kind }) {
			all = append(all, c)
		}
	}
	for _, c := range signsIn(s.Events, r.created) {
		if c.Kind != OtherCause || len(all) == 0 {
			add(c)
		}
	}
	if c, ok := r.unhealthyTargets(o); ok {
		add(c)
	}
	if c, ok := r.slow(s); ok && len(all) == 0 && r.over != nil {
		add(c)
	}
	return all
}

func (r *Rollout) unhealthyTargets(o Observation) (Cause, bool) {
	for _, t := range o.Targets {
		if t.State != "unhealthy" && t.Reason != "Target.NotInUse" {
			continue
		}
		text := fmt.Sprintf("target %s:%d is %s: %s", t.ID, t.Port, t.State, firstNonEmpty(t.Description, t.Reason))
		return Cause{Kind: probeKind(t.Description), Text: text, Count: 1, sign: true}, true
	}
	return Cause{}, false
}

// slowStartCause returns a cause if no task failed but some tasks are still starting.
func (r *Rollout) slow(s *Service) (Cause, bool) {
	running, pending, desired := r.tasks(s)
	switch {
	case r.over == nil || r.over.outcome != sluice.TimedOut && r.over.outcome != sluice.Stalled || r.rolling:
		return Cause{}, false
	case pending > 0:
		return Cause{Kind: SlowStart, Text: sluice.Plural(pending, "task") + " still starting", Count: 1, sign: true}, true
	case running >= desired && desired > 0 && s.Running == running:
		return Cause{Kind: SlowStart, Text: sluice.Plural(running, "task") + " running, and not yet healthy in every check", Count: 1, sign: true}, true
	}
	return Cause{}, false
}

// taskNumbers returns the task counts of the followed deployment, or of the task sets of its
// revision.
func (r *Rollout) tasks(s *Service) (running, pending, desired int) {
	if d := r.mine(s); d != nil && !r.external {
		return d.Running, d.Pending, d.Desired
	}
	for _, ts := range s.TaskSets {
		if ts.Revision == r.revision && ts.Status != "DRAINING" {
			running, pending, desired = running+ts.Running, pending+ts.Pending, desired+ts.Desired
		}
	}
	return running, pending, desired
}

func (r *Rollout) counts(o Observation) Counts {
	var n Counts
	s := o.Service
	if s == nil {
		return n
	}
	n.Running, n.Pending, n.Desired = r.tasks(s)
	n.Stopped = len(r.fallen)
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

// progressText returns the current state: "web:3: 1 of 2 running, 1 pending; web:2: 2 running".
func (r *Rollout) stand(o Observation) string {
	s := o.Service
	if s == nil {
		s = r.last
	}
	switch {
	case s == nil && r.looks == 0:
		return "nothing could be read yet"
	case s == nil:
		return "the service is not there"
	case !r.bound:
		return r.absentWords(s)
	}
	parts := append(r.first(s), r.others(s)...)
	if rec := r.lastRec; rec != nil {
		parts = append(parts, rec.words()...)
	}
	if r.rolling && (r.lastRec == nil || !r.lastRec.returning()) {
		parts = append(parts, strings.TrimSuffix("rolling back: "+strings.TrimSuffix(r.why, "."), ": "))
	}
	return strings.Join(parts, "; ")
}

func (r *Rollout) absentWords(s *Service) string {
	serves := primaryRevision(s)
	if p := s.primarySet(); p != nil {
		serves = p.Revision
	}
	what := firstNonEmpty(r.want.Revision, r.want.Deployment, "a deployment")
	if serves == "" || serves == what {
		return what + " has not appeared"
	}
	return what + " has not appeared; " + serves + " serves"
}

func (r *Rollout) first(s *Service) []string {
	running, pending, desired := r.tasks(s)
	if r.mine(s) == nil && desired+running+pending == 0 {
		return []string{firstNonEmpty(r.revision, r.id, r.arn) + ": no task"}
	}
	text := fmt.Sprintf("%s: %d of %d running", firstNonEmpty(r.revision, r.id), running, desired)
	if pending > 0 {
		text += fmt.Sprintf(", %d pending", pending)
	}
	if d := r.mine(s); d != nil && d.Failed > 0 {
		text += fmt.Sprintf(", %d failed", d.Failed)
	}
	return []string{text}
}

func (r *Rollout) others(s *Service) []string {
	var parts []string
	for _, d := range s.Deployments {
		if m := r.mine(s); (m == nil || d.ID != m.ID) && d.Running+d.Pending > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d running", d.Revision, d.Running))
		}
	}
	for _, ts := range s.TaskSets {
		if ts.Revision != r.revision && ts.Running+ts.Pending > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d running", ts.Revision, ts.Running))
		}
	}
	return parts
}

// progressTexts returns the parts of a record that users need.
func (rec *Record) words() []string {
	var parts []string
	if rec.Stage != "" {
		stage := rec.Stage
		if rec.Weight > 0 && rec.Weight < 100 {
			stage += fmt.Sprintf(" with %g%% of the traffic", rec.Weight)
		}
		parts = append(parts, stage)
	}
	if h := rec.awaiting(); h != nil {
		text := "hook " + h.ID + " awaits an answer"
		if !h.ExpiresAt.IsZero() {
			text += " until " + h.ExpiresAt.UTC().Format("15:04:05Z")
			if h.Then != "" {
				text += ", then " + h.Then
			}
		}
		parts = append(parts, text)
	}
	if rec.Breaker.Failures > 0 && !rec.over() {
		parts = append(parts, fmt.Sprintf("circuit breaker at %d of %d failures", rec.Breaker.Failures, rec.Breaker.Threshold))
	}
	switch {
	case rec.returning():
		parts = append(parts, strings.TrimSuffix("rolling back"+to(rec.BackTo)+": "+strings.TrimSuffix(firstNonEmpty(rec.RollbackReason, rec.Reason), "."), ": "))
	case rec.Status == "STOP_REQUESTED":
		parts = append(parts, "being stopped")
	}
	return parts
}

func to(revision string) string {
	if revision == "" {
		return ""
	}
	return " to " + revision
}

// endText describes in one line how the deployment ended, and why.
func (r *Rollout) sentence(v Verdict) string {
	what := firstNonEmpty(v.Revision, v.Deployment, "the deployment")
	if v.Outcome == sluice.Succeeded {
		return strings.TrimSuffix(fmt.Sprintf("%s serves, %d of %d running; %s", what, v.Counts.Running, v.Counts.Desired, r.over.why), "; ")
	}
	var why []string
	if v.Cause.Count > 0 && v.Cause.Kind != Superseding {
		why = append(why, causeWords(v.Cause))
	}
	if r.over.why != "" {
		why = append(why, strings.TrimSuffix(r.over.why, "."))
	}
	if r.looks > 0 && (v.Outcome == sluice.TimedOut || v.Outcome == sluice.Stalled) {
		why = append(why, "last seen: "+v.Detail)
	}
	return strings.TrimSuffix(what+outcomeWords(v.Outcome, v.By)+": "+strings.Join(why, "; "), ": ")
}

func outcomeWords(o sluice.Outcome, by string) string {
	switch o {
	case sluice.RolledBack:
		return " was rolled back" + to(by)
	case sluice.Superseded:
		return strings.TrimSuffix(" was superseded by "+by, " by ")
	case sluice.Failed:
		return " failed"
	case sluice.TimedOut:
		return " is undecided"
	case sluice.Stalled:
		return " does not move"
	case sluice.Stopped:
		return " was stopped"
	}
	return ""
}

// causeText returns a cause with its count and one of its tasks.
func causeWords(c Cause) string {
	text := c.Text
	if c.Task != "" {
		text = fmt.Sprintf("%s stopped: %s (task %s)", sluice.Plural(c.Count, "task"), c.Text, c.Task)
	}
	return text
}

func (r *Rollout) advice(v Verdict) string {
	switch {
	case v.Outcome == sluice.Succeeded:
		return ""
	case r.over.next != "":
		return r.over.next
	case v.Cause.Kind != "":
		return v.Cause.Kind.Advice()
	case v.Outcome == sluice.TimedOut:
		return "wait again: the deployment goes on, and a wait may begin at any time"
	}
	return "see what the service says: aws ecs describe-services"
}
