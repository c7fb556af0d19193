package inspect

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/metrics"
)

const (
	// requestInterval is the time between two reads of the request figures of a watched status:
	// CloudWatch has one figure per minute.
	requestInterval = time.Minute
	// requestTimeout is how long a status waits for the figures.
	requestTimeout = 10 * time.Second
)

// requestFigures keeps the figures of a watched status between two reads.
type requestFigures struct {
	readAt time.Time
	groups metrics.TargetGroups
	last   *sluice.RequestsCounted
}

// addRequests reads how many requests primary and canary got in the last minute, if the canary gets
// any. A failure is shown instead of the figures.
func (t *ServiceReport) addRequests(ctx context.Context, a *account.Account, c clock.Clock, s StatusTarget) {
	f := s.requests
	if f == nil {
		return
	}
	i := slices.IndexFunc(t.Rules, func(r ruleReport) bool { return r.Canary != nil && *r.Canary > 0 })
	if i < 0 {
		return
	}
	groups, ok := metrics.GroupsOf(t.Rules[i].ARN, s.primary, s.canary)
	if !ok {
		return
	}
	if now := c.Now(); f.last == nil || f.groups != groups || now.Sub(f.readAt) >= requestInterval {
		*f = requestFigures{readAt: now, groups: groups, last: readFigures(ctx, a, c, groups)}
	}
	t.Requests = f.last
}

func readFigures(ctx context.Context, a *account.Account, c clock.Clock,
	groups metrics.TargetGroups) *sluice.RequestsCounted {
	span, _ := metrics.CompleteMinutes(time.Time{}, c.Now())
	ctx, cancel := c.WithTimeout(account.WithOptionalReads(ctx), requestTimeout)
	defer cancel()
	counted, err := metrics.ReadRequests(ctx, a.CloudWatch(), groups, span)
	if err != nil {
		return &sluice.RequestsCounted{Problem: err.Error()}
	}
	return &counted
}

func (v serviceView) writeRequests(b *bytes.Buffer, t *ServiceReport) {
	if t.Requests != nil {
		fmt.Fprintln(b, t.Requests.Text())
	}
}
