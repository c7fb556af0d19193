package stage

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// servingWatch watches the tasks of the new version that already get requests, while a stage waits for others: for a
// primary that starts, or for tasks that drain for minutes. A service that ECS rolls is followed otherwise: there it
// watches the canary only.
type servingWatch struct {
	monitor *Bake
	due     time.Time // when to look next
	// promoted is set once the stage has made the new version the primary.
	promoted bool
}

// NotePromoted notes that the stage has made the new version the primary, and that its tasks were healthy.
func (w *servingWatch) NotePromoted() { w.promoted = true }

// Poll judges the canary and the new primary if they get requests. A version that is no longer healthy is an error.
func (w *servingWatch) Poll(ctx context.Context, s *step.Step) error {
	now := s.Clock.Now()
	if s.IsRollback() || s.Snapshot == nil || now.Before(w.due) {
		return nil
	}
	variants := w.servingVariants(s)
	if len(variants) == 0 {
		return nil
	}
	if w.monitor == nil {
		w.monitor = openMonitor(s)
		w.monitor.stoppedReadAt, w.monitor.isQuiet = now, true
	}
	var live *ecs.ServiceState
	var err error
	if s.Plan.Mode().HasTaskSets() { // otherwise the canary is a service of its own
		if live, err = step.ObserveShared(ctx, s); err != nil {
			return err
		}
	}
	w.due = now.Add(quietInterval)
	for _, v := range variants {
		next, trouble, err := w.monitor.judgeVariant(ctx, live, v)
		if err != nil {
			return err
		}
		if trouble != "" && now.Add(next).Before(w.due) {
			w.due = now.Add(next)
		}
	}
	return nil
}

// servingVariants returns the variants that run the new version, get requests, and are not what the stage waits for.
func (w *servingWatch) servingVariants(s *step.Step) (all []sluice.Variant) {
	m := s.Plan.Mode()
	ownStage := s.Stage.Name == appfile.StageCanaryRollout || s.CanaryRetires
	if m.HasVariants() && !ownStage && hasShare(s, sluice.Canary) {
		all = append(all, sluice.Canary)
	}
	isNew := w.promoted || s.Plan.StateBefore(s.Stage.Index).NewPrimary
	if m.HasTaskSets() && isNew && hasShare(s, sluice.Primary) {
		all = append(all, sluice.Primary)
	}
	return all
}

func hasShare(s *step.Step, v sluice.Variant) bool {
	share, _ := s.Access.WeightOf(v)
	return share > 0
}
