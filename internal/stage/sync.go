package stage

import "context"

// syncService brings the whole service to the new revision in one stage. It removes everything else
// that sluice created, including a canary.
func (r *Run) sync(ctx context.Context) error {
	live, rev, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	primary, err := r.hosting.startPrimary(ctx, live, rev)
	if err != nil {
		return err
	}
	if err := r.takeTraffic(ctx); err != nil {
		return err
	}
	r.leaving = true
	others, err := r.hosting.others(ctx, primary)
	if err != nil {
		return err
	}
	if err := r.retire(ctx, others...); err != nil {
		return err
	}
	return r.awaitHealthy(ctx, primary, 0)
}
