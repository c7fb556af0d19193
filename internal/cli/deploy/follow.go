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
	r := &deploymentRun{p, e, p.Terminal().NewRenderer(t.Plan, t.Clock), want}
	last, err := replayEvents(ctx, t, r.renderer)
	if err != nil {
		r.renderer.Close()
		return err
	}
	if runs != "" {
		over, err := r.followProcess(ctx, t, last, runs)
		if over || err != nil {
			return err
		}
	}
	return r.run(ctx, t.Deployment.ID, o)
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
func (r *deploymentRun) followProcess(ctx context.Context, t *session.Opened, last int64, runs string) (over bool,
	err error) {
	release := r.program.Notices.SetInterrupt(r.renderer,
		"no longer watching; process "+runs+" continues to run the deployment")
	defer release()
	r.renderer.ShowNote("process " + runs + " runs it; watching")
	d, err := r.watchUntilEnd(ctx, t, last)
	if err == nil && d.State != journal.Ended {
		r.renderer.ShowNote("process " + runs + " stopped running the deployment; continuing here")
		return false, nil
	}
	r.renderer.Close()
	switch {
	case err != nil && ctx.Err() != nil:
		return true, session.ExitStatus(sluice.ExitStopped)
	case err != nil:
		return true, err
	}
	return true, r.conclude(ctx, engine.RunResult{Deployment: d}, nil)
}

// watchUntilEnd shows the events of a deployment. It returns when the deployment has ended or no
// process runs it.
func (r *deploymentRun) watchUntilEnd(ctx context.Context, t *session.Opened, last int64) (journal.Deployment, error) {
	for {
		runs, err := r.program.Env.RunningProcess(ctx, t.Journal, t.Deployment)
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
			r.renderer.ShowEvent(e)
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
