package claim

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// permitTakeOver allows the claim of the deployment that the user named to be overwritten. It saves
// that first, so that a process that resumes after a kill neither takes it for a new claim nor
// skips the waiting time.
func permitTakeOver(ctx context.Context, s *step.Step) error {
	from := s.Claim.OtherValue
	saved, err := s.Memory.Claim.Load(ctx)
	if err != nil {
		return err
	}
	again := saved.TakenOver != nil && saved.TakenOver.From == from
	asked, err := takeOverFrom(ctx, s)
	if err != nil {
		return err
	}
	if asked == "" || asked != from && asked != claimDeployment(from) && !again {
		return step.ErrClaimTaken(s)
	}
	if !again {
		saved.TakenOver = &memory.TakenClaim{From: from, At: s.Clock.Now()}
		if err := s.Memory.Claim.Save(ctx, saved); err != nil {
			return err
		}
		s.EmitWarning("the service is taken over from %s; waiting %s until that deployment has stopped writing",
			plan.ClaimText(from), step.MaxClaimAge)
	}
	s.Claim = step.Claim{TakenOver: from}
	return nil
}

// takeOverFrom is the claim that may be taken over, as the plan or the resume command names it.
func takeOverFrom(ctx context.Context, s *step.Step) (string, error) {
	if s.Plan.TakeOver != "" {
		return s.Plan.TakeOver, nil
	}
	return s.Memory.TakeOver.Load(ctx)
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
// once it has not read its claim for MaxClaimAge.
func awaitFormerOwner(ctx context.Context, s *step.Step) error {
	s.OwnsClaim = true
	if err := saveClaimed(ctx, s, true); err != nil {
		return err
	}
	asked, err := takeOverFrom(ctx, s)
	if err != nil || asked == "" {
		return err
	}
	saved, err := s.Memory.Claim.Load(ctx)
	if err != nil || saved.TakenOver == nil {
		return err
	}
	s.Claim.TakenOver = saved.TakenOver.From
	return s.PauseFor(ctx, saved.TakenOver.At.Add(step.MaxClaimAge).Sub(s.Clock.Now()))
}
