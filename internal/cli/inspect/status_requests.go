package inspect

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/metrics"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// requestFigures are the last figures of a watched status. The shared reader of the account reads once a minute.
type requestFigures struct {
	groups metrics.TargetGroups
	last   *sluice.RequestsCounted
}

// addRequests reads how many requests primary and canary got in the last minute, if the canary gets
// any. A failure is shown instead of the figures.
func (r serviceReader) addRequests(ctx context.Context) error {
	t, f := r.report, r.target.requests
	if f == nil {
		return nil
	}
	i := slices.IndexFunc(t.Rules, func(r ruleReport) bool { return r.Canary != nil && *r.Canary > 0 })
	if i < 0 {
		return nil
	}
	groups, ok := metrics.GroupsOf(t.Rules[i].ARN, r.target.groups.Primary, r.target.groups.Canary)
	if !ok {
		return nil
	}
	if f.groups != groups {
		*f = requestFigures{groups: groups}
	}
	span, _ := metrics.CompleteMinutes(time.Time{}, r.clock.Now())
	counted, err := step.SharedMetrics(r.account, r.clock).ReadRequests(ctx, groups, span)
	switch {
	case err != nil:
		f.last = &sluice.RequestsCounted{Problem: err.Error()}
	case counted != nil:
		f.last = counted
	}
	t.Requests = f.last
	return nil
}

func (v serviceView) writeRequests(b *bytes.Buffer, t *ServiceReport) {
	if t.Requests != nil {
		fmt.Fprintln(b, t.Requests.Text())
	}
}
