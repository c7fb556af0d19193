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
	confirmed        bool      // a read that cannot be from before the wait has shown it as current
	rollingBack      bool      // a poll returned its rollback
	rollbackReason   string    // AWS's reason for the rollback
	previousRevision string    // revision of the PRIMARY task set when it appeared
	wasReplaced      bool      // it was found in the history: another deployment replaced it
}

// bindDeployment finds the wanted deployment, or completes what is known about it.
func (r *ServiceFollower) bindDeployment(o Observation) {
	s := o.Service
	r.followed.external = s.Controller == "EXTERNAL"
	if r.followed.external {
		r.followed.bindSets(r.want, s)
		return
	}
	if r.isDoubtful(s) {
		r.followed, r.lastRecord, r.since.ended = binding{}, nil, time.Time{}
	}
	r.followed.confirmed = r.followed.confirmed || r.followed.bound && o.At.Sub(r.began) >= maxReadLag
	if !r.followed.bound {
		r.chooseDeployment(o)
	}
	if r.followed.bound {
		r.followed.complete(o)
	}
}

// isDoubtful reports whether a deployment that may be an earlier one is no longer current: it had ended when
// it was first read, or ended soon after, or another one was just started. Then the first response was
// stale. It is false if the caller named the deployment.
func (r *ServiceFollower) isDoubtful(s *Service) bool {
	early := (r.followed.endedAtFirst || r.want.JustStarted) && !r.followed.confirmed
	if !early && r.since.ended.IsZero() || !r.followed.bound || r.conclusion != nil || r.want.Deployment != "" {
		return false
	}
	if r.followed.arn != "" && s.Current != "" {
		return s.Current != r.followed.arn
	}
	p := s.primaryDeployment()
	return p != nil && r.followed.id != "" && p.ID != r.followed.id && p.CreatedAt.After(r.followed.created)
}

func (r *ServiceFollower) chooseDeployment(o Observation) {
	switch {
	case r.want.Deployment != "":
		r.followed.chooseNamed(r.want.Deployment, o.Service)
	case r.want.Revision != "":
		r.chooseRevision(o)
	case o.Service.Current != "" && !r.noHistory:
		r.followed.arn, r.followed.bound = o.Service.Current, true
	default:
		r.followed.chooseListed(o.Service)
	}
}

// chooseNamed follows the deployment that the caller named, by its ARN or its id.
func (b *binding) chooseNamed(want string, s *Service) {
	b.bound = true
	switch {
	case strings.Contains(want, ":service-deployment/"):
		b.arn = want
	case strings.HasPrefix(want, "ecs-svc/"):
		b.id = want
	default:
		b.arn = strings.Replace(s.ARN, ":service/", ":service-deployment/", 1) + "/" + want
	}
}

// chooseRevision waits for the revision to appear: deployed by the current service deployment, or
// already PRIMARY.
func (r *ServiceFollower) chooseRevision(o Observation) {
	s, want := o.Service, r.want.Revision
	rec := findRecord(o, s.Current)
	if rec != nil && rec.Revision == want {
		r.followed.arn, r.followed.revision, r.followed.bound = rec.ARN, want, true
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
		r.followed.follow(s, d)
		return
	}
	if r.historyRead = r.historyRead || o.Past.Read; o.Past.ARN != "" {
		r.followed.arn, r.followed.revision, r.followed.bound, r.followed.wasReplaced = o.Past.ARN, want, true, true
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
func (b *binding) chooseListed(s *Service) {
	p := s.primaryDeployment()
	for i := range s.Deployments {
		if d := &s.Deployments[i]; d != p && s.isFailedOrRolledBack(*d) {
			b.follow(s, d)
			return
		}
	}
	if p != nil {
		b.follow(s, p)
		b.isRollbackTarget = isRollback(p) || s.rolledBackTo(p.ID)
	}
}

func (b *binding) follow(s *Service, d *Deployment) {
	b.bound, b.id, b.revision, b.created = true, d.ID, d.Revision, d.CreatedAt
	if b.id == "" {
		b.id = d.Revision // recorded samples may omit the id
	}
}

// complete adds what the record and the list contain about the followed deployment.
func (b *binding) complete(o Observation) {
	s := o.Service
	if rec := b.recordIn(o); rec != nil {
		b.revision, b.created = firstNonEmpty(b.revision, rec.Revision), rec.CreatedAt
		b.pairRecord(s, rec)
	} else if b.arn == "" {
		b.adoptRecord(o)
	}
	d := b.deploymentIn(s)
	if d == nil {
		return
	}
	b.wasListed, b.revision = true, firstNonEmpty(b.revision, d.Revision)
	if b.created.IsZero() {
		b.created = d.CreatedAt
	}
	for _, x := range s.Deployments {
		if x.ID != b.id && x.CreatedAt.Before(b.created) && !slices.Contains(b.earlierIDs, x.ID) {
			b.earlierIDs = append(slices.Clone(b.earlierIDs), x.ID)
		}
	}
}

// pairRecord finds the deployment of the list that a record describes.
func (b *binding) pairRecord(s *Service, rec *Record) {
	p := s.primaryDeployment()
	switch {
	case b.id != "":
	case p != nil && s.Current == rec.ARN && !rec.isRollingBack() && !strings.HasPrefix(rec.Status, "ROLLBACK") &&
		!isRollback(p) && (rec.Revision == "" || p.Revision == rec.Revision):
		b.id = p.ID
	case rec.Revision != "":
		if d := s.newestOf(rec.Revision, func(d Deployment) bool { return s.isFailedOrRolledBack(d) }); d != nil {
			b.id = d.ID
		}
	}
}

// adoptRecord finds the record of a deployment that is known by its id.
func (b *binding) adoptRecord(o Observation) {
	s := o.Service
	rec, d := findRecord(o, s.Current), s.findDeployment(b.id)
	if rec == nil || d == nil || rec.Revision != "" && rec.Revision != d.Revision {
		return
	}
	back := strings.HasPrefix(rec.Status, "ROLLBACK")
	if back && d.Status == "ACTIVE" || !back && d.Status == "PRIMARY" && !isRollback(d) {
		b.arn = rec.ARN
	}
}

// deploymentIn returns the followed deployment from the list, or nil.
func (b *binding) deploymentIn(s *Service) *Deployment {
	if d := s.findDeployment(b.id); d != nil {
		return d
	}
	if b.id == b.revision {
		return s.newestOf(b.revision, func(Deployment) bool { return true })
	}
	return nil
}

// isOlder reports whether a deployment was created before the followed one.
func (b *binding) isOlder(d *Deployment) bool {
	switch {
	case !d.CreatedAt.IsZero() && !b.created.IsZero():
		return d.CreatedAt.Before(b.created)
	case slices.Contains(b.earlierIDs, d.ID), isRollback(d), b.rollingBack:
		return true
	}
	return revisionNumber(d.Revision) < revisionNumber(b.revision)
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
