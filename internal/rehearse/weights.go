package rehearse

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// maxUnseenEdit is how long a write in progress may miss an edit: AWS has no compare-and-set for
// rules. Sluice writes within ten seconds after its read.
const unseenFor = 12 * time.Second

// checkWeights checks that a growing share is on a group that can serve it, and that the shares add
// up to the whole (P4).
func (f *field) weighed(tx *world.Tx, r *world.Rule) {
	was, ours := f.weights[r.ARN]
	if !ours {
		return
	}
	now := f.weighs(r)
	f.weights[r.ARN] = now
	if f.outside {
		if f.begun { // an earlier edit is part of the initial rule
			f.edited[r.ARN], f.editedAt = now, f.clock.Now()
			f.strangely(r, now)
		}
	} else if now != was && f.edited[r.ARN] == was && was[0]+was[1] == 1000 && f.Outside == "" && f.accepts(tx, f.World.Canary) &&
		f.clock.Now().Sub(f.editedAt) > unseenFor {
		f.violate("P7", "weights %d and %d of %s, which somebody else had set, were overwritten with %d and %d", was[0], was[1], r.Name(), now[0], now[1])
	}
	if f.outside || f.second1() {
		return
	}
	if first := sticky(f.atFirst[r.ARN]); sticky(r.Actions) != first && !f.excuses(EditRule) {
		f.violate("P3", "rule %s had a stickiness of %d s, and has %d s while its weights move", r.Name(), first, sticky(r.Actions))
	}
	if now == was {
		return
	}
	f.held(tx)
	first := f.weighs(&world.Rule{Actions: f.atFirst[r.ARN]})
	if sum := now[0] + now[1]; sum != 100 && sum != first[0]+first[1] {
		f.violate("P4", "weights %d and %d of %s do not sum to the whole", now[0], now[1], r.Name())
	}
	for i, g := range []Group{f.World.Primary, f.World.Canary} {
		if now[i] > was[i] || now[i] > 0 && was[i] == 0 {
			f.ready(tx, g, now[i])
		}
	}
}

// hasHealthyTarget reports whether the group has a healthy target.
func (f *field) accepts(tx *world.Tx, g Group) bool {
	group, ok := tx.TargetGroups.Get(g.ARN)
	return ok && group.Count("healthy") > 0
}

// hasSecondSluice reports whether a second sluice also runs; its writes are not checked here.
func (f *field) second1() bool { return len(f.seconds) > 0 }

// checkReady checks that the group has a healthy target for each task that its task set should
// have. If the world itself has faults, one is enough.
func (f *field) ready(tx *world.Tx, g Group, weight int32) {
	group, ok := tx.TargetGroups.Get(g.ARN)
	if !ok {
		f.violate("P4", "weight %d on %s, which is gone", weight, g.Name())
		return
	}
	healthy := group.Count("healthy")
	if f.lossy() {
		return
	}
	if healthy == 0 {
		f.violate("P4", "weight %d on %s, which has no healthy target", weight, g.Name())
		return
	}
	if f.unsteady() {
		return
	}
	want := 0
	for _, ts := range f.sets(tx) {
		if ts.Status != "DRAINING" && slices.ContainsFunc(ts.Attached, func(a world.Attachment) bool { return a.TargetGroup == g.ARN }) && ts.Computed > want {
			want = ts.Computed
		}
	}
	if healthy < want {
		f.violate("P4", "weight %d on %s, which has %d healthy targets of %d", weight, g.Name(), healthy, want)
	}
}
