package stage

import "context"

// canaryRollout starts the new revision beside the old one. It moves no traffic,
// and changes nothing that the running primary would notice.
//
// Safe to run twice because the canary carries the action's ID: a second run, or
// a second such stage, finds it, brings it to its scale and goes on waiting.
func (r *Run) canaryRollout(ctx context.Context) error {
	_, rev, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	if err := r.access.ready(ctx); err != nil {
		return err
	}
	if err := r.rollingOut(ctx); err != nil {
		return err
	}
	canary, err := r.hosting.ensureCanary(ctx, rev, r.Stage.Scale)
	if err != nil {
		return err
	}
	r.grown = true
	return r.awaitNew(ctx, canary, 1)
}

// rollingOut saves which canary this deployment is about to have.
func (r *Run) rollingOut(ctx context.Context) error {
	by, err := r.canaryID(ctx)
	if err != nil {
		return err
	}
	return text(ctx, r.Host, KeyCanarySet, string(by))
}
