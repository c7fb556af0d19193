package verdict

import (
	"time"

	"github.com/sluice-ecs/sluice"
)

// judgeListed uses only the service's list of deployments, for an account or simulator without the
// history of deployments.
func (r *Rollout) judgeListed(s *Service, now time.Time) *ending {
	d, p := r.mine(s), s.primary()
	switch {
	case d == nil:
		return r.vanished(p, now)
	case d == p:
		return r.primaryNow(s, d, now)
	case p == nil:
		return r.failed(s, d, Observation{At: now})
	case isRollback(p) || r.older(p):
		return r.goneBack(p)
	case p.Revision == r.want.Revision && r.want.Deployment == "":
		r.bond = bond{}
		r.follow(s, p)
		return nil
	}
	return overtaken(p.Revision)
}

// primaryNow judges the deployment while it is the primary one.
func (r *Rollout) primaryNow(s *Service, d *Deployment, now time.Time) *ending {
	whole := d.Running >= s.Desired && d.Pending == 0 && len(s.Deployments) == 1
	done := d.State == "COMPLETED" || d.State == "" && whole
	switch {
	case d.State == "FAILED":
		return r.failed(s, d, Observation{At: now})
	case !done || d.Running == 0 && s.Desired > 0:
		return nil
	case r.back:
		r.why = "a rollback went back to it before the wait began"
		return r.ended(sluice.RolledBack, d.Revision)
	}
	return &ending{outcome: sluice.Succeeded}
}

// rolledBackNow judges a rollback: the previous revision is the primary deployment again.
func (r *Rollout) goneBack(p *Deployment) *ending {
	r.rolling = true
	if isRollback(p) {
		r.why = p.Reason
	}
	if p.State != "COMPLETED" {
		return nil
	}
	return r.ended(sluice.RolledBack, p.Revision)
}

// judgeUnlisted judges a deployment that the list does not contain: no longer, or not yet.
func (r *Rollout) vanished(p *Deployment, now time.Time) *ending {
	d := hold(&r.since.torn, true, now)
	switch {
	case p != nil && (r.seen || !r.created.IsZero()):
		if r.older(p) {
			return r.goneBack(p)
		}
		return overtaken(p.Revision)
	case d < settle:
		return nil
	}
	return &ending{outcome: sluice.Gone, why: "the service shows no deployment " + r.id, next: "aws ecs describe-services shows those that it has"}
}
