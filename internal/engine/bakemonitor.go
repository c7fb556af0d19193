package engine

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// bake monitors the serving tasks while a stage waits.
type bake struct {
	index        int
	monitor      *stage.Bake
	host         *host
	nextPoll     time.Time // time of the next poll
	trouble      string    // why the version is not fully healthy; empty if it is
	warnedUnread bool      // reported that AWS did not answer
}

// troubleOf returns why a waiting stage must not pass yet, or "".
func (b *bake) troubleOf(index int) string {
	if b == nil || b.index != index {
		return ""
	}
	return b.trouble
}

// gatesOf returns the verdict of a waiting stage's gates; nil: they have not been read.
func (b *bake) gatesOf(index int) *plan.GateStatus {
	if b == nil || b.index != index {
		return nil
	}
	return b.monitor.GateStatus()
}

// unreadRetryDelay is the time until the next poll after AWS did not answer one.
const unreadRetryDelay = 30 * time.Second

// pollBake polls the serving tasks if the next poll is due. judges: only the gates of the stage are missing. An error
// ends the wait.
func (r *run) pollBake(ctx context.Context, s plan.Stage, judges bool) error {
	if r.bake == nil || r.bake.index != s.Index {
		row, err := r.stageRow(ctx, s.Index)
		if err != nil {
			return err
		}
		w, h, err := r.openStage(s, row.Began)
		if err != nil {
			return err
		}
		r.bake = &bake{index: s.Index, monitor: w.Bake(), host: h, nextPoll: r.Clock.Now()}
	}
	b := r.bake
	if judges && s.NeedsApproval() && b.monitor.JudgeGates() {
		b.nextPoll = r.Clock.Now()
	}
	if r.Clock.Now().Before(b.nextPoll) {
		return nil
	}
	after, trouble, err := b.monitor.Poll(ctx)
	if err := b.host.recordingError(); err != nil {
		return err
	}
	if err != nil && !endsWait(err) {
		after, trouble, err = unreadRetryDelay, b.trouble, r.warnUnread(ctx, s, err)
	}
	b.nextPoll, b.trouble = r.Clock.Now().Add(after), trouble
	return err
}

// endsWait reports whether a failed poll ends the wait. A read that AWS did not answer does not;
// the next stage reports it.
func endsWait(err error) bool {
	switch sluice.KindOf(err) {
	case sluice.Unhealthy, sluice.Reverted, sluice.Stall, sluice.OutsideChange, sluice.Overtaken, sluice.LostClaim,
		sluice.NotFound, sluice.Conflict, sluice.Halted:
		return true
	}
	return false
}

func (r *run) warnUnread(ctx context.Context, s plan.Stage, why error) error {
	if r.bake.warnedUnread {
		return nil
	}
	r.bake.warnedUnread = true
	return r.emitEvent(ctx, r.d.ID, stageLabel(s), sluice.Warned{Message: "not read while waiting: " + why.Error()})
}
