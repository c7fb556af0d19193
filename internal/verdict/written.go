package verdict

import "time"

// Written is what AWS answered to a write to a rolling service. By it, reads that are
// older than the write are told from newer ones: AWS's answers are eventually
// consistent. The zero Written accepts every read.
type Written struct {
	Deployment string    // id of the deployment that the write made, "ecs-svc/<digits>"
	ARN        string    // of its service deployment; empty: AWS did not tell it
	Created    time.Time // of the deployment, by AWS's time; zero: AWS did not tell it
	Replaced   string    // id of the deployment that is not PRIMARY any more since the write
}

// In reports whether the state of a service is newer than the write: it shows the
// deployment, or one that did not begin before it.
func (w Written) In(s *Service) bool {
	if s == nil || s.Status != "ACTIVE" {
		return true // it is gone, which no write of ours does
	}
	p := s.primary()
	if w.Replaced != "" && p != nil && p.ID == w.Replaced {
		return false
	}
	if w.Deployment == "" || s.deployment(w.Deployment) != nil || w.ARN != "" && s.Current == w.ARN {
		return true
	}
	return p != nil && !w.Created.IsZero() && !p.CreatedAt.Before(w.Created)
}

// isOld reports whether an observation is older than the write that the wait follows.
func (r *Rollout) isOld(o Observation) bool { return o.Service != nil && !r.want.After.In(o.Service) }

// passOver takes in only that time has passed: an older observation shows what was
// before the write.
func (r *Rollout) passOver(o Observation) Verdict {
	if r.over == nil {
		r.over = r.limits(Observation{At: o.At})
	}
	return r.verdict(Observation{At: o.At, Service: r.last})
}
