package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/stage/gates"
	"github.com/sluice-ecs/sluice/internal/verify"
)

const (
	// gateTrialSpan is the time for which verify asks providers.
	gateTrialSpan = time.Hour
	// gateTrialTimeout is how long verify waits for all providers, which may not be reachable from this machine.
	gateTrialTimeout = 15 * time.Second
)

// verifyGates sends the queries of gates once. A query without a value may be misspelt, and its gate would have no verdict.
func (p *program) verifyGates(ctx context.Context, a *account.Account, c clock.Clock,
	app *appfile.Application) (all []verify.Finding) {
	ctx, cancel := context.WithTimeout(ctx, gateTrialTimeout)
	defer cancel()
	now := c.Now()
	span, err := gates.PastSpan(now.Add(-gateTrialSpan), now)
	if err != nil {
		return nil // an hour has closed minutes
	}
	from := gates.Past{Account: a, Clock: c, OutsideAWS: p.Env.OutsideAWS(a), Span: span}
	for _, t := range gates.TryQueries(ctx, from, app.PlacedGates()) {
		if f := findingOfGate(t); f.Status != "" {
			if f.Status != verify.OK {
				f.Place = fmt.Sprintf("%s:%d", app.File, t.Gate.Line)
			}
			all = append(all, f)
		}
	}
	return all
}

// findingOfGate returns what a trial shows. The zero value: the gate has no query, and nothing is wrong with it.
func findingOfGate(t gates.Trial) verify.Finding {
	g := t.Gate
	f := verify.Finding{Subject: "gate " + g.Name}
	switch {
	case t.Err != nil && !t.IsRead:
		f.Status, f.Detail, f.Next = verify.Error, t.Err.Error(), sluice.NextStep(t.Err)
	case t.Err != nil:
		f.Status, f.Detail, f.Next = verify.Warning, "no value: "+t.Err.Error(), sluice.NextStep(t.Err)
		f.IsUnread = true
	case t.IsRead && t.Values == 0:
		f.Status, f.Detail = verify.Warning, "no value: its provider answers, and has none of the last hour"
		f.Next = "correct the query, or, if only a canary has such values, run sluice gate test --since 72h"
	case t.IsRead:
		f.Status, f.Detail = verify.OK, sluice.Plural(t.Values, "value")+" in the last hour"
	case g.Read.Signal != nil || g.Read.Provider != nil:
		f.Status, f.Detail = verify.OK, "its metrics are in CloudWatch; sluice gate test reads them"
	}
	return f
}
