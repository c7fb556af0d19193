package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
)

// bindSets finds the task sets of the wanted revision. It identifies sets by revision, because a
// canary's revision continues in the primary set that follows it.
func (b *binding) bindSets(w Wanted, s *Service) {
	if !b.bound {
		b.chooseSet(w, s)
	}
	for _, ts := range s.TaskSets {
		if ts.Revision == b.revision && b.bound && ts.Status != "DRAINING" {
			b.wasListed, b.id = true, ts.ID
			if b.created.IsZero() || ts.CreatedAt.After(b.created) {
				b.created = ts.CreatedAt
			}
		}
	}
}

func (b *binding) chooseSet(w Wanted, s *Service) {
	var newest *sluice.TaskSet
	for i := range s.TaskSets {
		ts := &s.TaskSets[i]
		named := w.Deployment != "" && (w.Deployment == ts.ID || w.Deployment == ts.ARN)
		fits := named || w.Deployment == "" && (w.Revision == "" || w.Revision == ts.Revision)
		if fits && (ts.Status != "DRAINING" || named) && (newest == nil || ts.CreatedAt.After(newest.CreatedAt)) {
			newest = ts
		}
	}
	if newest == nil {
		return
	}
	b.bound, b.revision = true, newest.Revision
	if p := s.primarySet(); p != nil && p.Revision != b.revision {
		b.previousRevision = p.Revision
	}
}

// judgeSets ends the wait when the PRIMARY set is of the wanted revision, complete and healthy, and
// no other set of this change is left.
func (r *ServiceFollower) judgeSets(s *Service, now time.Time) *conclusion {
	p := s.primarySet()
	if end := r.concludeLeftover(s, p, now); end != nil {
		return end
	}
	r.leaveCanary(s, p, now)
	ours := p != nil && p.Revision == r.followed.revision
	switch {
	case ours && isSteady(p) && (r.want.Serving || !r.awaitsDeletion(s, p, now)):
		return &conclusion{outcome: sluice.Succeeded, why: r.besideText(s, p)}
	case ours || p == nil:
		return nil
	}
	if by := r.followed.newerSetRevision(s); by != "" {
		return concludeSuperseded(by)
	}
	left := slices.ContainsFunc(s.TaskSets, func(ts sluice.TaskSet) bool {
		return ts.Revision == r.followed.revision &&
			ts.Status != "DRAINING"
	})
	gone := trackSince(&r.since.inconsistent, !left, now)
	if !r.followed.wasListed && !left && gone >= maxReadLag {
		return &conclusion{outcome: sluice.Gone, why: "the task set is being deleted"}
	}
	if !r.followed.wasListed || left || gone < confirmAfter || !isSteady(p) {
		return nil
	}
	r.followed.rollbackReason = "its task sets were deleted"
	return r.concludeAs(sluice.RolledBack, p.Revision)
}

// concludeLeftover ends a wait that a task set beside the PRIMARY would keep for ever: the deployment of sluice that made it
// died.
func (r *ServiceFollower) concludeLeftover(s *Service, p *sluice.TaskSet, now time.Time) *conclusion {
	for _, ts := range s.TaskSets {
		if p == nil || ts.ID == p.ID || ts.Status != "ACTIVE" {
			continue
		}
		what := fmt.Sprintf("task set %s of %s runs beside the primary of %s", ts.ID, ts.Revision, p.Revision)
		if why, next := r.want.LeftoverClaim(s, now, what); why != "" {
			return &conclusion{outcome: sluice.Stalled, why: why, next: next}
		}
	}
	return nil
}

func isSteady(ts *sluice.TaskSet) bool {
	return ts.Steady && ts.Pending == 0 && ts.Desired > 0 && ts.Running >= ts.Desired
}

// leaveCanary follows the PRIMARY set instead of a canary of another revision that a deployment of sluice has left beside
// it, unless the caller of the wait named that one: no deployment promotes or deletes it.
func (r *ServiceFollower) leaveCanary(s *Service, p *sluice.TaskSet, now time.Time) {
	left := p != nil && p.Revision != r.followed.revision && s.ClaimedBy == "" &&
		slices.Contains(s.OwnSets, r.followed.id)
	stays := trackSince(&r.since.canaryLeft, left, now) >= canaryStaysAfter
	if !stays || r.want.Revision != "" || r.want.Deployment != "" {
		return
	}
	r.followed = binding{bound: true, external: true, wasListed: true, id: p.ID, revision: p.Revision, created: p.CreatedAt}
}

// besideText names the task sets of other revisions that run beside the PRIMARY one, of a wait that judges a change; empty:
// there is none.
func (r *ServiceFollower) besideText(s *Service, p *sluice.TaskSet) string {
	var all []string
	for _, ts := range s.TaskSets {
		if ts.Status == "ACTIVE" && ts.Revision != p.Revision && ts.Running > 0 && !r.want.Serving {
			all = append(all, fmt.Sprintf("task set %s of %s runs beside it", ts.ID, ts.Revision))
		}
	}
	return strings.Join(all, "; ")
}

// canaryStaysAfter is how long a set beside the PRIMARY one must stay until a pipeline seems to keep it. The stage that
// deletes it follows within seconds.
const canaryStaysAfter = time.Minute

// awaitsDeletion reports whether a set of this change is still to be deleted: an older set, or a canary of the same
// revision. Without a deployment of sluice such a canary may stay, and an older set too if sluice made the PRIMARY one.
func (r *ServiceFollower) awaitsDeletion(s *Service, p *sluice.TaskSet, now time.Time) bool {
	older, canary := false, false
	for _, ts := range s.TaskSets {
		if ts.Status == "ACTIVE" && ts.ID != p.ID && !ts.CreatedAt.After(r.followed.created) {
			older, canary = older || ts.Revision != p.Revision, canary || ts.Revision == p.Revision
		}
	}
	ended := s.ClaimedBy == "" && (!older || slices.Contains(s.OwnSets, p.ID))
	stays := trackSince(&r.since.setsStay, (older || canary) && ended, now) >= canaryStaysAfter
	return (older || canary) && !stays
}

// newerSetRevision returns the revision of a task set that is newer than all sets of the followed
// revision and was not PRIMARY before. The previous PRIMARY is excluded, because a rollback creates
// it again.
func (b *binding) newerSetRevision(s *Service) string {
	for _, ts := range s.TaskSets {
		if b.wasListed && ts.Status != "DRAINING" && ts.Revision != b.revision && ts.Revision != b.previousRevision &&
			ts.CreatedAt.After(b.created) {
			return ts.Revision
		}
	}
	return ""
}
