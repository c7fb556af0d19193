package stage

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// judgeTimeout is how long [JudgeCurrent] polls a service that does not serve. After that an end
// counts that AWS showed at the first poll.
const judgeTimeout = 5 * time.Second

// JudgeCurrent returns the verdict of `sluice wait` on the revision that is PRIMARY, if the plan deploys no other one.
// A plan may report "no changes" only with such a verdict. The result is nil if the plan deploys another revision, or
// if another deployment has claimed the service.
func JudgeCurrent(ctx context.Context, a *account.Account, c clock.Clock, p *plan.Plan,
	live plan.AWSState) (*plan.Current, error) {
	if !p.Mode().HasService() || p.From == "" || p.From != keptRevision(p) || live.Claim != "" {
		return nil, nil
	}
	want := CurrentTarget(p)
	want.Timeout = judgeTimeout
	var err error
	if want.First, err = readFirst(ctx, a, c, p); err != nil {
		return nil, err
	}
	state := ""
	seen, err := watch.New(a, c).Wait(ctx, want, func(s watch.Update) {
		if s.Verdict.State == verdict.Progressing {
			state = s.Verdict.Detail
		}
	})
	if err != nil {
		return nil, err
	}
	v := seen.Verdict
	if v.Outcome == sluice.TimedOut { // only these polls timed out
		v.Outcome, v.Detail, v.Next = "", state, ""
	}
	does, why := verdict.RemedyOf(v, seen.Service, seen.Code, p.From)
	return &plan.Current{Does: string(does), Outcome: v.Outcome, Detail: why, Next: v.Next}, nil
}

// readFirst makes the read that the first poll judges. It is not limited by the time for the polls: without any answer
// there is no verdict.
func readFirst(ctx context.Context, a *account.Account, c clock.Clock, p *plan.Plan) (ecs.ServiceRead, error) {
	sent := c.Now()
	live, err := ecs.Service{API: a.ECS(), Cluster: p.Cluster, Name: p.Service}.Observe(ctx)
	return ecs.ServiceRead{State: live, SentAt: sent}, err
}

// keptRevision returns the revision that serves after the plan. Without changes it is the current one, also if that is
// INACTIVE and the plan's revision is not registered yet.
func keptRevision(p *plan.Plan) string {
	if !p.HasChanges() {
		return p.From
	}
	return p.To
}

// CurrentTarget is the target to wait for if the plan's revision is already PRIMARY.
func CurrentTarget(p *plan.Plan) watch.Target {
	return watch.Target{Cluster: p.Cluster, Service: p.Service, Scope: p.Scope,
		Wanted: verdict.Wanted{Revision: keptRevision(p), Serving: true, Deadline: p.ProgressDeadline, Timeout: p.Timeout}}
}
