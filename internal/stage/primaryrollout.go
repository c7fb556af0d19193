package stage

import "context"

// primaryRollout makes the new revision the primary: start, wait healthy,
// promote, drain, delete only the old primary, wait stable. The canary stays.
func (r *Run) primaryRollout(ctx context.Context) error {
	live, rev, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	primary, err := r.hosting.startPrimary(ctx, live, rev)
	if err != nil {
		return err
	}
	if err := r.hosting.retireOld(ctx, primary); err != nil {
		return err
	}
	return r.awaitHealthy(ctx, primary, 0)
}
