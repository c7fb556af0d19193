package watch

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// AwaitStable waits until the tasks of t.Revision, which serves, have been stable, if one of t.Deaths, or of those that
// follow, stopped by itself, and for t.Bake. t names the service and the limits; its First is the last read.
func (w *Watch) AwaitStable(ctx context.Context, t Target, tell func(Update)) (Update, error) {
	t.IsResolved, t.SkipsTraffic, t.Serving = true, true, true
	return w.Wait(ctx, t, tell)
}

// JudgeStable is AwaitStable after a wait for something else than the tasks: meanwhile nobody has read whether they died,
// or whether another deployment replaced them. It waits for nothing, and doubtful is false, if the revision serves, none
// of its tasks has stopped and none is being replaced.
func (w *Watch) JudgeStable(ctx context.Context, t Target, tell func(Update)) (end Update, doubtful bool, err error) {
	if s := t.First.State; s.IsActive() && s.Serving() == t.Revision {
		t.Deaths, err = t.serviceClient(w).StoppedOfRevision(ctx, t.Revision)
		if err != nil || len(t.Deaths) == 0 && !isReplacing(s) {
			return Update{}, false, err
		}
		if len(t.Deaths) > 0 {
			t.First = ecs.ServiceRead{} // it may be from before them, and then shows no time without a death
		}
	}
	end, err = w.AwaitStable(ctx, t, tell)
	return end, true, err
}

// isReplacing reports whether more tasks run or start than are desired: a replacement starts before the task stops. A
// canary of the revision that stays beside the PRIMARY task set shows whether the revision works.
func isReplacing(s *ecs.ServiceState) bool {
	if p := s.Primary(); p != nil {
		return slices.ContainsFunc(s.TaskSets, func(ts sluice.TaskSet) bool {
			return ts.Revision == p.Revision && ts.Status != "DRAINING" && ts.Running+ts.Pending > ts.Desired
		})
	}
	return s.Running+s.Pending > s.Desired
}

// confirmStable replaces a success by what happened to its tasks while callers were waited for. limit is the hard limit;
// the zero time: there is none.
func (f *waiter) confirmStable(ctx context.Context, seen Update, limit time.Time) Update {
	if seen.Verdict.Outcome != sluice.Succeeded {
		return seen
	}
	t := Target{Cluster: f.target.Cluster, Service: f.target.Service, First: f.lastRead, Wanted: verdict.Wanted{
		Revision: seen.Verdict.Revision, Deadline: f.target.Deadline, FailAfter: f.target.FailAfter,
		AllowsNoTasks: f.target.AllowsNoTasks}}
	if !limit.IsZero() {
		t.Timeout = max(limit.Sub(f.now()), time.Second)
	}
	last, doubtful, err := f.watch.JudgeStable(ctx, t, func(u Update) {
		if u.Verdict.State != verdict.Ended {
			f.reportChange(seen.judgedAs(u))
		}
	})
	switch {
	case err != nil:
		seen.Verdict.Unread = diagnosis.NoteUnread(seen.Verdict.Unread, "stopped tasks: "+sluice.Inner(err).Error())
		return seen
	case !doubtful || last.Verdict.Outcome == sluice.Succeeded:
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
