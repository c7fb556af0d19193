package engine

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// host lets a stage run on the journal. It implements [stage.Host].
type host struct {
	engine     *Engine
	deployment string
	stage      string
	began      time.Time
	failed     error // an event that could not be kept
}

func (h *host) Load(ctx context.Context, key string) ([]byte, bool, error) {
	return h.engine.Journal.Load(ctx, h.deployment, key)
}

// Save fails if an earlier event could not be kept: the journal is not to be
// trusted then, and nothing more may be written to AWS.
func (h *host) Save(ctx context.Context, key string, value []byte) error {
	if h.failed != nil {
		return h.failed
	}
	return h.engine.Journal.Save(ctx, h.deployment, key, value)
}

func (h *host) Began() time.Time { return h.began }

// Emit journals the event; writes leave a row of their own as evidence.
func (h *host) Emit(ev sluice.Event) {
	if h.failed != nil {
		return
	}
	ctx := context.Background()
	switch ev := ev.(type) {
	case sluice.Writing:
		h.failed = h.engine.Journal.BeginAction(ctx, ev.Action, ev.Write)
	case sluice.Wrote:
		h.failed = h.engine.Journal.EndAction(ctx, ev.Action, ev.Result, ev.Cause)
	}
	if h.failed == nil {
		h.failed = h.engine.emit(ctx, h.deployment, h.stage, ev)
	}
}

// release gives the claim on the service back.
func (r *run) release(ctx context.Context) error {
	index := len(r.plan.Stages)
	h := &host{engine: r.Engine, deployment: r.d.ID, began: r.Clock.Now()}
	w, err := stage.Open(stage.Config{Account: r.Account, Clock: r.Clock, Plan: r.plan, Index: index, Deployment: r.d.ID, Host: h})
	if err != nil {
		return err
	}
	return w.Release(ctx)
}

var _ stage.Host = (*host)(nil)

// Trigger names of who asked for a deployment.
const (
	ByHand = "by hand"
	ByCI   = "CI"
)
