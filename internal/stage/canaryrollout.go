package stage

import "context"

// canaryRollout starts the new revision next to the old one. It moves no traffic and does not
// change the running primary.
//
// A second run is safe because the canary carries the action's ID. The second run, or a second such
// stage, finds the canary, brings it to its scale and continues to wait.
func (r *Run) canaryRollout(ctx context.Context) error {
	_, rev, err := r.prepareStage(ctx)
	if err != nil {
		return err
	}
	if err := r.traffic.prepareCanaryRoute(ctx); err != nil {
		return err
	}
	if err := r.saveCanaryRollout(ctx); err != nil {
		return err
	}
	canary, err := r.hosting.ensureCanary(ctx, rev, r.Stage.Scale)
	if err != nil {
		return err
	}
	r.canaryScaled = true
	return r.awaitNewTasks(ctx, canary, 1)
}

// saveCanaryRollout saves the action ID of the canary that is about to be created.
func (r *Run) saveCanaryRollout(ctx context.Context) error {
	by, err := r.canaryID(ctx)
	if err != nil {
		return err
	}
	return r.memory.CanarySet.Save(ctx, string(by))
}
