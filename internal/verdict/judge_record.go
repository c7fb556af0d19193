package verdict

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// judgeMissingService judges a service that does not exist. sure means that nothing else needs
// judging.
func (r *ServiceFollower) judgeMissingService(o Observation) (end *conclusion, sure bool) {
	s := o.Service
	gone := s == nil || s.Status == "INACTIVE" || s.Status == "DRAINING"
	d := trackSince(&r.since.missing, gone, o.At)
	if !gone {
		return nil, false
	}
	enough, why := maxReadLag, "the service does not exist"
	if r.wasActive {
		enough, why = confirmAfter, "the service was deleted"
	}
	if s != nil {
		why = "the service is " + s.Status + ": it was deleted"
	}
	if d < enough {
		return nil, true
	}
	return &conclusion{outcome: sluice.Gone, why: why,
		next: "check cluster, service name and Region; create the service, then wait again"}, true
}

// judgeNotCreated judges a deployment that has not appeared.
func (r *ServiceFollower) judgeNotCreated(o Observation) (end *conclusion, sure bool) {
	if r.followed.bound && (r.followed.arn == "" || r.lastRecord != nil || r.noHistory || r.followed.wasListed) {
		return nil, false
	}
	d := trackSince(&r.since.unseen, true, o.At)
	switch {
	case r.followed.bound && d >= maxReadLag:
		return &conclusion{outcome: sluice.Gone, why: "AWS has no deployment " + r.want.Deployment +
			" of this service", next: "list those of the last 90 days: aws ecs list-service-deployments"}, true
	case r.want.Inactive && d >= maxReadLag:
		return &conclusion{outcome: sluice.Gone, why: "task definition " + r.want.Revision +
			" was deregistered: it can no longer be deployed", next: "register the task definition again"}, true
	case r.followed.bound:
		return nil, true
	}
	return r.alreadyRolledBack(o), true
}

// alreadyRolledBack returns an end if the revision was deployed and rolled back before the wait
// began. Without the history of deployments it relies on events and stopped tasks.
func (r *ServiceFollower) alreadyRolledBack(o Observation) *conclusion {
	p := o.Service.primaryDeployment()
	if p == nil || o.Service.Current != "" && !r.noHistory || !o.Service.rolledBackTo(p.ID) {
		return nil
	}
	for _, t := range o.NewlyStopped {
		if t.Revision == r.want.Revision {
			r.failures = r.failures.AddStopped([]diagnosis.Stopped{t}, o.Service.Events)
			r.followed.revision = t.Revision
		}
	}
	if r.failures.Count() == 0 || p.State != "COMPLETED" {
		return nil
	}
	return &conclusion{outcome: sluice.RolledBack, by: p.Revision}
}

// judgeRecord uses the service deployment's own record.
func (r *ServiceFollower) judgeRecord(o Observation) *conclusion {
	rec := r.lastRecord
	r.followed.rollingBack = rec.isRollingBack()
	r.followed.rollbackReason = firstNonEmpty(rec.RollbackReason, rec.Reason)
	switch rec.Status {
	case "SUCCESSFUL":
		return r.judgeSuccess(o)
	case "ROLLBACK_SUCCESSFUL":
		return r.concludeAs(sluice.RolledBack, r.lastRecord.rollbackRevision(o.Service))
	case "ROLLBACK_FAILED":
		return r.concludeAs(sluice.Failed, "")
	case "STOPPED":
		return r.judgeStopped(o)
	}
	if by, newer := r.followed.newerDeployment(o); newer && !rec.isRollingBack() {
		return r.judgeSuperseded(o, by)
	}
	if rec.isRollingBack() || rec.Status == "STOP_REQUESTED" {
		return nil
	}
	return r.judgeFailed(o.Service, r.followed.deploymentIn(o.Service), o)
}

// concludeAs returns an end with AWS's reason, and with the alarms that fired, or the hook that failed, as its cause.
func (r *ServiceFollower) concludeAs(outcome sluice.Outcome, by string) *conclusion {
	e := &conclusion{outcome: outcome, by: by, why: r.followed.rollbackReason}
	rec := r.lastRecord
	if rec != nil && len(rec.Alarms) > 0 && rec.Breaker.Status != "TRIGGERED" {
		e.cause = &diagnosis.Cause{Kind: diagnosis.AlarmFired,
			Text:  "alarm " + strings.Join(rec.Alarms, ", ") + " fired",
			Count: 1}
	}
	if h := rec.failedHook(); h != nil && e.cause == nil {
		e.cause = &diagnosis.Cause{Kind: diagnosis.HookFailed, Text: h.failureText(), Count: 1}
	}
	if outcome == sluice.RolledBack && by != "" && by == r.followed.revision {
		e.why = strings.TrimPrefix(e.why+"; an earlier deployment of the same revision serves again", "; ")
	}
	return e
}

// rollbackRevision returns the revision that serves after the deployment was rolled back.
func (rec *Record) rollbackRevision(s *Service) string {
	if rec.BackTo != "" {
		return rec.BackTo
	}
	if p := s.primaryDeployment(); p != nil {
		return p.Revision
	}
	return rec.From
}

// judgeSuccess judges a deployment that AWS reports as successful: its revision must be PRIMARY. A service
// that names no current deployment shows by its PRIMARY one that another replaced it.
func (r *ServiceFollower) judgeSuccess(o Observation) *conclusion {
	s := o.Service
	if s.Current != "" && s.Current != r.followed.arn {
		return r.judgeReplacedSuccess(o)
	}
	p := s.primaryDeployment()
	serves := p != nil && (r.followed.revision == "" || p.Revision == r.followed.revision)
	match := serves && (p.State == "COMPLETED" || p.State == "")
	lag := trackSince(&r.since.lagging, !match, o.At)
	switch {
	case p == nil, !match && lag < maxReadLag, p.State == "FAILED", p.Running == 0 && s.Desired > 0:
		return nil
	case serves:
		return &conclusion{outcome: sluice.Succeeded}
	case s.Current != "":
		return nil // AWS contradicts itself
	case p.CreatedAt.Before(r.followed.created):
		r.followed.rollbackReason = "it succeeded, and an earlier deployment serves since"
		return r.concludeAs(sluice.RolledBack, p.Revision)
	}
	end := concludeSuperseded(p.Revision)
	end.why = "it succeeded, and was replaced since"
	return end
}

// judgeReplacedSuccess judges a success while a newer deployment is current. The followed revision
// serves until the newer deployment has replaced its tasks.
func (r *ServiceFollower) judgeReplacedSuccess(o Observation) *conclusion {
	if d := o.Service.newestOf(r.followed.revision, func(d Deployment) bool { return d.Running > 0 }); d != nil &&
		!r.followed.wasReplaced {
		return &conclusion{outcome: sluice.Succeeded, why: "a newer deployment has begun since then", isReplaced: true}
	}
	by, newer := r.followed.newerDeployment(o)
	if !newer {
		return nil
	}
	end := r.judgeSuperseded(o, by)
	if end != nil {
		end.why = "it succeeded, and was replaced since"
	}
	return end
}

// newerDeployment reports whether the current deployment was created after the followed one, by
// AWS's times, and returns its revision.
func (b *binding) newerDeployment(o Observation) (by string, is bool) {
	s := o.Service
	if s.Current == "" || s.Current == b.arn {
		return "", false
	}
	if rec := findRecord(o, s.Current); rec != nil && !rec.CreatedAt.IsZero() {
		if !rec.CreatedAt.After(b.created) {
			return "", false // a stale response
		}
		return rec.Revision, true
	}
	p := s.primaryDeployment()
	if p == nil || p.ID == b.id || isRollback(p) || !p.CreatedAt.After(b.created) {
		return "", false
	}
	return p.Revision, true
}

// judgeSuperseded follows the newer deployment if it deploys the wanted revision, and otherwise
// ends the wait.
func (r *ServiceFollower) judgeSuperseded(o Observation, by string) *conclusion {
	if r.want.Deployment == "" && r.want.Revision != "" && by == r.want.Revision {
		r.followed, r.lastRecord = binding{}, nil
		r.chooseDeployment(o)
		r.followed.complete(o)
		return nil
	}
	return concludeSuperseded(by)
}

func concludeSuperseded(by string) *conclusion {
	return &conclusion{outcome: sluice.Superseded, by: by,
		cause: &diagnosis.Cause{Kind: diagnosis.Superseding, Text: "a newer deployment replaced it", Count: 1}}
}

// judgeStopped judges a deployment whose record is STOPPED without a rollback.
func (r *ServiceFollower) judgeStopped(o Observation) *conclusion {
	if by, newer := r.followed.newerDeployment(o); newer {
		return r.judgeSuperseded(o, by)
	}
	rec, s := r.lastRecord, o.Service
	d := r.followed.deploymentIn(s)
	broke := rec.Breaker.Status == "TRIGGERED" || len(rec.Alarms) > 0 || d != nil && d.State == "FAILED" ||
		containsAny(strings.ToLower(rec.Reason), []string{"circuit breaker", "alarm"})
	switch {
	case broke:
		return r.concludeAs(sluice.Failed, "")
	case s.Current != r.followed.arn || containsAny(rec.Reason,
		[]string{"newer service deployment", "new service deployment"}):
		if trackSince(&r.since.lagging, true, o.At) < confirmAfter {
			return nil // the newer record is not read yet
		}
		return r.judgeSuperseded(o, primaryRevision(s))
	}
	return r.concludeAs(sluice.Stopped, "")
}

func primaryRevision(s *Service) string {
	if p := s.primaryDeployment(); p != nil {
		return p.Revision
	}
	return ""
}

// judgeFailed judges a deployment that the circuit breaker or an alarm ended. If AWS rolls back, it
// waits for the rollback. Without an earlier deployment no rollback ever begins.
func (r *ServiceFollower) judgeFailed(s *Service, d *Deployment, o Observation) *conclusion {
	is := d != nil && d.State == "FAILED"
	stood := trackSince(&r.since.failed, is, o.At)
	if !is || s.rollsBack() && stood < rollsBackWithin {
		return nil
	}
	e := r.concludeAs(sluice.Failed, "")
	e.why = firstNonEmpty(d.Reason, e.why)
	if s.rollsBack() {
		e.why = fmt.Sprintf("%s; no rollback followed within %s: there may be no earlier deployment to restore",
			strings.TrimSuffix(e.why, "."), rollsBackWithin)
	}
	return e
}
