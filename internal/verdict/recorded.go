package verdict

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// judgeMissingService judges a service that does not exist. sure means that nothing else needs
// judging.
func (r *Rollout) absent(o Observation) (end *ending, sure bool) {
	s := o.Service
	gone := s == nil || s.Status == "INACTIVE" || s.Status == "DRAINING"
	d := hold(&r.since.missing, gone, o.At)
	if !gone {
		return nil, false
	}
	enough, why := settle, "there is no such service"
	if r.active {
		enough, why = confirm, "the service was deleted"
	}
	if s != nil {
		why = "the service is " + s.Status + ": somebody deleted it"
	}
	if d < enough {
		return nil, true
	}
	return &ending{outcome: sluice.Gone, why: why, next: "check cluster, service name and Region; create the service, then wait again"}, true
}

// judgeNotCreated judges a deployment that has not appeared.
func (r *Rollout) unborn(o Observation) (end *ending, sure bool) {
	if r.bound && (r.arn == "" || r.lastRec != nil || r.blind || r.seen) {
		return nil, false
	}
	d := hold(&r.since.unseen, true, o.At)
	switch {
	case r.bound && d >= settle:
		return &ending{outcome: sluice.Gone, why: "AWS knows no deployment " + r.want.Deployment + " of this service", next: "aws ecs list-service-deployments shows those of the last 90 days"}, true
	case r.want.Inactive && d >= settle:
		return &ending{outcome: sluice.Gone, why: "task definition " + r.want.Revision + " is INACTIVE: no deployment can bring it any more", next: "register the task definition again"}, true
	case r.bound:
		return nil, true
	}
	return r.wasBack(o), true
}

// alreadyRolledBack returns an end if the revision was deployed and rolled back before the wait
// began. Without the history of deployments it relies on events and stopped tasks.
func (r *Rollout) wasBack(o Observation) *ending {
	p := o.Service.primary()
	if p == nil || o.Service.Current != "" && !r.blind || !o.Service.rolledBackTo(p.ID) {
		return nil
	}
	for _, t := range o.Fallen {
		if t.Revision == r.want.Revision {
			r.ledger = r.add([]Stopped{t}, probes(o.Service.Events))
			r.revision = t.Revision
		}
	}
	if r.leading().Count == 0 || p.State != "COMPLETED" {
		return nil
	}
	return &ending{outcome: sluice.RolledBack, by: p.Revision}
}

// judgeRecord uses the service deployment's own record.
func (r *Rollout) judgeRecord(o Observation) *ending {
	rec := r.lastRec
	r.rolling = rec.returning()
	r.why = firstNonEmpty(rec.RollbackReason, rec.Reason)
	switch rec.Status {
	case "SUCCESSFUL":
		return r.served(o)
	case "ROLLBACK_SUCCESSFUL":
		return r.ended(sluice.RolledBack, r.backTo(o.Service))
	case "ROLLBACK_FAILED":
		return r.ended(sluice.Failed, "")
	case "STOPPED":
		return r.stopped(o)
	}
	if by, newer := r.newer(o); newer && !rec.returning() {
		return r.superseded(o, by)
	}
	if rec.returning() || rec.Status == "STOP_REQUESTED" {
		return nil
	}
	return r.failed(o.Service, r.mine(o.Service), o)
}

// concludeAs returns an end with AWS's reason, and with the alarms that fired as its cause.
func (r *Rollout) ended(outcome sluice.Outcome, by string) *ending {
	e := &ending{outcome: outcome, by: by, why: r.why}
	rec := r.lastRec
	if rec != nil && len(rec.Alarms) > 0 && rec.Breaker.Status != "TRIGGERED" {
		e.cause = &Cause{Kind: AlarmFired, Text: "alarm " + strings.Join(rec.Alarms, ", ") + " fired", Count: 1}
	}
	if outcome == sluice.RolledBack && by != "" && by == r.revision {
		e.why = strings.TrimPrefix(e.why+"; an earlier deployment of the same revision serves again", "; ")
	}
	return e
}

func (r *Rollout) backTo(s *Service) string {
	if r.lastRec.BackTo != "" {
		return r.lastRec.BackTo
	}
	if p := s.primary(); p != nil {
		return p.Revision
	}
	return r.lastRec.From
}

// judgeSuccess judges a deployment that AWS reports as successful: its revision must be PRIMARY.
func (r *Rollout) served(o Observation) *ending {
	s := o.Service
	if s.Current != "" && s.Current != r.arn {
		return r.servedOnce(o)
	}
	p := s.primary()
	match := p != nil && (r.revision == "" || p.Revision == r.revision) && (p.State == "COMPLETED" || p.State == "")
	lag := hold(&r.since.lagging, !match, o.At)
	if !match && lag < settle || p == nil || p.Running == 0 && s.Desired > 0 {
		return nil
	}
	return &ending{outcome: sluice.Succeeded}
}

// judgeReplacedSuccess judges a success while a newer deployment is current. The followed revision
// serves until the newer deployment has replaced its tasks.
func (r *Rollout) servedOnce(o Observation) *ending {
	if d := o.Service.of(r.revision, func(d Deployment) bool { return d.Running > 0 }); d != nil && !r.past {
		return &ending{outcome: sluice.Succeeded, why: "since then a newer deployment has begun"}
	}
	by, newer := r.newer(o)
	if !newer {
		return nil
	}
	end := r.superseded(o, by)
	if end != nil {
		end.why = "it succeeded, and was replaced since"
	}
	return end
}

// newerDeployment reports whether the current deployment was created after the followed one, by
// AWS's times, and returns its revision.
func (r *Rollout) newer(o Observation) (by string, is bool) {
	s := o.Service
	if s.Current == "" || s.Current == r.arn {
		return "", false
	}
	if rec := recordIn(o, s.Current); rec != nil && !rec.CreatedAt.IsZero() {
		if !rec.CreatedAt.After(r.created) {
			return "", false // a stale response
		}
		return rec.Revision, true
	}
	p := s.primary()
	if p == nil || p.ID == r.id || isRollback(p) || !p.CreatedAt.After(r.created) {
		return "", false
	}
	return p.Revision, true
}

// judgeSuperseded follows the newer deployment if it deploys the wanted revision, and otherwise
// ends the wait.
func (r *Rollout) superseded(o Observation, by string) *ending {
	if r.want.Deployment == "" && r.want.Revision != "" && by == r.want.Revision {
		r.bond, r.lastRec = bond{}, nil
		r.choose(o)
		r.complete(o)
		return nil
	}
	return overtaken(by)
}

func overtaken(by string) *ending {
	return &ending{outcome: sluice.Superseded, by: by, cause: &Cause{Kind: Superseding, Text: "a newer deployment took its place", Count: 1}}
}

// judgeStopped judges a deployment whose record is STOPPED without a rollback.
func (r *Rollout) stopped(o Observation) *ending {
	if by, newer := r.newer(o); newer {
		return r.superseded(o, by)
	}
	rec, s := r.lastRec, o.Service
	d := r.mine(s)
	broke := rec.Breaker.Status == "TRIGGERED" || len(rec.Alarms) > 0 || d != nil && d.State == "FAILED" ||
		containsAny(strings.ToLower(rec.Reason), []string{"circuit breaker", "alarm"})
	switch {
	case broke:
		return r.ended(sluice.Failed, "")
	case s.Current != r.arn || containsAny(rec.Reason, []string{"newer service deployment", "new service deployment"}):
		if hold(&r.since.lagging, true, o.At) < confirm {
			return nil // the newer record is not read yet
		}
		return r.superseded(o, primaryRevision(s))
	}
	return r.ended(sluice.Stopped, "")
}

func primaryRevision(s *Service) string {
	if p := s.primary(); p != nil {
		return p.Revision
	}
	return ""
}

// judgeFailed judges a deployment that the circuit breaker or an alarm ended. If AWS rolls back, it
// waits for the rollback. Without an earlier deployment no rollback ever begins.
func (r *Rollout) failed(s *Service, d *Deployment, o Observation) *ending {
	is := d != nil && d.State == "FAILED"
	stood := hold(&r.since.failed, is, o.At)
	if !is || s.returns() && stood < rollsBackWithin {
		return nil
	}
	e := r.ended(sluice.Failed, "")
	e.why = firstNonEmpty(d.Reason, e.why)
	if s.returns() {
		e.why = fmt.Sprintf("%s; no rollback followed within %s: there may be no deployment to go back to", strings.TrimSuffix(e.why, "."), rollsBackWithin)
	}
	return e
}
