package verdict

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
)

// bindSets finds the task sets of the wanted revision. It identifies sets by revision, because a
// canary's revision continues in the primary set that follows it.
func (r *ServiceFollower) bindSets(s *Service) {
	if !r.bound {
		r.chooseSet(s)
	}
	for _, ts := range s.TaskSets {
		if ts.Revision == r.revision && r.bound && ts.Status != "DRAINING" {
			r.wasListed, r.id = true, ts.ID
			if r.created.IsZero() || ts.CreatedAt.After(r.created) {
				r.created = ts.CreatedAt
			}
		}
	}
}

func (r *ServiceFollower) chooseSet(s *Service) {
	var newest *sluice.TaskSet
	for i := range s.TaskSets {
		ts := &s.TaskSets[i]
		named := r.want.Deployment != "" && (r.want.Deployment == ts.ID || r.want.Deployment == ts.ARN)
		fits := named || r.want.Deployment == "" && (r.want.Revision == "" || r.want.Revision == ts.Revision)
		if fits && (ts.Status != "DRAINING" || named) && (newest == nil || ts.CreatedAt.After(newest.CreatedAt)) {
			newest = ts
		}
	}
	if newest == nil {
		return
	}
	r.bound, r.revision = true, newest.Revision
	if p := s.primarySet(); p != nil && p.Revision != r.revision {
		r.previousRevision = p.Revision
	}
}

// judgeSets ends the wait when the PRIMARY set is of the wanted revision, complete and healthy, and
// no other set of this change is left.
func (r *ServiceFollower) judgeSets(s *Service, now time.Time) *conclusion {
	p := s.primarySet()
	ours := p != nil && p.Revision == r.revision
	switch {
	case ours && isSteady(p) && !r.hasLeftover(s, p):
		return &conclusion{outcome: sluice.Succeeded}
	case ours || p == nil:
		return nil
	}
	if by := r.newerSetRevision(s); by != "" {
		return concludeSuperseded(by)
	}
	left := slices.ContainsFunc(s.TaskSets, func(ts sluice.TaskSet) bool {
		return ts.Revision == r.revision &&
			ts.Status != "DRAINING"
	})
	gone := trackSince(&r.since.inconsistent, !left, now)
	if !r.wasListed && !left && gone >= maxReadLag {
		return &conclusion{outcome: sluice.Gone, why: "the task set is being deleted"}
	}
	if !r.wasListed || left || gone < confirmAfter || !isSteady(p) {
		return nil
	}
	r.rollbackReason = "its task sets were deleted"
	return r.concludeAs(sluice.RolledBack, p.Revision)
}

func isSteady(ts *sluice.TaskSet) bool {
	return ts.Steady && ts.Pending == 0 && ts.Desired > 0 && ts.Running >= ts.Desired
}

// hasLeftover reports whether a set of this change is still to be deleted: an older set, or a
// canary of the same revision.
func (r *ServiceFollower) hasLeftover(s *Service, p *sluice.TaskSet) bool {
	return !r.want.Serving && slices.ContainsFunc(s.TaskSets, func(ts sluice.TaskSet) bool {
		return ts.Status == "ACTIVE" && ts.ID != p.ID && (ts.Revision == r.revision || !ts.CreatedAt.After(r.created))
	})
}

// newerSetRevision returns the revision of a task set that is newer than all sets of the followed
// revision and was not PRIMARY before. The previous PRIMARY is excluded, because a rollback creates
// it again.
func (r *ServiceFollower) newerSetRevision(s *Service) string {
	for _, ts := range s.TaskSets {
		if r.wasListed && ts.Status != "DRAINING" && ts.Revision != r.revision && ts.Revision != r.previousRevision &&
			ts.CreatedAt.After(r.created) {
			return ts.Revision
		}
	}
	return ""
}
