package stage

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// permitTakeOver allows the claim of the deployment that the user named to be overwritten. It saves
// that first, so that a process that resumes after a kill neither takes it for a new claim nor
// skips the waiting time.
func (r *Run) permitTakeOver(ctx context.Context) error {
	from := r.claim.otherValue
	saved, err := r.memory.Claim.Load(ctx)
	if err != nil {
		return err
	}
	again := saved.TakenOver != nil && saved.TakenOver.From == from
	asked, err := r.takeOverFrom(ctx)
	if err != nil {
		return err
	}
	if asked == "" || asked != from && asked != claimDeployment(from) && !again {
		return r.errClaimTaken()
	}
	if !again {
		saved.TakenOver = &memory.TakenClaim{From: from, At: r.Clock.Now()}
		if err := r.memory.Claim.Save(ctx, saved); err != nil {
			return err
		}
		r.emitWarning("the service is taken over from %s; waiting %s until that deployment has stopped writing",
			plan.ClaimText(from), maxClaimAge)
	}
	r.claim = claim{takenOver: from}
	return nil
}

// takeOverFrom is the claim that may be taken over, as the plan or the resume command names it.
func (r *Run) takeOverFrom(ctx context.Context) (string, error) {
	if r.Plan.TakeOver != "" {
		return r.Plan.TakeOver, nil
	}
	return r.memory.TakeOver.Load(ctx)
}

// claimDeployment is the deployment in a claim's value, or "" if the value is no claim.
func claimDeployment(value string) string {
	k, err := plan.ParseClaim(value)
	if err != nil {
		return ""
	}
	return k.Deployment
}

// awaitFormerOwner waits until the former owner can no longer write. The former owner stops writing
// once it has not read its claim for maxClaimAge.
func (r *Run) awaitFormerOwner(ctx context.Context) error {
	if err := r.saveClaimHeld(ctx); err != nil {
		return err
	}
	asked, err := r.takeOverFrom(ctx)
	if err != nil || asked == "" {
		return err
	}
	saved, err := r.memory.Claim.Load(ctx)
	if err != nil || saved.TakenOver == nil {
		return err
	}
	r.claim.takenOver = saved.TakenOver.From
	return r.pauseFor(ctx, saved.TakenOver.At.Add(maxClaimAge).Sub(r.Clock.Now()))
}
