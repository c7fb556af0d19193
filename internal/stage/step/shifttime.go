package step

import (
	"context"
	"strconv"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// SavePercentages saves the shares that the stage is about to write, as PipeCD does.
func SavePercentages(ctx context.Context, s *Step, to sluice.Weights) error {
	if err := s.Memory.PrimaryShare.Save(ctx, strconv.Itoa(to.Primary())); err != nil {
		return err
	}
	return s.Memory.CanaryShare.Save(ctx, strconv.Itoa(to.Canary()))
}

// SaveShiftTime saves when shares were written last. It is called before and after the write. If the
// process is killed right after the write, the next one must know that load balancer nodes may lag
// and that callers may still have old DNS answers.
func SaveShiftTime(ctx context.Context, s *Step) error {
	return s.Memory.Routes.Update(ctx, func(routes *memory.Routes) { routes.ShiftedAt = s.Clock.Now() })
}

// LoadShiftTime returns when shares were written last; ok is false before the first write.
func LoadShiftTime(ctx context.Context, s *Step) (at time.Time, ok bool, err error) {
	routes, err := s.Memory.Routes.Load(ctx)
	return routes.ShiftedAt, !routes.ShiftedAt.IsZero(), err
}
