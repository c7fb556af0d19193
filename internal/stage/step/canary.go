package step

import (
	"context"
	"math"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// LoadCanaryRollout returns the action ID of the canary of this deployment, and whether its rollout
// has begun.
func LoadCanaryRollout(ctx context.Context, s *Step) (sluice.ActionID, bool, error) {
	by, err := s.CanaryID(ctx)
	if err != nil {
		return by, false, err
	}
	value, err := s.Memory.CanarySet.Load(ctx)
	return by, value == string(by), err
}

// FindOwnCanary returns the canary of this deployment; nil if there is none. A read may miss the
// canary, or show one that an earlier deployment left. Such a read counts only if it must be newer
// than the write that created the canary.
func FindOwnCanary(ctx context.Context, s *Step) (m *Member, err error) {
	by, rolledOut, err := LoadCanaryRollout(ctx, s)
	if err != nil {
		return nil, err
	}
	err = s.ReadUntil(ctx, s.WroteAt, func(ctx context.Context) (bool, error) {
		m, err = FindVariant(ctx, s, sluice.Canary)
		return !rolledOut || m != nil && m.ExternalID == string(by), err
	})
	return m, err
}

// SaveNextGeneration lets a later rollout of this deployment create its own canary, because the
// canary of this generation is deleted.
func SaveNextGeneration(ctx context.Context, s *Step) error {
	_, rolledOut, err := LoadCanaryRollout(ctx, s)
	if err != nil || !rolledOut {
		return err
	}
	return s.Memory.Canary.Update(ctx, func(c *memory.Canary) { c.Generation++ })
}

// SaveCanaryRollout saves the action ID of the canary that is about to be created.
func SaveCanaryRollout(ctx context.Context, s *Step) error {
	by, err := s.CanaryID(ctx)
	if err != nil {
		return err
	}
	return s.Memory.CanarySet.Save(ctx, string(by))
}

// PlannedWeight is the share that the stages so far have given the variant.
func PlannedWeight(s *Step, v sluice.Variant) (share int, watched bool) {
	return sluice.CanaryShare(s.Plan.StateAfter(s.Stage.Index).CanaryShare()).Of(v), true
}

// CountForPercent is how many tasks a percentage of the desired count is: at least one, rounded up
// as AWS does for task sets.
func CountForPercent(desired, percent int) int {
	return max(1, int(math.Ceil(float64(desired*percent)/100-1e-9)))
}

// PercentForCount is the percentage that gives a number of tasks. If none does, it is the smallest
// that gives more.
func PercentForCount(desired, count int) int {
	p := 100 * count / desired
	if CountForPercent(desired, p) < count {
		p++
	}
	return p
}

// TagService adds the file's tags that the service lacks.
func TagService(ctx context.Context, s *Step, live *ecs.ServiceState) error {
	tags := ecs.DifferingTags(s.Service, live)
	if len(tags) == 0 {
		return nil
	}
	return s.Client.Tag(ctx, s.MakeWrite, "tag service", live.ARN, tags)
}
