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
	index   int
	watch   *stage.Bake
	host    *host
	next    time.Time // time of the next poll
	trouble string    // why the version is not fully healthy; empty if it is
	unread  bool      // reported that AWS did not answer
}

// troubleOf returns why a waiting stage must not pass yet, or "".
func (b *bake) troubleOf(index int) string {
	if b == nil || b.index != index {
		return ""
	}
	return b.trouble
}

// unreadRetryDelay is the time until the next poll after AWS did not answer one.
const unreadAgain = 30 * time.Second

// pollBake polls the serving tasks if the next poll is due. An error ends the wait.
func (r *run) look(ctx context.Context, s plan.Stage) error {
	if r.bake == nil || r.bake.index != s.Index {
		row, err := r.row(ctx, s.Index)
		if err != nil {
			return err
		}
		w, h, err := r.open(s, row.Began)
		if err != nil {
			return err
		}
		r.bake = &bake{index: s.Index, watch: w.Bake(), host: h, next: r.Clock.Now()}
	}
	b := r.bake
	if r.Clock.Now().Before(b.next) {
		return nil
	}
	after, trouble, err := b.watch.Look(ctx)
	if b.host.failed != nil {
		return b.host.failed
	}
	if err != nil && !ends(err) {
		after, trouble, err = unreadAgain, b.trouble, r.tellUnread(ctx, s, err)
	}
	b.next, b.trouble = r.Clock.Now().Add(after), trouble
	return err
}

// endsWait reports whether a failed poll ends the wait. A read that AWS did not answer does not;
// the next stage reports it.
func ends(err error) bool {
	switch sluice.KindOf(err) {
	case sluice.Unhealthy, sluice.Stall, sluice.OutsideChange, sluice.Overtaken, sluice.LostClaim, sluice.NotFound, sluice.Conflict, sluice.Halted:
		return true
	}
	return false
}

func (r *run) tellUnread(ctx context.Context, s plan.Stage, why error) error {
	if r.bake.unread {
		return nil
	}
	r.bake.unread = true
	return r.emit(ctx, r.d.ID, label(s), sluice.Warned{Message: "not read while waiting: " + why.Error()})
}
