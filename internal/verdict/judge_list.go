package verdict

import (
	"time"

	"github.com/sluice-ecs/sluice"
)

// judgeListed uses only the service's list of deployments, for an account or simulator without the
// history of deployments.
func (r *ServiceFollower) judgeListed(s *Service, now time.Time) *conclusion {
	d, p := r.followed.deploymentIn(s), s.primaryDeployment()
	switch {
	case d == nil:
		return r.judgeUnlisted(s, p, now)
	case d == p:
		return r.judgePrimary(s, d, now)
	case p == nil:
		return r.judgeFailed(s, d, Observation{At: now})
	case isRollback(p) || r.followed.isOlder(p):
		return r.rolledBackNow(p)
	case p.Revision == r.want.Revision && r.want.Deployment == "":
		r.followed = binding{}
		r.followed.follow(s, p)
		return nil
	}
	return concludeSuperseded(p.Revision)
}

// judgePrimary judges the deployment while it is the primary one.
func (r *ServiceFollower) judgePrimary(s *Service, d *Deployment, now time.Time) *conclusion {
	whole := d.Running >= s.Desired && d.Pending == 0 && len(s.Deployments) == 1
	done := d.State == "COMPLETED" || d.State == "" && whole
	switch {
	case d.State == "FAILED":
		return r.judgeFailed(s, d, Observation{At: now})
	case !done || d.Running == 0 && s.Desired > 0:
		return nil
	case r.followed.isRollbackTarget:
		r.followed.rollbackReason = "a rollback restored it before the wait began"
		return r.concludeAs(sluice.RolledBack, d.Revision)
	}
	return &conclusion{outcome: sluice.Succeeded}
}

// rolledBackNow judges a rollback: the previous revision is the primary deployment again.
func (r *ServiceFollower) rolledBackNow(p *Deployment) *conclusion {
	r.followed.rollingBack = true
	if isRollback(p) {
		r.followed.rollbackReason = p.Reason
	}
	if p.State != "COMPLETED" {
		return nil
	}
	return r.concludeAs(sluice.RolledBack, p.Revision)
}

// judgeUnlisted judges a deployment that the list does not contain: no longer, or not yet.
func (r *ServiceFollower) judgeUnlisted(s *Service, p *Deployment, now time.Time) *conclusion {
	end := s.endOf(r.followed.id)
	d := trackSince(&r.since.inconsistent, true, now)
	switch {
	case p != nil && (r.followed.wasListed || !r.followed.created.IsZero()):
		if r.followed.isOlder(p) {
			return r.rolledBackNow(p)
		}
		return concludeSuperseded(p.Revision)
	case p != nil && end.is != "":
		return r.judgeByEvents(s, p, end)
	case d < maxReadLag:
		return nil
	}
	return &conclusion{outcome: sluice.Gone, why: "the service has no deployment " + r.followed.id,
		next: "list its deployments: sluice status"}
}

// judgeByEvents judges a deployment that ended before the wait began, by the service's events.
func (r *ServiceFollower) judgeByEvents(s *Service, p *Deployment, end eventEnd) *conclusion {
	r.followed.rollbackReason = end.reason
	switch {
	case end.is == deploymentCompleted:
		return concludeSuperseded(p.Revision)
	case end.backTo == p.ID:
		return r.rolledBackNow(p)
	case end.backTo == "":
		return r.concludeAs(sluice.Failed, "")
	}
	if d := s.findDeployment(end.backTo); d != nil {
		return r.concludeAs(sluice.RolledBack, d.Revision)
	}
	return r.concludeAs(sluice.RolledBack, "")
}
