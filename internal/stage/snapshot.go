package stage

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// loadSnapshot loads the snapshot, or takes and saves it now.
func (r *Run) loadSnapshot(ctx context.Context, live *ecs.ServiceState) error {
	if r.snapshot != nil {
		return nil
	}
	f, ok, err := r.memory.Snapshot.Find(ctx)
	if err != nil {
		return err
	}
	if !ok {
		if f, err = r.takeSnapshot(ctx, live); err != nil {
			return err
		}
		if err := r.memory.Snapshot.Save(ctx, f); err != nil {
			return err
		}
	}
	r.snapshot = &f
	return nil
}

// takeSnapshot reads the current state.
func (r *Run) takeSnapshot(ctx context.Context, live *ecs.ServiceState) (memory.Snapshot, error) {
	f := memory.Snapshot{Service: live != nil && live.Status == "ACTIVE"}
	if f.Service {
		f.Primary, f.Revision, f.Desired = live.Primary(), live.Serving(), live.Desired
		f.Attributes = ecs.DifferingUpdate(r.service, live).Inverse(live)
		if r.Plan.CodeDeploy != nil {
			f.Spec = live.PrimarySpec()
		}
	}
	err := r.traffic.addToSnapshot(ctx, &f)
	if err == nil {
		f.Canary, err = r.hosting.snapshotCanary(ctx)
	}
	if err == nil {
		f.Scaling, err = r.scalingBefore(ctx, live)
	}
	return f, err
}
