package stage

import "context"

// primaryRollout makes the new revision the primary: start, wait until healthy, promote, drain,
// delete the old primary only, wait until stable. The canary is kept.
func (r *Run) primaryRollout(ctx context.Context) error {
	live, rev, err := r.prepareStage(ctx)
	if err != nil {
		return err
	}
	primary, err := r.hosting.startPrimary(ctx, live, rev)
	if err != nil {
		return err
	}
	if err := r.hosting.retireOldPrimary(ctx, primary); err != nil {
		return err
	}
	return r.awaitHealthy(ctx, primary, 0)
}
