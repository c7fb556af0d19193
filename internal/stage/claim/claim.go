package claim

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// Acquire claims the service, or finds that this deployment has the claim.
func Acquire(ctx context.Context, s *step.Step, live *ecs.ServiceState) error {
	s.Claim.ReadTags(live.Tags, s.Deployment, s.Clock.Now())
	if s.Claim.Seen.IsZero() {
		if err := recheckClaim(ctx, s); err != nil {
			return err
		}
	}
	if s.Claim.OtherValue != "" {
		if err := permitTakeOver(ctx, s); err != nil {
			return err
		}
	}
	if s.Claim.Until.Sub(s.Clock.Now()) >= step.RenewClaimWithin {
		return awaitFormerOwner(ctx, s)
	}
	if err := checkClaimNotLost(ctx, s, live); err != nil {
		return err
	}
	if err := step.TagClaim(ctx, s, live); err != nil {
		return err
	}
	if err := s.PauseFor(ctx, step.ReadBackDelay); err != nil {
		return err
	}
	if _, err := step.FindClaim(ctx, s); err != nil && s.Claim.OtherValue == "" {
		return err
	}
	if s.Claim.OtherValue != "" {
		return step.ErrClaimTaken(s)
	}
	return awaitFormerOwner(ctx, s)
}

// recheckClaim reads the claim again if the last read is old. Reads in between take time, and
// another deployment may have claimed the service.
func recheckClaim(ctx context.Context, s *step.Step) error {
	if s.Clock.Now().Sub(s.ReadAt) <= step.ReadBackDelay {
		return nil
	}
	return step.ReadClaim(account.BeforeWrite(ctx), s)
}

// checkClaimNotLost restores our claim if its tag is missing, unless another deployment has taken the
// service over and released it since. An expired claim of ours is still there as a tag. A deployment that has ended has no
// claim: its rollback is refused if another deployment has replaced its version since.
func checkClaimNotLost(ctx context.Context, s *step.Step, live *ecs.ServiceState) error {
	saved, err := s.Memory.Claim.Load(ctx)
	switch {
	case err != nil || !s.Claim.Seen.IsZero() || s.Claim.TakenOver != "":
		return err
	case saved.Claimed:
		_, err = step.FindClaim(ctx, s)
	case s.IsRollback(): // of a deployment that has ended
		err = step.CheckNotReplaced(ctx, s, live)
	}
	return err
}

// saveClaimed saves that a read showed our claim, or that this deployment has no claim any more.
func saveClaimed(ctx context.Context, s *step.Step, claimed bool) error {
	saved, err := s.Memory.Claim.Load(ctx)
	if err != nil || saved.Claimed == claimed {
		return err
	}
	saved.Claimed = claimed
	return s.Memory.Claim.Save(ctx, saved)
}

// Release removes the claim tag, and with it more tags. released is false if the claim is not ours.
func Release(ctx context.Context, s *step.Step, contested bool, drop ...string) (released bool, err error) {
	if !s.Plan.Mode().HasService() || len(s.Plan.Finish) == 0 {
		return false, nil // there is no service to claim, or no write needed a claim
	}
	ctx = s.WithRetries(ctx)
	if contested {
		if err := s.PauseFor(ctx, step.ReadLag); err != nil {
			return false, err
		}
	}
	s.Stage.Writes = append(s.Stage.Writes, s.Plan.Finish...)
	live, sent := s.Confirmed, time.Time{} // it was read before callers were waited for
	if live == nil || contested {
		sent = s.Clock.Now()
		if live, err = s.Client.Observe(ctx); err != nil {
			return false, err
		}
	}
	if live == nil || live.Status != "ACTIVE" {
		return false, nil
	}
	live, err = step.FindOwnClaim(ctx, s, live, sent)
	if err != nil {
		return false, err
	}
	// A later rollback claims the service anew, also if the tag was removed.
	if err := saveClaimed(ctx, s, false); err != nil || live == nil {
		return false, err
	}
	if err := recordTags(ctx, s, live, drop); err != nil {
		return false, err
	}
	return true, s.Client.Untag(ctx, s.MakeWrite, "release the claim", live.ARN, append(drop, plan.ClaimTag)...)
}

// recordTags records the tags of the files without those that are about to be removed.
func recordTags(ctx context.Context, s *step.Step, live *ecs.ServiceState, drop []string) error {
	if len(drop) == 0 {
		return nil
	}
	record := s.Service.WithTagRecord().Tags()[definition.TagRecord]
	return s.Client.Tag(ctx, s.MakeWrite, "record tags", live.ARN, map[string]string{definition.TagRecord: record})
}
