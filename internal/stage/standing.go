package stage

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// standing is what should stand of a service between two stages.
type standing struct {
	canary int  // percent; 0: there is none
	old    bool // the task set that served before
	fresh  bool // the new primary, which is PRIMARY then
}

// standingAfter is what stands once the stages up to index are done; -1 is before
// the first.
func standingAfter(p *plan.Plan, index int) standing {
	s := standing{old: true}
	for _, st := range p.Stages[:index+1] {
		switch st.Name {
		case appfile.StageCanaryRollout:
			s.canary = st.Scale
		case appfile.StagePrimaryRollout:
			s.fresh, s.old = true, st.KeepOld
		case appfile.StageCanaryClean:
			s.canary, s.old = 0, s.old && !s.fresh
		case appfile.StageSync:
			s = standing{fresh: true}
		}
	}
	return s
}

// done saves that the stage has ended: only what stages have left behind is missed
// if it is not there, and a host may run a stage before another one has ended.
func (r *Run) done(ctx context.Context) error {
	n, _, err := saved[int](ctx, r.Host, keyDone)
	if err != nil || r.Stage.Index < n || r.returns() {
		return err
	}
	return save(ctx, r.Host, keyDone, r.Stage.Index+1)
}

// IsDone reports whether the stage has ended.
func (r *Run) IsDone(ctx context.Context) (bool, error) {
	n, _, err := saved[int](ctx, r.Host, keyDone)
	return n > r.Stage.Index, err
}

// preceding is the index of the last stage whose work this one finds.
func (r *Run) preceding(ctx context.Context) (int, error) {
	n, _, err := saved[int](ctx, r.Host, keyDone)
	return min(n, r.Stage.Index) - 1, err
}

// weightsAfter are the weights that the stages up to index leave; ok is false if
// none of them moves any.
func weightsAfter(p *plan.Plan, index int) (w sluice.Weights, ok bool) {
	for _, st := range p.Stages[:index+1] {
		switch {
		case st.Weights != nil:
			w, ok = *st.Weights, true
		case st.Name == appfile.StageCanaryClean, st.Name == appfile.StageSync:
			w, ok = sluice.CanaryShare(0), true
		}
	}
	return w, ok
}

// expectation is what a look during a stage should show: of what the stage does
// not change itself, what stood before it.
type expectation struct {
	before, after standing
	former        Former
	canary, fresh sluice.ActionID // that made them
	desired       *int            // nil: the file leaves it to others
	accepted      accepted
}

// accepted is what somebody else changed and what is ours by now
// (onOutsideChange: adopt).
type accepted struct {
	Scales  map[string]float64 `json:"scales,omitempty"`  // by id of the task set
	Gone    []string           `json:"gone,omitempty"`    // labels of task sets
	Primary string             `json:"primary,omitempty"` // id
	Desired *int               `json:"desired,omitempty"`
}

// What somebody else did to a service.
const (
	wasDeleted  = "deleted"
	wasScaled   = "scaled"
	wasPromoted = "promoted"
	wasCounted  = "counted"
)

// change is one thing that somebody else changed.
type change struct {
	did        string // wasDeleted …
	label      string // of the task set, as plans call it
	name       string // as people call it, if that is another
	tasks      bool   // have and want are tasks, not percent
	set        sluice.TaskSet
	of         string  // wasPromoted: id of the one that should be PRIMARY
	have, want float64 // scale in percent, or desired count
}

func (c change) String() string {
	switch c.did {
	case wasDeleted:
		return "the " + cmp.Or(c.name, c.label) + " was deleted"
	case wasScaled:
		if c.tasks {
			return fmt.Sprintf("the %s was scaled from %s to %g", c.name, sluice.Plural(int(c.want), "task"), c.have)
		}
		return fmt.Sprintf("the %s (%s) was scaled from %g%% to %g%%", c.label, c.set.ID, c.want, c.have)
	case wasPromoted:
		return fmt.Sprintf("task set %s was made PRIMARY in the place of the %s", c.set.ID, c.label)
	}
	return fmt.Sprintf("the desired count was set from %g to %g", c.want, c.have)
}

// both is what two looks show alike: AWS's answers lag behind its writes, ours
// too.
func both(a, b []change) (all []change) {
	for _, c := range a {
		if slices.ContainsFunc(b, func(d change) bool { return c.String() == d.String() }) {
			all = append(all, c)
		}
	}
	return all
}
