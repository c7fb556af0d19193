package rehearse

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// maxUnseenEdit is how long a write in progress may miss an edit: AWS has no compare-and-set for
// rules. Sluice writes within ten seconds after its read.
const maxUnseenEdit = 12 * time.Second

// checkWeights checks that a growing share is on a group that can serve it, and that the shares add
// up to the whole (P4).
func (f *Rehearsal) checkWeights(tx *world.Tx, r *world.Rule) {
	was, ours := f.weights[r.ARN]
	if !ours {
		return
	}
	now := f.weightsOf(r)
	f.weights[r.ARN] = now
	if f.externalActs {
		if f.hasWritten { // an earlier edit is part of the initial rule
			f.editedWeights[r.ARN], f.editedAt = now, f.Clock.Now()
			f.recordRuleDrift(r, now)
		}
	} else if now != was && f.editedWeights[r.ARN] == was && was[0]+was[1] == 1000 && f.OutsidePolicy == "" &&
		f.hasHealthyTarget(tx, f.World.Canary) &&
		f.Clock.Now().Sub(f.editedAt) > maxUnseenEdit {
		f.AddViolation("P7", "weights %d and %d of %s, an external change, were overwritten with %d and %d",
			was[0], was[1], r.Name(), now[0], now[1])
	}
	if f.externalActs || f.HasSecondSluice() {
		return
	}
	if first := stickySeconds(f.initialActions[r.ARN]); stickySeconds(r.Actions) != first &&
		!f.HasIntervention(EditRule) {
		f.AddViolation("P3", "rule %s had a stickiness of %d s, and has %d s while its weights move", r.Name(), first,
			stickySeconds(r.Actions))
	}
	if now == was {
		return
	}
	f.checkSuspended(tx)
	first := f.weightsOf(&world.Rule{Actions: f.initialActions[r.ARN]})
	if sum := now[0] + now[1]; sum != 100 && sum != first[0]+first[1] {
		f.AddViolation("P4", "weights %d and %d of %s do not add up to 100 or to the sum before", now[0], now[1],
			r.Name())
	}
	for i, g := range []shape.Group{f.World.Primary, f.World.Canary} {
		if now[i] > was[i] || now[i] > 0 && was[i] == 0 {
			f.checkReady(tx, g, now[i])
		}
	}
}

// hasHealthyTarget reports whether the group has a healthy target.
func (f *Rehearsal) hasHealthyTarget(tx *world.Tx, g shape.Group) bool {
	group, ok := tx.TargetGroups.Get(g.ARN)
	return ok && group.Count("healthy") > 0
}

// HasSecondSluice reports whether a second sluice also runs; its writes are not checked here.
func (f *Rehearsal) HasSecondSluice() bool { return len(f.secondPlans) > 0 }

// checkReady checks that the group has a healthy target for each task that its task set should
// have. If the world itself has faults, one is enough.
func (f *Rehearsal) checkReady(tx *world.Tx, g shape.Group, weight int32) {
	group, ok := tx.TargetGroups.Get(g.ARN)
	if !ok {
		f.AddViolation("P4", "weight %d on %s, which was deleted", weight, g.Name())
		return
	}
	healthy := group.Count("healthy")
	if f.MayLoseRequests() {
		return
	}
	if healthy == 0 {
		f.AddViolation("P4", "weight %d on %s, which has no healthy target", weight, g.Name())
		return
	}
	if f.IsUnsteady() {
		return
	}
	want := 0
	for _, ts := range f.TaskSets(tx) {
		if ts.Status != "DRAINING" &&
			slices.ContainsFunc(ts.Attached, func(a world.Attachment) bool { return a.TargetGroup == g.ARN }) &&
			ts.Computed > want {
			want = ts.Computed
		}
	}
	if healthy < want {
		f.AddViolation("P4", "weight %d on %s, which has %d healthy targets of %d", weight, g.Name(), healthy, want)
	}
}
