package verdict

import "time"

// Written is AWS's response to a write to a rolling service. It distinguishes reads that are older
// than the write from newer ones, because AWS's reads are eventually consistent. The zero Written
// accepts every read.
type Written struct {
	Deployment string    // id of the deployment that the write created, "ecs-svc/<digits>"
	ARN        string    // of its service deployment; empty: AWS did not return it
	Created    time.Time // of the deployment, by AWS's time; zero: AWS did not return it
	Replaced   string    // id of the deployment that was PRIMARY before the write
}

// IsIn reports whether the state of a service is newer than the write. It then contains the written
// deployment, or one that did not begin before it.
func (w Written) IsIn(s *Service) bool {
	if s == nil || s.Status != "ACTIVE" {
		return true // the service was deleted, which sluice never does here
	}
	p := s.primaryDeployment()
	if w.Replaced != "" && p != nil && p.ID == w.Replaced {
		return false
	}
	if w.Deployment == "" || s.findDeployment(w.Deployment) != nil || w.ARN != "" && s.Current == w.ARN {
		return true
	}
	return p != nil && !w.Created.IsZero() && !p.CreatedAt.Before(w.Created)
}

// oldFor is how long observations may be older than a write that an earlier one has shown. Then ECS has taken the
// written deployment back to the one that it replaced, as an alarm requests.
const oldFor = 30 * time.Second

// isOld reports whether an observation is older than the write that the wait follows.
func (r *ServiceFollower) isOld(o Observation) bool {
	if o.Service == nil {
		return false
	}
	old := trackSince(&r.since.old, !r.want.AfterWrite.IsIn(o.Service), o.At)
	return old >= 0 && (r.last == nil || old < oldFor)
}

// skipObservation only checks the time limits: an older observation contains the state before the
// write, and does not show that ECS lets time pass.
func (r *ServiceFollower) skipObservation(o Observation) Verdict {
	r.ecsBakes, r.shiftsBack = false, false
	if r.conclusion == nil {
		r.conclusion = r.checkLimits(Observation{At: o.At})
	}
	return r.buildVerdict(Observation{At: o.At, Service: r.last})
}
