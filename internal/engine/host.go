package engine

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// host lets a stage run on the journal. It implements [stage.Host].
type host struct {
	engine     *Engine
	deployment string
	stage      string
	began      time.Time

	mu         sync.Mutex // a stage emits events from its work and from the checks beside it
	journalErr error      // why an event could not be recorded
}

func (h *host) Load(ctx context.Context, key string) ([]byte, bool, error) {
	return h.engine.Journal.Load(context.WithoutCancel(ctx), h.deployment, key)
}

// Save fails if an earlier event could not be recorded: the journal is then unreliable, and no
// further write to AWS is allowed.
func (h *host) Save(ctx context.Context, key string, value []byte) error {
	if err := h.recordingError(); err != nil {
		return err
	}
	return h.engine.Journal.Save(ctx, h.deployment, key, value)
}

func (h *host) recordingError() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.journalErr
}

func (h *host) Began() time.Time { return h.began }

// Emit records the event in the journal. Writes also get an action row as evidence. Container
// output is shown and not kept.
func (h *host) Emit(ev sluice.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.journalErr != nil {
		return
	}
	ctx := context.Background()
	switch ev := ev.(type) {
	case sluice.Printed:
		h.engine.showEvent(h.deployment, h.stage, ev)
		return
	case sluice.Writing:
		h.journalErr = h.engine.Journal.BeginAction(ctx, ev.Action, ev.Write)
	case sluice.Wrote:
		h.journalErr = h.engine.Journal.EndAction(ctx, ev.Action, ev.Result, ev.Cause)
	}
	if h.journalErr == nil {
		h.journalErr = h.engine.emitEvent(ctx, h.deployment, h.stage, ev)
	}
}

// openOutsideStages opens a [stage.Run] for work before, between and after the stages. It may make
// the writes that the plan lists for the rollback.
func (r *run) openOutsideStages(c stage.Config) (*stage.Run, error) {
	c.Account, c.Clock, c.Plan, c.Index, c.Deployment = r.Account, r.Clock, r.plan, len(r.plan.Stages), r.d.ID
	c.Host, c.Facts = &host{engine: r.Engine, deployment: r.d.ID, began: r.Clock.Now()}, &r.facts
	return stage.Open(c)
}

// returnScalingTimeout is how long a process that stops running a deployment tries to restore auto
// scaling when AWS does not answer.
const returnScalingTimeout = 20 * time.Second

// tryReturnScaling restores auto scaling because no process runs the deployment from now on. A
// failure is reported as a warning and does not stop the process from ending.
func (r *run) tryReturnScaling(ctx context.Context) error {
	w, err := r.openOutsideStages(stage.Config{CheckRetry: func() error { return nil },
		RetryFor: r.Clock.NetworkTime(returnScalingTimeout)})
	if err == nil {
		err = w.ReturnScaling(context.WithoutCancel(ctx))
	}
	if err == nil {
		return nil
	}
	return r.emitEvent(ctx, r.d.ID, "",
		sluice.Warned{Message: "auto scaling stays suspended until sluice resume, rollback or abort: " + err.Error()})
}

// returnScalingForWait calls tryReturnScaling for a deployment that waits for people, time or ECS,
// unless the plan keeps auto scaling suspended.
func (r *run) returnScalingForWait(ctx context.Context) error {
	if s := r.plan.Scaling; s != nil && s.KeepSuspended {
		return nil
	}
	return r.tryReturnScaling(ctx)
}

// suspendAgain suspends auto scaling again, once per run, after an earlier process restored it. If
// that fails, the wait continues without the suspension.
func (r *run) suspendAgain(ctx context.Context) error {
	if r.suspendedAgain {
		return nil
	}
	r.suspendedAgain = true
	w, err := r.openOutsideStages(stage.Config{CheckRetry: r.checkRetry})
	if err == nil {
		err = w.SuspendAgain(ctx)
	}
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return r.emitEvent(ctx, r.d.ID, "", sluice.Warned{Message: "auto scaling is active while the deployment waits: " +
		err.Error()})
}

// ContinueCodeDeploy continues a CodeDeploy deployment that waits for a person before traffic
// shifts. Any process may call it. continued is false if the deployment does not wait.
func (e *Engine) ContinueCodeDeploy(ctx context.Context, id string) (continued bool, err error) {
	d, err := e.Journal.Deployment(ctx, id)
	if err != nil {
		return false, err
	}
	p, err := decodePlan(d)
	if err != nil {
		return false, err
	}
	for _, s := range p.Stages {
		if !s.MayWrite(sluice.Write{Operation: "codedeploy:ContinueDeployment", Resource: plan.OwnShift}) {
			continue
		}
		h := &host{engine: e, deployment: id, stage: stageLabel(s), began: e.Clock.Now()}
		w, err := stage.Open(stage.Config{Account: e.Account, Clock: e.Clock, Plan: p, Index: s.Index, Deployment: id,
			Host: h})
		if err != nil {
			return false, err
		}
		return w.Continue(ctx)
	}
	return false, nil
}

var _ stage.Host = (*host)(nil)

// Triggers of a deployment: a person at a terminal, or a CI job.
const (
	TriggerManual = "manual"
	TriggerCI     = "CI"
)
