package watch

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/view"
)

// confirmTraffic returns the end of a wait if callers get the version that it names. A success or a rollback that
// callers do not get fails after [view.ConfirmGrace], or at the hard limit. Without the permission to read the load
// balancer it reports that. listener is the production listener of CodeDeploy; empty: the service names its rules.
// limit is the hard limit; the zero time: there is none.
func (f *waiter) confirmTraffic(ctx context.Context, seen Update, listener string, limit time.Time) Update {
	v := &seen.Verdict
	if f.target.SkipsTraffic || v.State != verdict.Ended || v.Outcome != sluice.Succeeded && v.Outcome != sluice.RolledBack {
		return seen
	}
	end := f.now().Add(view.ConfirmGrace)
	if !limit.IsZero() && limit.Before(end) {
		end = limit
	}
	for {
		problems, err := f.readTraffic(ctx, listener, v)
		switch left := end.Sub(f.now()); {
		case err != nil && (ecs.IsUnsupported(err) || left <= 0 || ctx.Err() != nil):
			v.Unread = append(v.Unread, "the load balancer: "+sluice.Inner(err).Error())
			return seen
		case err == nil && len(problems) == 0:
			if v.Callers == verdict.CallersNone {
				v.Detail += "; " + view.NoRequests
			}
			return seen
		case err == nil && (left <= 0 || ctx.Err() != nil):
			v.Outcome, v.Next = sluice.Failed, problems[0].Next()
			v.Detail += ", but callers do not get it: " + view.Texts(problems)
			f.reportChange(seen)
			return seen
		case err == nil:
			waits := seen
			waits.Verdict.State, waits.Verdict.Outcome = verdict.Progressing, ""
			waits.Verdict.Detail += "; waiting for callers: " + view.Texts(problems)
			f.reportChange(waits)
		}
		_ = f.watch.clock.Sleep(ctx, min(view.ConfirmInterval, end.Sub(f.now()))) // ends early with the wait
	}
}

// readTraffic reads why callers do not get the version that serves, and sets v.Callers.
func (f *waiter) readTraffic(ctx context.Context, listener string, v *verdict.Verdict) ([]view.Problem, error) {
	state := f.lastRead.State
	if listener != "" || state == nil { // the last read may be from before the shift
		if _, err := f.readByName(ctx, f.target.Service, f.now()); err != nil {
			return nil, err
		}
		state = f.lastRead.State
	}
	scope := state.TrafficScope()
	if scope.IsEmpty() || state.Desired == 0 {
		return nil, nil
	}
	if !f.target.Scope.IsEmpty() {
		scope = f.target.Scope
	} else if listener != "" {
		scope.Listeners = []string{listener}
	}
	t, err := alb.ReadTraffic(ctx, f.watch.account.ELB(), f.watch.clock, scope, view.Traffic{})
	if err != nil {
		return nil, err
	}
	problems := t.Problems(view.Traffic{}, state.ServingGroups()...)
	if v.Callers = verdict.CallersServed; !t.ReceivesRequests() {
		v.Callers = verdict.CallersNone
	}
	return problems, nil
}
