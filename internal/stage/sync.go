package stage

import "context"

// syncService brings the whole service to the new revision in one stage. It removes everything else
// that sluice created, including a canary.
func (r *Run) syncService(ctx context.Context) error {
	live, rev, err := r.prepareStage(ctx)
	if err != nil {
		return err
	}
	primary, err := r.hosting.startPrimary(ctx, live, rev)
	if err != nil {
		return err
	}
	if err := r.removeCanaryTraffic(ctx); err != nil {
		return err
	}
	r.canaryRetires = true
	others, err := r.hosting.listOthers(ctx, primary)
	if err != nil {
		return err
	}
	if err := r.retireMembers(ctx, others...); err != nil {
		return err
	}
	return r.awaitHealthy(ctx, primary, 0)
}
