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

// trafficBefore is where callers were sent before the end of a deployment. A rule that reached the service then must
// reach it at the end too.
type trafficBefore struct {
	traffic view.Traffic
	isTried bool
}

// readTrafficBefore reads, once, where callers are sent while the deployment has not ended. It leaves out what cannot be
// read.
func (f *waiter) readTrafficBefore(ctx context.Context, listener string) {
	scope := f.trafficScope(f.lastRead.State, listener)
	if f.before.isTried || f.target.SkipsTraffic || scope.IsEmpty() {
		return
	}
	f.before.isTried = true
	t, err := alb.ReadTraffic(ctx, f.watch.account.ELB(), f.watch.clock, scope, view.Traffic{})
	if err == nil {
		f.before.traffic = t
	}
}

// trafficScope returns the rules that callers of the service use: those that the caller of the wait names, those of the
// production listener of CodeDeploy, or those that the service names.
func (f *waiter) trafficScope(s *ecs.ServiceState, listener string) view.Scope {
	scope := s.TrafficScope()
	switch {
	case scope.IsEmpty() || s.Desired == 0:
		return view.Scope{}
	case !f.target.Scope.IsEmpty():
		return f.target.Scope
	case listener != "":
		scope.Listeners = []string{listener}
	}
	return scope
}

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
	state, err := f.lastRead.State, error(nil)
	if listener != "" { // the last read may be from before the shift
		state = nil
	}
	for isFirst := true; ; isFirst = false {
		if !isFirst || state == nil {
			state, err = f.readAgain(ctx, state)
		}
		var problems []view.Problem
		if err == nil {
			problems, err = f.readTraffic(ctx, state, listener, v)
		}
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

// readAgain reads the service again: an old answer may name the target group of a former PRIMARY task set. It returns
// state if another revision serves now, because the outcome was found before that.
func (f *waiter) readAgain(ctx context.Context, state *ecs.ServiceState) (*ecs.ServiceState, error) {
	if _, err := f.readByName(ctx, f.target.Service, f.now()); err != nil {
		return state, err
	}
	later := f.lastRead.State
	if state != nil && (later == nil || later.Serving() != state.Serving()) {
		return state, nil
	}
	return later, nil
}

// readTraffic reads why callers do not get the version that serves, and sets v.Callers.
func (f *waiter) readTraffic(ctx context.Context, state *ecs.ServiceState, listener string, v *verdict.Verdict) (
	[]view.Problem, error) {
	scope := f.trafficScope(state, listener)
	if scope.IsEmpty() {
		return nil, nil
	}
	t, err := alb.ReadTraffic(ctx, f.watch.account.ELB(), f.watch.clock, scope, f.before.traffic)
	if err != nil {
		return nil, err
	}
	problems := t.Problems(f.before.traffic, state.ServingGroups()...)
	if v.Callers = verdict.CallersServed; !t.ReceivesRequests() {
		v.Callers = verdict.CallersNone
	}
	return problems, nil
}
