package verdict

import (
	"slices"
	"strings"
	"time"
)

// binding identifies the deployment that is followed. It uses AWS's ids, never the time at which
// the wait began.
type bond struct {
	bound    bool
	external bool
	arn      string    // of the service deployment
	id       string    // "ecs-svc/<digits>" of the deployment or task set
	revision string    // family:revision that it deploys
	created  time.Time // of the deployment, by AWS
	formers  []string  // ids of the deployments created before it
	seen     bool      // the service's list contained it
	back     bool      // it is itself the target of a rollback
	stood    bool      // it had ended when its record was first read
	rolling  bool      // a poll returned its rollback
	why      string    // AWS's reason for the rollback
	from     string    // revision of the PRIMARY task set when it appeared
	past     bool      // it was found in the history: another deployment replaced it
}

// bindDeployment finds the wanted deployment, or completes what is known about it.
func (r *Rollout) bind(o Observation) {
	s := o.Service
	r.external = s.Controller == "EXTERNAL"
	if r.external {
		r.bindSets(s)
		return
	}
	if r.doubtful(s, o.At) {
		r.bond, r.lastRec = bond{}, nil
	}
	if !r.bound {
		r.choose(o)
	}
	if r.bound {
		r.complete(o)
	}
}

// isDoubtful reports whether a deployment that had ended when it was first read is no longer
// current. Then the first response was stale. It is false if the caller named the deployment.
func (r *Rollout) doubtful(s *Service, now time.Time) bool {
	early := r.stood && now.Sub(r.began) <= settle
	if !early && r.since.ended.IsZero() || !r.bound || r.over != nil || r.want.Deployment != "" {
		return false
	}
	if r.arn != "" && s.Current != "" {
		return s.Current != r.arn
	}
	p := s.primary()
	return p != nil && r.id != "" && p.ID != r.id && p.CreatedAt.After(r.created)
}

func (r *Rollout) choose(o Observation) {
	switch {
	case r.want.Deployment != "":
		r.chooseNamed(o.Service)
	case r.want.Revision != "":
		r.chooseRevision(o)
	case o.Service.Current != "" && !r.blind:
		r.arn, r.bound = o.Service.Current, true
	default:
		r.chooseListed(o.Service)
	}
}

func (r *Rollout) chooseNamed(s *Service) {
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
func (r *Rollout) chooseRevision(o Observation) {
	s, want := o.Service, r.want.Revision
	rec := recordIn(o, s.Current)
	if rec != nil && rec.Revision == want {
		r.arn, r.revision, r.bound = rec.ARN, want, true
		return
	}
	if s.Current != "" && rec == nil && !r.blind {
		return // its record is not read yet
	}
	d := s.of(want, func(d Deployment) bool { return d.Status == "PRIMARY" })
	if d == nil && rec == nil {
		d = s.of(want, func(d Deployment) bool { return s.leaves(d) })
	}
	if d != nil {
		r.follow(s, d)
		return
	}
	if r.recalled = r.recalled || o.Past.Read; o.Past.ARN != "" {
		r.arn, r.revision, r.bound, r.past = o.Past.ARN, want, true, true
	}
}

// isFailedOrRolledBack reports whether an ACTIVE deployment failed or is being rolled back. It is
// false for one that a newer deployment replaces.
func (s *Service) leaves(d Deployment) bool {
	p := s.primary()
	return d.Status == "ACTIVE" && (p == nil || d.State == "FAILED" || isRollback(p) || p.CreatedAt.Before(d.CreatedAt))
}

// chooseListed follows the newest deployment of the list. That is the primary one, unless it is the
// target of a rollback.
func (r *Rollout) chooseListed(s *Service) {
	p := s.primary()
	for i := range s.Deployments {
		if d := &s.Deployments[i]; d != p && s.leaves(*d) {
			r.follow(s, d)
			return
		}
	}
	if p != nil {
		r.follow(s, p)
		r.back = isRollback(p) || s.rolledBackTo(p.ID)
	}
}

func (r *Rollout) follow(s *Service, d *Deployment) {
	r.bound, r.id, r.revision, r.created = true, d.ID, d.Revision, d.CreatedAt
	if r.id == "" {
		r.id = d.Revision // recorded samples may omit the id
	}
}

// completeBinding adds what the record and the list contain about the followed deployment.
func (r *Rollout) complete(o Observation) {
	s := o.Service
	if rec := r.record(o); rec != nil {
		r.revision, r.created = firstNonEmpty(r.revision, rec.Revision), rec.CreatedAt
		r.pair(s, rec)
	} else if r.arn == "" {
		r.adopt(o)
	}
	d := r.mine(s)
	if d == nil {
		return
	}
	r.seen, r.revision = true, firstNonEmpty(r.revision, d.Revision)
	if r.created.IsZero() {
		r.created = d.CreatedAt
	}
	for _, x := range s.Deployments {
		if x.ID != r.id && x.CreatedAt.Before(r.created) && !slices.Contains(r.formers, x.ID) {
			r.formers = append(slices.Clone(r.formers), x.ID)
		}
	}
}

// pairRecord finds the deployment of the list that a record describes.
func (r *Rollout) pair(s *Service, rec *Record) {
	p := s.primary()
	switch {
	case r.id != "":
	case p != nil && s.Current == rec.ARN && !rec.returning() && !strings.HasPrefix(rec.Status, "ROLLBACK") &&
		!isRollback(p) && (rec.Revision == "" || p.Revision == rec.Revision):
		r.id = p.ID
	case rec.Revision != "":
		if d := s.of(rec.Revision, func(d Deployment) bool { return s.leaves(d) }); d != nil {
			r.id = d.ID
		}
	}
}

// adoptRecord finds the record of a deployment that is known by its id.
func (r *Rollout) adopt(o Observation) {
	s := o.Service
	rec, d := recordIn(o, s.Current), s.deployment(r.id)
	if rec == nil || d == nil || rec.Revision != "" && rec.Revision != d.Revision {
		return
	}
	back := strings.HasPrefix(rec.Status, "ROLLBACK")
	if back && d.Status == "ACTIVE" || !back && d.Status == "PRIMARY" && !isRollback(d) {
		r.arn = rec.ARN
	}
}

// followedDeployment returns the followed deployment from the list, or nil.
func (r *Rollout) mine(s *Service) *Deployment {
	if d := s.deployment(r.id); d != nil {
		return d
	}
	if r.id == r.revision {
		return s.of(r.revision, func(Deployment) bool { return true })
	}
	return nil
}

// isOlder reports whether a deployment was created before the followed one.
func (r *Rollout) older(d *Deployment) bool {
	switch {
	case !d.CreatedAt.IsZero() && !r.created.IsZero():
		return d.CreatedAt.Before(r.created)
	case slices.Contains(r.formers, d.ID), isRollback(d), r.rolling:
		return true
	}
	return number(d.Revision) < number(r.revision)
}

// revisionNumber returns the revision number of family:revision; 0 if it has none.
func number(revision string) int {
	n := 0
	for _, c := range revision[strings.LastIndexByte(revision, ':')+1:] {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}
