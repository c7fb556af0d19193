package verdict

import (
	"slices"
	"strings"
	"time"
)

// binding identifies the deployment that is followed. It uses AWS's ids, never the time at which
// the wait began.
type binding struct {
	bound            bool
	external         bool
	arn              string    // of the service deployment
	id               string    // "ecs-svc/<digits>" of the deployment or task set
	revision         string    // family:revision that it deploys
	created          time.Time // of the deployment, by AWS
	earlierIDs       []string  // ids of the deployments created before it
	wasListed        bool      // the service's list contained it
	isRollbackTarget bool      // it is itself the target of a rollback
	endedAtFirst     bool      // it had ended when its record was first read
	rollingBack      bool      // a poll returned its rollback
	rollbackReason   string    // AWS's reason for the rollback
	previousRevision string    // revision of the PRIMARY task set when it appeared
	wasReplaced      bool      // it was found in the history: another deployment replaced it
}

// bindDeployment finds the wanted deployment, or completes what is known about it.
func (r *ServiceFollower) bindDeployment(o Observation) {
	s := o.Service
	r.external = s.Controller == "EXTERNAL"
	if r.external {
		r.bindSets(s)
		return
	}
	if r.isDoubtful(s, o.At) {
		r.binding, r.lastRecord = binding{}, nil
	}
	if !r.bound {
		r.chooseDeployment(o)
	}
	if r.bound {
		r.completeBinding(o)
	}
}

// isDoubtful reports whether a deployment that had ended when it was first read is no longer
// current. Then the first response was stale. It is false if the caller named the deployment.
func (r *ServiceFollower) isDoubtful(s *Service, now time.Time) bool {
	early := r.endedAtFirst && now.Sub(r.began) <= maxReadLag
	if !early && r.since.ended.IsZero() || !r.bound || r.conclusion != nil || r.want.Deployment != "" {
		return false
	}
	if r.arn != "" && s.Current != "" {
		return s.Current != r.arn
	}
	p := s.primaryDeployment()
	return p != nil && r.id != "" && p.ID != r.id && p.CreatedAt.After(r.created)
}

func (r *ServiceFollower) chooseDeployment(o Observation) {
	switch {
	case r.want.Deployment != "":
		r.chooseNamed(o.Service)
	case r.want.Revision != "":
		r.chooseRevision(o)
	case o.Service.Current != "" && !r.noHistory:
		r.arn, r.bound = o.Service.Current, true
	default:
		r.chooseListed(o.Service)
	}
}

func (r *ServiceFollower) chooseNamed(s *Service) {
	r.bound = true
	switch want := r.want.Deployment; {
	case strings.Contains(want, ":service-deployment/"):
		r.arn = want
	case strings.HasPrefix(want, "ecs-svc/"):
		r.id = want
	default:
		r.arn = strings.Replace(s.ARN, ":service/", ":service-deployment/", 1) + "/" + want
	}
}

// chooseRevision waits for the revision to appear: deployed by the current service deployment, or
// already PRIMARY.
func (r *ServiceFollower) chooseRevision(o Observation) {
	s, want := o.Service, r.want.Revision
	rec := findRecord(o, s.Current)
	if rec != nil && rec.Revision == want {
		r.arn, r.revision, r.bound = rec.ARN, want, true
		return
	}
	if s.Current != "" && rec == nil && !r.noHistory {
		return // its record is not read yet
	}
	d := s.newestOf(want, func(d Deployment) bool { return d.Status == "PRIMARY" })
	if d == nil && rec == nil {
		d = s.newestOf(want, func(d Deployment) bool { return s.isFailedOrRolledBack(d) })
	}
	if d != nil {
		r.followDeployment(s, d)
		return
	}
	if r.historyRead = r.historyRead || o.Past.Read; o.Past.ARN != "" {
		r.arn, r.revision, r.bound, r.wasReplaced = o.Past.ARN, want, true, true
	}
}

// isFailedOrRolledBack reports whether an ACTIVE deployment failed or is being rolled back. It is
// false for one that a newer deployment replaces.
func (s *Service) isFailedOrRolledBack(d Deployment) bool {
	p := s.primaryDeployment()
	return d.Status == "ACTIVE" && (p == nil || d.State == "FAILED" || isRollback(p) || p.CreatedAt.Before(d.CreatedAt))
}

// chooseListed follows the newest deployment of the list. That is the primary one, unless it is the
// target of a rollback.
func (r *ServiceFollower) chooseListed(s *Service) {
	p := s.primaryDeployment()
	for i := range s.Deployments {
		if d := &s.Deployments[i]; d != p && s.isFailedOrRolledBack(*d) {
			r.followDeployment(s, d)
			return
		}
	}
	if p != nil {
		r.followDeployment(s, p)
		r.isRollbackTarget = isRollback(p) || s.rolledBackTo(p.ID)
	}
}

func (r *ServiceFollower) followDeployment(s *Service, d *Deployment) {
	r.bound, r.id, r.revision, r.created = true, d.ID, d.Revision, d.CreatedAt
	if r.id == "" {
		r.id = d.Revision // recorded samples may omit the id
	}
}

// completeBinding adds what the record and the list contain about the followed deployment.
func (r *ServiceFollower) completeBinding(o Observation) {
	s := o.Service
	if rec := r.followedRecord(o); rec != nil {
		r.revision, r.created = firstNonEmpty(r.revision, rec.Revision), rec.CreatedAt
		r.pairRecord(s, rec)
	} else if r.arn == "" {
		r.adoptRecord(o)
	}
	d := r.followedDeployment(s)
	if d == nil {
		return
	}
	r.wasListed, r.revision = true, firstNonEmpty(r.revision, d.Revision)
	if r.created.IsZero() {
		r.created = d.CreatedAt
	}
	for _, x := range s.Deployments {
		if x.ID != r.id && x.CreatedAt.Before(r.created) && !slices.Contains(r.earlierIDs, x.ID) {
			r.earlierIDs = append(slices.Clone(r.earlierIDs), x.ID)
		}
	}
}

// pairRecord finds the deployment of the list that a record describes.
func (r *ServiceFollower) pairRecord(s *Service, rec *Record) {
	p := s.primaryDeployment()
	switch {
	case r.id != "":
	case p != nil && s.Current == rec.ARN && !rec.isRollingBack() && !strings.HasPrefix(rec.Status, "ROLLBACK") &&
		!isRollback(p) && (rec.Revision == "" || p.Revision == rec.Revision):
		r.id = p.ID
	case rec.Revision != "":
		if d := s.newestOf(rec.Revision, func(d Deployment) bool { return s.isFailedOrRolledBack(d) }); d != nil {
			r.id = d.ID
		}
	}
}

// adoptRecord finds the record of a deployment that is known by its id.
func (r *ServiceFollower) adoptRecord(o Observation) {
	s := o.Service
	rec, d := findRecord(o, s.Current), s.findDeployment(r.id)
	if rec == nil || d == nil || rec.Revision != "" && rec.Revision != d.Revision {
		return
	}
	back := strings.HasPrefix(rec.Status, "ROLLBACK")
	if back && d.Status == "ACTIVE" || !back && d.Status == "PRIMARY" && !isRollback(d) {
		r.arn = rec.ARN
	}
}

// followedDeployment returns the followed deployment from the list, or nil.
func (r *ServiceFollower) followedDeployment(s *Service) *Deployment {
	if d := s.findDeployment(r.id); d != nil {
		return d
	}
	if r.id == r.revision {
		return s.newestOf(r.revision, func(Deployment) bool { return true })
	}
	return nil
}

// isOlder reports whether a deployment was created before the followed one.
func (r *ServiceFollower) isOlder(d *Deployment) bool {
	switch {
	case !d.CreatedAt.IsZero() && !r.created.IsZero():
		return d.CreatedAt.Before(r.created)
	case slices.Contains(r.earlierIDs, d.ID), isRollback(d), r.rollingBack:
		return true
	}
	return revisionNumber(d.Revision) < revisionNumber(r.revision)
}

// revisionNumber returns the revision number of family:revision; 0 if it has none.
func revisionNumber(revision string) int {
	n := 0
	for _, c := range revision[strings.LastIndexByte(revision, ':')+1:] {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}
