package stage

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/view"
)

// endOfBrokenFormer returns the end of a rollback whose restored version does not work: nothing that works is restored,
// so the deployment failed. It is the zero value if that version works, or if that cannot be known. waits is whether a
// task that has just started gets the time to outlive those that failed.
func endOfBrokenFormer(ctx context.Context, s *step.Step, waits bool) (Ending, error) {
	if !isAboutVersions(s) {
		return Ending{}, nil
	}
	former, found, err := s.Memory.Snapshot.Find(ctx)
	began := s.Clock.Now()
	for suspect := false; err == nil; {
		live := s.Confirmed
		if live == nil || !found || former.Revision == "" || live.Serving() != former.Revision ||
			live.Desired == 0 && former.Desired > 0 {
			return Ending{}, nil
		}
		if suspect = suspect || mayFail(s, live); !suspect {
			return Ending{}, nil
		}
		v, err := s.Client.ReadSurvival(ctx, s.Clock.Now(), former.Revision, live.Events())
		switch {
		case errors.Is(err, sluice.ErrNoPermission):
			return Ending{}, nil // plans for policies of earlier versions do not need the reads
		case err != nil || v.Works:
			return Ending{}, err
		case !waits || live.Desired == 0 || hasEnoughFailed(v, began, s.Clock.Now()):
			return brokenEnding(s, former.Revision, v), nil
		}
		if s.IsFirstTime("the restored version fails") {
			s.Host.Emit(sluice.Waiting{For: "a task of " + former.Revision + " to outlive those that failed",
				Detail: v.Cause.String()})
		}
		if err := s.PauseFor(ctx, survivalInterval); err != nil {
			return Ending{}, err
		}
		if err := confirmServing(ctx, s, sluice.RolledBack); err != nil {
			return Ending{}, err
		}
	}
	return Ending{}, err
}

// mayFail reports whether the tasks of the restored version are a reason to read those that stopped: they failed before
// the deployment too, or some of them do not run now.
func mayFail(s *step.Step, live *ecs.ServiceState) bool {
	return s.Plan.Failing != "" || live.Running < live.Desired || live.Desired == 0
}

// hasEnoughFailed reports whether no task of a version works that was read since began: all that ran then have
// failed, or a task that was about to start then would have outlived those that failed.
func hasEnoughFailed(v verdict.Survival, began, now time.Time) bool {
	return v.FailedSince(began) >= diagnosis.FailAfter && (v.Oldest.IsZero() || v.Oldest.After(began)) ||
		now.Sub(began) >= v.Needed+view.ConfirmGrace
}

func brokenEnding(s *step.Step, former string, v verdict.Survival) Ending {
	why := former + " does not work: "
	if live := s.Confirmed; !s.Plan.KeepsVersion() && live.Running >= live.Desired && !live.DeploymentInProgress() {
		why = former + " is restored, and does not work: "
	}
	return Ending{Outcome: sluice.Failed, Cause: why + v.Cause.String(), NoFormer: true}
}

// survivalInterval is the time between two reads of the tasks of a restored version.
const survivalInterval = 5 * time.Second

// addBrokenFormer adds to the end of a failed rollback that the version which it restored does not work.
func addBrokenFormer(ctx context.Context, s *step.Step, end Ending) Ending {
	if end.Outcome == sluice.Gone || !s.HasRolledBack {
		return end
	}
	if saved, err := s.Memory.Rollback.Load(ctx); err == nil && saved.Broken {
		end.NoFormer = true // the cause of the rollback's failure says so
		return end
	}
	broken, err := endOfBrokenFormer(ctx, s, false)
	if err != nil || !broken.NoFormer {
		return end
	}
	broken.Cause = strings.TrimPrefix(end.Cause+"; "+broken.Cause, "; ")
	return broken
}

// saveBrokenFormer saves whether a rollback failed because tasks of the version that it restores fail: another rollback
// would fail too. It returns the error of the rollback.
func saveBrokenFormer(ctx context.Context, s *step.Step, why error) error {
	saved, err := s.Memory.Rollback.Load(ctx)
	if broken := sluice.KindOf(why) == sluice.Unhealthy; err == nil && saved.Broken != broken {
		saved.Broken = broken
		err = s.Memory.Rollback.Save(ctx, saved)
	}
	if err != nil {
		return errors.Join(why, err)
	}
	return why
}
