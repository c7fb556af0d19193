package deploy

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// runOrFollow follows the process that runs the deployment already. If none does, or that process
// stops, it runs the deployment here.
func (p *program) runOrFollow(ctx context.Context, e *engine.Engine, t *session.Opened, o engine.Options,
	want sluice.Outcome) error {
	runs, err := p.Env.RunningProcess(ctx, t.Journal, t.Deployment)
	if err != nil {
		return err
	}
	r := p.Terminal().NewRenderer(t.Plan, t.Clock)
	last, err := replayEvents(ctx, t, r)
	if err != nil {
		r.Close()
		return err
	}
	if runs != "" {
		over, err := p.followProcess(ctx, t, r, last, runs, want)
		if over || err != nil {
			return err
		}
	}
	return p.runHere(ctx, e, r, t.Deployment.ID, o, want)
}

// replayEvents gives the renderer the events of earlier runs. It returns the number of the last
// one.
func replayEvents(ctx context.Context, t *session.Opened, r show.Renderer) (last int64, err error) {
	events, err := t.Journal.Events(ctx, t.Deployment.ID, 0, 0)
	for _, e := range events {
		r.ReplayEvent(e)
		last = e.Seq
	}
	return last, err
}

// followInterval is the time between two reads of the events of another process, in the machine's
// time.
const followInterval = 200 * time.Millisecond

// followProcess prints the events of a deployment that another process runs. over is false if that
// process paused or died; this process then continues the deployment.
func (p *program) followProcess(ctx context.Context, t *session.Opened, r show.Renderer, last int64, runs string,
	want sluice.Outcome) (over bool, err error) {
	release := p.Notices.SetInterrupt(r, "no longer watching; process "+runs+" continues to run the deployment")
	defer release()
	r.ShowNote("process " + runs + " runs it; watching")
	d, err := p.watchUntilEnd(ctx, t, r, last)
	if err == nil && d.State != journal.Ended {
		r.ShowNote("process " + runs + " stopped running the deployment; continuing here")
		return false, nil
	}
	r.Close()
	switch {
	case err != nil && ctx.Err() != nil:
		return true, session.ExitStatus(sluice.ExitStopped)
	case err != nil:
		return true, err
	}
	return true, p.concludeRun(ctx, t.Journal, engine.RunResult{Deployment: d}, nil, want)
}

// watchUntilEnd shows the events of a deployment. It returns when the deployment has ended or no
// process runs it.
func (p *program) watchUntilEnd(ctx context.Context, t *session.Opened, r show.Renderer,
	last int64) (journal.Deployment, error) {
	for {
		runs, err := p.Env.RunningProcess(ctx, t.Journal, t.Deployment)
		if err != nil {
			return journal.Deployment{}, err
		}
		d, err := t.Journal.Deployment(ctx, t.Deployment.ID)
		if err != nil {
			return d, err
		}
		events, err := t.Journal.Events(ctx, d.ID, last, 0)
		if err != nil {
			return d, err
		}
		for _, e := range events {
			r.ShowEvent(e)
			last = e.Seq
		}
		if d.State == journal.Ended || runs == "" {
			return d, nil
		}
		if err := clock.Real().Sleep(ctx, followInterval); err != nil {
			return d, err
		}
	}
}
