package watch

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/view"
)

// trafficBefore is where callers were sent before the end of a deployment. A rule that reached the service then must
// reach it at the end too.
type trafficBefore struct {
	traffic view.Traffic
	isTried bool

	readAt time.Time // when the rules were read last, or the wait began
	lost   string    // the rules that sent requests to the service then, and do not any more
}

const (
	lostRulesInterval = 2 * time.Minute  // between two reads of the rules while a deployment is in progress
	lostRulesLimit    = 10 * time.Second // of network time for such a read, which delays the next poll
)

// readTrafficBefore reads, once, where callers are sent while the deployment has not ended. It leaves out what cannot
// be read.
func (f *waiter) readTrafficBefore(ctx context.Context, of listeners) {
	scope := f.trafficScope(f.lastRead.State, of)
	if f.before.isTried || f.target.SkipsTraffic || scope.IsEmpty() || f.isBegun() {
		return
	}
	f.before.isTried = true
	t, err := alb.ReadTraffic(ctx, f.watch.account.ELB(), f.watch.clock, scope, view.Traffic{})
	if err == nil {
		f.before.traffic = t
	}
}

// isBegun reports whether the caller of the wait gave the state before the deployment whose version serves. It drops
// one that a newer deployment has made old.
func (f *waiter) isBegun() bool {
	until := f.target.BeforeUntil
	if !until.IsZero() && f.lastService.HasBegunAfter(until) {
		f.target.BeforeUntil, f.before.traffic = time.Time{}, view.Traffic{}
	}
	return !f.target.BeforeUntil.IsZero()
}

// readLostRules reads the rules again, and tells of those by which callers reached the service before the deployment
// and do not any more: another process or person changed them. ECS shifts the requests of a strategy of its own, so its
// rules are not read. What cannot be read is left out.
func (f *waiter) readLostRules(ctx context.Context) {
	now := f.now()
	if f.before.readAt.IsZero() {
		f.before.readAt = now
	}
	scope := f.trafficScope(f.lastRead.State, listeners{})
	if now.Sub(f.before.readAt) < lostRulesInterval || !f.before.traffic.IsRead() || scope.IsEmpty() ||
		f.lastService.IsNative() {
		return
	}
	f.before.readAt = now
	ctx, cancel := f.watch.clock.WithTimeout(ctx, f.watch.clock.NetworkTime(lostRulesLimit))
	defer cancel()
	t, err := alb.ReadTraffic(ctx, f.watch.account.ELB(), f.watch.clock, scope, f.before.traffic)
	if err == nil {
		f.before.lost = view.Texts(t.LostSince(f.before.traffic))
		f.reportChange(f.newUpdate(f.lastVerdict))
	}
}

// trafficScope returns the rules that callers of the service use: those that the caller of the wait names, those of the
// listeners of CodeDeploy, or those that the service names.
func (f *waiter) trafficScope(s *ecs.ServiceState, of listeners) view.Scope {
	scope := s.TrafficScope()
	switch {
	case scope.IsEmpty() || s.Desired == 0:
		return view.Scope{}
	case !f.target.Scope.IsEmpty():
		return f.target.Scope
	case of.production != "":
		return scope.WithListeners(of.production, of.test, of.groups)
	}
	return scope.WithCanaryOf(s.TaskSets)
}

// LongestRead is how long the reads for one judgement may take. What was read before them is read again then: in an
// outage tasks may have died.
const LongestRead = 10 * time.Second

// confirmTraffic returns the end of a wait if callers get the version that it names. A success or a rollback that
// callers do not get fails after [view.ConfirmGrace], or at the hard limit. Without the permission to read the load
// balancer it reports that. of are the listeners of CodeDeploy.
// limit is the hard limit; the zero time: there is none.
func (f *waiter) confirmTraffic(ctx context.Context, seen Update, of listeners, limit time.Time) Update {
	v := &seen.Verdict
	if !f.target.SkipsTraffic && v.Outcome == sluice.Failed && v.Cause.Kind == diagnosis.GroupUnused {
		return f.explainUnused(ctx, seen, of)
	}
	if f.target.SkipsTraffic || v.State != verdict.Ended || v.Outcome != sluice.Succeeded && v.Outcome != sluice.RolledBack {
		return seen
	}
	began := f.now()
	state, err := f.lastRead.State, error(nil)
	if of.production != "" { // the last read may be from before the shift
		state = nil
	}
	begun := f.isBegun()
	c := view.Confirmation{Says: v.Detail, Before: f.before.traffic, IsBegun: begun}
	for isFirst := true; ; isFirst = false {
		if !isFirst || state == nil {
			if _, err = f.readByName(ctx, f.target.Service, f.now()); err == nil {
				state = state.Refreshed(f.lastRead.State)
			}
		}
		sent := f.now()
		waited := sent.Sub(began)
		if !limit.IsZero() && !sent.Before(limit) || ctx.Err() != nil {
			waited = view.NoMoreWaits
		}
		var d view.Decision
		if err == nil {
			d, err = f.decideTraffic(ctx, &c, state, of, waited, v)
		}
		switch {
		case err != nil && (ecs.IsUnsupported(err) || waited >= view.ConfirmGrace):
			v.Unread = append(v.Unread, "the load balancer: "+sluice.Inner(err).Error())
			return seen
		case d.Failed:
			v.Outcome, v.Detail, v.Next = sluice.Failed, d.Cause, d.Next
			f.reportChange(seen)
			return seen
		case d.Wait != "":
			waits := seen
			waits.Verdict.State, waits.Verdict.Outcome = verdict.Progressing, ""
			waits.Verdict = waits.Verdict.WithPart("waiting for callers: " + d.Wait)
			f.reportChange(waits)
		case err == nil && isFirst && f.now().Sub(sent) >= LongestRead:
			continue
		case err == nil:
			for _, text := range []string{d.Cause, d.Note} {
				v.Detail = strings.TrimSuffix(v.Detail+"; "+text, "; ")
			}
			if !isFirst {
				return f.confirmStable(ctx, seen, limit)
			}
			return seen
		}
		pause := view.ConfirmInterval
		for _, end := range []time.Time{began.Add(view.ConfirmGrace), limit} {
			if left := end.Sub(f.now()); left > 0 {
				pause = min(pause, left)
			}
		}
		_ = f.watch.clock.Sleep(ctx, pause) // ends early with the wait
	}
}

// explainUnused adds to a failure in a target group that the load balancer does not use which rules send the requests
// elsewhere. It adds nothing if they cannot be read.
func (f *waiter) explainUnused(ctx context.Context, seen Update, of listeners) Update {
	state := f.lastRead.State
	scope := f.trafficScope(state, of)
	if scope.IsEmpty() {
		return seen
	}
	t, err := alb.ReadTraffic(ctx, f.watch.account.ELB(), f.watch.clock, scope, f.before.traffic)
	if err != nil {
		return seen
	}
	if problems := t.Problems(f.before.traffic, state.ServingGroups()...); len(problems) > 0 {
		seen.Verdict = seen.Verdict.WithPart(view.Texts(problems))
		seen.Verdict.Next = problems[0].Next()
	}
	return seen
}

// decideTraffic reads whether callers get the version that serves, and sets v.Callers. waited is that of
// [view.Confirmation.Decide].
func (f *waiter) decideTraffic(ctx context.Context, c *view.Confirmation, state *ecs.ServiceState, of listeners,
	waited time.Duration, v *verdict.Verdict) (view.Decision, error) {
	var t view.Traffic
	var err error
	scope := f.trafficScope(state, of)
	if !scope.IsEmpty() {
		t, err = alb.ReadTraffic(ctx, f.watch.account.ELB(), f.watch.clock, scope, f.before.traffic)
	}
	if err == nil {
		t.Name, err = f.readName(ctx, state, v)
	}
	if err != nil || scope.IsEmpty() && t.Name == nil {
		return view.Decision{}, err
	}
	if v.Callers = verdict.CallersServed; !t.ReceivesRequests() && (t.Name == nil || t.Name.Serving == 0) {
		v.Callers = verdict.CallersNone
	}
	if shared := t.SharedText(); shared != "" && v.Outcome == sluice.Succeeded {
		if why, next := f.target.LeftoverClaim(f.lastService, f.now(), shared); why != "" {
			return view.Decision{Failed: true, Cause: v.Detail + "; " + why, Next: next}, nil
		}
	}
	problems := t.Problems(f.before.traffic, state.ServingGroups()...)
	d := c.Decide(t, problems, view.Tasks{Running: state.Running, Desired: state.Desired}, waited)
	if set, by := leftCanary(state, problems); d.Failed && by != "" && by == f.target.Unsuccessful {
		d.Next = "run sluice rollback " + by + " to undo the deployment that left task set " + set +
			"; or deploy again, which deletes it"
	}
	return d, nil
}

// leftCanary returns the task set that a deployment of sluice left beside the PRIMARY one, and that deployment, if a rule
// of the problems sends requests to it. No deployment of sluice has the service now. Empty: there is none.
func leftCanary(state *ecs.ServiceState, problems []view.Problem) (set, by string) {
	for _, ts := range state.TaskSets {
		gets := slices.ContainsFunc(problems, func(p view.Problem) bool {
			w, _ := p.Route.Weight(ts.TargetGroup)
			return w > 0
		})
		if gets && ts.Status == "ACTIVE" && ts.Revision != state.Serving() && plan.IsSluiceID(ts.ExternalID) &&
			state.ClaimValue() == "" {
			return ts.ID, sluice.ActionID(ts.ExternalID).Deployment()
		}
	}
	return "", ""
}

// readName reads what callers of the Cloud Map name of a service get; nil: it has none, or no tasks. What AWS
// never permits to read is an unread part of the verdict.
func (f *waiter) readName(ctx context.Context, state *ecs.ServiceState, v *verdict.Verdict) (*view.Name, error) {
	if state == nil || state.Desired == 0 || len(state.RegistryARNs()) == 0 || f.denied.name {
		return nil, nil
	}
	n, err := f.discoverName(ctx, state)
	missing := cloudmap.MissingName(state.RegistryARNs()[0], err)
	switch {
	case missing != nil:
		return missing, nil
	case ecs.IsUnsupported(err):
		f.denied.name = true
		v.Unread = append(v.Unread, view.NameUnread+": "+sluice.Inner(err).Error())
		return nil, nil
	}
	return n, err
}

// discoverName reads what callers of the name of a service with a registry get. The registry is read once.
func (f *waiter) discoverName(ctx context.Context, state *ecs.ServiceState) (n *view.Name, err error) {
	api := f.watch.account.CloudMap()
	if f.name.ARN == "" {
		if f.name, err = cloudmap.FindRegistry(ctx, api, state.RegistryARNs()[0], 0); err != nil {
			f.name = plan.Registry{}
			return nil, err
		}
	}
	client := f.target.serviceClient(f.watch)
	runs, err := client.RunsRevision(ctx, state.Serving())
	if err == nil {
		n, _, err = cloudmap.ReadName(ctx, cloudmap.InstanceClient{API: api, Registry: f.name}, runs, client.StoppedTasks)
	}
	return n, err
}
