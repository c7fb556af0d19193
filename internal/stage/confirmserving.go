package stage

import (
	"cmp"
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// Confirm reads the service a last time. It returns an error if the revision that the outcome names
// is not PRIMARY. A read that shows another revision may be older than our last write, so it is
// repeated first.
func (r *Run) Confirm(ctx context.Context, o sluice.Outcome) error {
	want, err := r.outcomeRevision(ctx, o)
	if err != nil || want == "" {
		return err
	}
	adopted, err := r.isAdopted(ctx)
	if err != nil {
		return err
	}
	serves := func(live *ecs.ServiceState) bool { return live.Serving() == want || adopted(live) }
	live, err := r.awaitRead(ctx, writeProof{writeName: want + " as PRIMARY", sentAt: r.Clock.Now(), shows: serves},
		r.readActive)
	if err != nil {
		return err
	}
	if r.confirmed = live; serves(live) {
		return nil
	}
	return &sluice.Error{Op: "confirm that " + want + " serves", Resource: r.client.Resource(), Kind: sluice.Overtaken,
		Err:  fmt.Errorf("%s is PRIMARY: another deployment replaced this one", cmp.Or(live.Serving(), "no task set")),
		Next: "run sluice status to see what is running"}
}

// readActive reads the service and writes nothing. A deleted service is an error.
func (r *Run) readActive(ctx context.Context) (*ecs.ServiceState, error) {
	live, err := r.client.Observe(ctx)
	if err == nil && (live == nil || live.Status != "ACTIVE") {
		return nil, r.errServiceDeleted()
	}
	return live, err
}

// outcomeRevision returns the revision that should serve after an outcome; empty if the outcome
// names none.
func (r *Run) outcomeRevision(ctx context.Context, o sluice.Outcome) (string, error) {
	if !r.Plan.Mode().HasService() || r.Plan.Stages[0].SetsScaling() {
		return "", nil
	}
	switch {
	case o == sluice.RolledBack:
		former, err := r.memory.Snapshot.Load(ctx)
		return former.Revision, err
	case o == sluice.Succeeded && r.Plan.FinalState().NewPrimary:
		return r.registeredName(ctx)
	}
	return "", nil
}

// isAdopted returns a check of a read: whether another actor changed the PRIMARY and the deployment
// adopted that change (onOutsideChange: adopt).
func (r *Run) isAdopted(ctx context.Context) (func(*ecs.ServiceState) bool, error) {
	never := func(*ecs.ServiceState) bool { return false }
	if r.Plan.OnOutsideChange != sluice.AdoptChange {
		return never, nil
	}
	theirs, _, err := r.memory.External.Find(ctx)
	if err != nil {
		return never, err
	}
	ours, _, err := r.loadUpdate(ctx)
	return func(live *ecs.ServiceState) bool {
		id, _ := live.PrimaryDeployment()
		set := live.Primary()
		return id != "" && id == ours.Deployment || set != nil && set.ID == theirs.Primary
	}, err
}
