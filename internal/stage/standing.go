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

// expectedMembers is what should exist of a service between two stages.
type standing struct {
	canary int  // percent; 0: there is no canary
	old    bool // the task set that served before
	fresh  bool // the new primary exists and is PRIMARY
}

// expectedAfter is what exists once the stages up to index are done; -1 is before the first.
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

// saveStageDone saves that the stage has ended. Only members that finished stages created are
// expected to exist, and a host may start a stage before the previous one has ended.
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

// lastDoneStage is the index of the last stage that had ended before this one.
func (r *Run) preceding(ctx context.Context) (int, error) {
	n, _, err := saved[int](ctx, r.Host, keyDone)
	return min(n, r.Stage.Index) - 1, err
}

// weightsAfter are the weights after the stages up to index; ok is false if none of them moves any.
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

// expectation is what a read during a stage should show. It covers only what the stage itself does
// not change.
type expectation struct {
	before, after standing
	former        Former
	canary, fresh sluice.ActionID // that created them
	desired       *int            // nil: other actors set it
	accepted      accepted
}

// adoptedChanges are external changes that are now part of the expected state (onOutsideChange:
// adopt).
type accepted struct {
	Scales  map[string]float64 `json:"scales,omitempty"`  // by id of the task set
	Gone    []string           `json:"gone,omitempty"`    // labels of task sets
	Primary string             `json:"primary,omitempty"` // id
	Desired *int               `json:"desired,omitempty"`
}

// Kinds of external changes to a service.
const (
	wasDeleted  = "deleted"
	wasScaled   = "scaled"
	wasPromoted = "promoted"
	wasCounted  = "counted"
)

// outsideChange is one external change.
type change struct {
	did        string // driftDeleted …
	label      string // name of the task set in the plan
	name       string // name for users, if that is another
	tasks      bool   // have and want count tasks, not percent
	set        sluice.TaskSet
	of         string  // driftPromoted: ID of the task set that should be PRIMARY
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

// seenTwice returns the changes that two reads show. One read may be older than the last write,
// even than our own.
func both(a, b []change) (all []change) {
	for _, c := range a {
		if slices.ContainsFunc(b, func(d change) bool { return c.String() == d.String() }) {
			all = append(all, c)
		}
	}
	return all
}
