package gates_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// An approved stage reads the gates of the whole pipeline before it passes, also if no process ran while it waited: the
// minutes that have closed, and each check once. Without a value it asks, or fails as the gate says.
func TestApprovalReadsGatesBeforeItPasses(t *testing.T) {
	const bad, good = "sim/web:v2?errors=60%", "sim/web:v2"
	const worse, limit = "{signal: errors, worse: 1.5, max: 1%}", "{signal: errors, max: 50%}"
	const asks = "a decision about errors (stage 3)"
	for name, c := range map[string]struct {
		image, gate string
		idle        time.Duration // until the approval
		silent      bool          // CloudWatch does not answer
		want        string        // cause of the rollback; empty: success; or the question
	}{
		"bad":                  {bad, worse, 8 * time.Minute, false, "gate errors"},
		"bad, approved soon":   {bad, worse, 10 * time.Second, false, "gate errors"},
		"good":                 {good, limit, 8 * time.Minute, false, ""},
		"good, approved soon":  {good, limit, 10 * time.Second, false, ""},
		"check":                {good, `{command: {run: ["false"]}}`, 8 * time.Minute, false, "gate false"},
		"check, approved soon": {good, `{command: {run: ["false"]}}`, 10 * time.Second, false, "gate false"},
		"check passes":         {good, `{command: {run: ["true"]}}`, 10 * time.Second, false, ""},
		"no value":             {good, worse, 8 * time.Minute, true, asks},
		"no value, soon":       {good, worse, 10 * time.Second, true, asks},
		"no value, fails":      {good, "{signal: errors, max: 1%, onUndecided: fail}", 8 * time.Minute, true, "no values in"},
		"no value, passes":     {good, "{signal: errors, max: 1%, onUndecided: pass}", 8 * time.Minute, true, asks},
		"no value, dry run":    {good, "{signal: errors, max: 1%, dryRun: true}", 10 * time.Second, true, ""},
		"fails, approved soon": {good, "{signal: errors, max: 50%, onUndecided: fail}", 10 * time.Second, false, ""},
	} {
		for _, waits := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, a process waits %t", name, waits), func(t *testing.T) {
				stagetest.RunPlain(t, func(b *stagetest.Bench) {
					b.Engine.OutsideAWS = &stage.OutsideAWS{HTTP: http.DefaultClient}
					if c.silent {
						stagetest.Must(b, b.Sim.Inject("throttle cloudwatch:GetMetricData"))
					}
					before, ctx := b.State(), context.Background()
					id := b.Start(b.Files(c.image, judged(stagetest.Approval)+"gates: ["+c.gate+"]\n"))
					hasEnded := false
					approve := func(after time.Duration) {
						stagetest.Must(b, b.Clock.Sleep(ctx, after))
						if hasEnded {
							return
						}
						stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Approve, 2, "ana"))
					}
					run := func() engine.RunResult {
						return stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: !waits}))(b)
					}
					asked, watch := "", b.Engine.OnEvent
					b.Engine.OnEvent = func(e sluice.Envelope) {
						watch(e)
						if ev, ok := e.Open().(sluice.ApprovalAwaited); ok && waits {
							if ev.Undecided == "" {
								b.Clock.Go(func() { approve(c.idle) })
								return
							}
							asked = fmt.Sprintf("a decision about %s (stage %d)", ev.Undecided, ev.Index+1)
							b.Clock.Go(func() { approve(time.Second) })
						}
					}
					end := run()
					if !waits {
						if end.WaitingFor != "1 approval of stage 3" {
							b.Fatalf("the first process left the deployment waiting for %q\n%s", end.WaitingFor, b.EventLog())
						}
						approve(c.idle)
						if end = run(); end.WaitingFor != "" {
							asked = end.WaitingFor
							approve(time.Second)
							end = run()
						}
					}
					hasEnded = true
					if (c.want == asks) != (asked == asks) {
						b.Fatalf("asked %q, want %q\n%s", asked, c.want, b.EventLog())
					}
					if c.want != "" && c.want != asks {
						b.ExpectEnd(end, sluice.RolledBack, c.want, before)
					} else if end.Outcome != sluice.Succeeded {
						b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
					}
				})
			})
		}
	}
}
