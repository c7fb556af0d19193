package stage

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// judgeFor is for how long [Judge] polls a service that does not serve. An end that
// AWS showed at the first poll is believed after it.
const judgeFor = 5 * time.Second

// Judge asks the judge of `sluice wait` for its verdict on the plan's revision, where
// that is PRIMARY already: only then may "no changes" be reported. Nil: the plan
// brings another revision, or another deployment has claimed the service.
func Judge(ctx context.Context, a *account.Account, c clock.Clock, p *plan.Plan, live plan.Live) (*plan.Current, error) {
	if p.Standalone || p.From == "" || p.From != p.To || live.Claim != "" {
		return nil, nil
	}
	want := CurrentOf(p)
	want.Timeout = judgeFor
	state := ""
	seen, err := watch.New(a, c).Wait(ctx, want, func(s watch.Seen) {
		if s.Verdict.State == verdict.Progressing {
			state = s.Verdict.Detail
		}
	})
	if err != nil {
		return nil, err
	}
	v := seen.Verdict
	if v.Outcome == sluice.TimedOut { // only these polls have ended
		v.Outcome, v.Detail, v.Next = "", state, ""
	}
	does, why := verdict.RemedyOf(v, seen.Service, seen.Code, p.To)
	return &plan.Current{Does: string(does), Outcome: v.Outcome, Detail: why, Next: v.Next}, nil
}

// CurrentOf is what is waited for where the plan's revision is PRIMARY already.
func CurrentOf(p *plan.Plan) watch.Target {
	return watch.Target{Cluster: p.Cluster, Service: p.Service,
		Wanted: verdict.Wanted{Revision: p.To, Serving: true, Deadline: p.ProgressDeadline, Timeout: p.Timeout}}
}
