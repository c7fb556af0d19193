package watch

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// AwaitStable waits until the tasks of the version that serves have been stable, if one of t.Deaths, or of those that
// follow, stopped by itself, and for t.Bake. t names the service and the limits; its First is the last read.
func (w *Watch) AwaitStable(ctx context.Context, t Target, tell func(Update)) (Update, error) {
	t.IsResolved, t.SkipsTraffic, t.Serving = true, true, true
	t.Revision = t.First.State.Serving()
	return w.Wait(ctx, t, tell)
}

// JudgeStable is AwaitStable after a wait for something else than the tasks: nobody has read their deaths meanwhile. It
// waits for nothing, and died is false, if none has stopped and none is being replaced.
func (w *Watch) JudgeStable(ctx context.Context, t Target, tell func(Update)) (last Update, died bool, err error) {
	s := t.First.State
	t.Deaths, err = t.serviceClient(w).StoppedOfRevision(ctx, s.Serving())
	if err != nil || len(t.Deaths) == 0 && s.Running+s.Pending <= s.Desired { // a replacement starts before the task stops
		return Update{}, false, err
	}
	last, err = w.AwaitStable(ctx, t, tell)
	return last, true, err
}

// confirmStable replaces a success by what the tasks did while it was waited for callers. limit is the hard limit; the
// zero time: there is none.
func (f *waiter) confirmStable(ctx context.Context, seen Update, limit time.Time) Update {
	if seen.Verdict.Outcome != sluice.Succeeded || f.denied.stoppedTasks {
		return seen
	}
	t := Target{Cluster: f.target.Cluster, Service: f.target.Service, First: f.lastRead, Wanted: verdict.Wanted{
		Deadline: f.target.Deadline, FailAfter: f.target.FailAfter, AllowsNoTasks: f.target.AllowsNoTasks}}
	if !limit.IsZero() {
		t.Timeout = max(limit.Sub(f.now()), time.Second)
	}
	last, died, err := f.watch.JudgeStable(ctx, t, func(u Update) {
		if u.Verdict.State != verdict.Ended {
			f.reportChange(seen.judgedAs(u))
		}
	})
	if err != nil {
		seen.Verdict.Unread = append(seen.Verdict.Unread, "stopped tasks: "+sluice.Inner(err).Error())
		return seen
	}
	if !died {
		return seen
	}
	seen = seen.judgedAs(last)
	f.reportChange(seen)
	return seen
}

// judgedAs returns a later update of the same service as one of the deployment that u is about.
func (u Update) judgedAs(later Update) Update {
	v := later.Verdict
	v.Revision, v.Deployment, v.Callers = u.Verdict.Revision, u.Verdict.Deployment, u.Verdict.Callers
	u.At, u.Service, u.Read, u.Verdict = later.At, later.Service, later.Read, v
	return u
}
