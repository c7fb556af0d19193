package stage

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Confirm reads the service a last time. It returns an error if the revision that the outcome names
// is not PRIMARY. A read that shows another revision may be older than our last write, so it is
// repeated first.
func (r *Run) Confirm(ctx context.Context, o sluice.Outcome) error {
	want, err := r.named(ctx, o)
	if err != nil || want == "" {
		return err
	}
	adopted, err := r.adopted(ctx)
	if err != nil {
		return err
	}
	serves := func(live *ecs.Live) bool { return live.Serving() == want || adopted(live) }
	live, err := r.awaitRead(ctx, proof{write: want + " as PRIMARY", at: r.Clock.Now(), shows: serves}, r.readActive)
	if err != nil {
		return err
	}
	if r.confirmed = live; serves(live) {
		return nil
	}
	return &sluice.Error{Op: "confirm that " + want + " serves", Resource: r.hand.Resource(), Kind: sluice.Overtaken,
		Err: fmt.Errorf("%s is PRIMARY: another deployment took its place", cmp.Or(live.Serving(), "no task set")), Next: "sluice status shows what runs"}
}

// readActive reads the service and writes nothing. A deleted service is an error.
func (r *Run) readActive(ctx context.Context) (*ecs.Live, error) {
	live, err := r.hand.Observe(ctx)
	if err == nil && (live == nil || live.Status != "ACTIVE") {
		return nil, r.deleted()
	}
	return live, err
}

// outcomeRevision returns the revision that should serve after an outcome; empty if the outcome
// names none.
func (r *Run) named(ctx context.Context, o sluice.Outcome) (string, error) {
	if r.Plan.Standalone || r.Plan.Stages[0].Name == plan.StageScaling {
		return "", nil
	}
	switch {
	case o == sluice.RolledBack:
		former, _, err := saved[Former](ctx, r.Host, keyFormer)
		return former.Revision, err
	case o == sluice.Succeeded && slices.ContainsFunc(r.Plan.Stages, func(s plan.Stage) bool {
		return s.Name == appfile.StageSync || s.Name == appfile.StagePrimaryRollout
	}):
		rev, _, err := saved[ecs.Revision](ctx, r.Host, KeyRevision)
		return cmp.Or(rev.Name, r.Plan.To), err
	}
	return "", nil
}

// isAdopted returns a check of a read: whether another actor changed the PRIMARY and the deployment
// adopted that change (onOutsideChange: adopt).
func (r *Run) adopted(ctx context.Context) (func(*ecs.Live) bool, error) {
	never := func(*ecs.Live) bool { return false }
	if r.Plan.OnOutsideChange != sluice.AdoptChange {
		return never, nil
	}
	theirs, _, err := saved[accepted](ctx, r.Host, keyAccepted)
	if err != nil {
		return never, err
	}
	ours, _, err := saved[asked](ctx, r.Host, keyAsked)
	return func(live *ecs.Live) bool {
		id, _ := live.PrimaryDeployment()
		set := live.Primary()
		return id != "" && id == ours.Deployment || set != nil && set.ID == theirs.Primary
	}, err
}
