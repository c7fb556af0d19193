package gates_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/stage/gates"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// replay replays the gates of a stage over three hours of a provider's metrics.
func replay(b *stagetest.Bench, server *httptest.Server, stageText string) []gates.Replay {
	files := b.Files("sim/web:v2", judged(stageText)+
		"analysisProviders: [{name: prom, type: PROMETHEUS, config: {address: \""+server.URL+"\", bearer: env:TOKEN}}]\n")
	app, err := appfile.Load(files, ".", nil)
	stagetest.Must(b, err)
	now := b.Clock.Now()
	span, err := gates.PastSpan(now.Add(-3*time.Hour), now)
	stagetest.Must(b, err)
	return gates.ReplayAll(context.Background(), gates.Past{Account: b.Account, Clock: b.Clock, Span: span,
		OutsideAWS: &stage.OutsideAWS{HTTP: server.Client(), Secret: secretOfTheTest}}, app.PlacedGates())
}

// Gates with queries are replayed: counts as one canary, a threshold as one stage after the other. A gate of a
// signal has no metrics without a load balancer, and a wait does not end early.
func TestReplayOfAProvider(t *testing.T) {
	const counts = `{provider: prom, worse: 1.5, max: 2%, bad: "bad {{ .Variant }}", all: "all {{ .Variant }}"}`
	const threshold = `{provider: prom, query: "bad canary", expected: {max: 5}, failureLimit: 2}`
	for name, c := range map[string]struct {
		bad                      int
		counts, values           analysis.Verdict
		countsAfter, valuesAfter time.Duration
	}{
		"bad":  {10, analysis.Bad, analysis.Bad, 6 * time.Minute, 3 * time.Minute},
		"good": {0, analysis.Good, analysis.Good, 5 * time.Minute, 20 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			server := fakePrometheus(t, c.bad)
			stagetest.RunPlain(t, func(b *stagetest.Bench) {
				all := replay(b, server, analysisStage("duration: 20m, metrics: ["+counts+", "+threshold+", {signal: errors, worse: 2}]"))
				if n := len(all[0].Runs); n != 1 || len(all[1].Runs) != 8 || all[2].Err == nil {
					b.Fatalf("%d runs of counts, %d of values, the signal: %v", n, len(all[1].Runs), all[2].Err)
				}
				for i, want := range []analysis.Verdict{c.counts, c.values} {
					run, after := all[i].Runs[0], []time.Duration{c.countsAfter, c.valuesAfter}[i]
					if run.Verdict != want || run.At.Sub(run.Began) != after {
						b.Errorf("%s: %s after %s, want %s after %s", all[i].Gate.Name, run.Verdict, run.At.Sub(run.Began), want, after)
					}
				}
				if traffic := all[0].Traffic; traffic.PerMinute != 500 || traffic.CanaryPerMinute != 100 {
					b.Errorf("traffic: %+v", traffic)
				}
			})
		})
	}
}

// A gate of a wait that is good stays so only while its evidence says so, and the wait lasts its time.
func TestReplayOfAWait(t *testing.T) {
	server := fakePrometheus(t, 0)
	stagetest.RunPlain(t, func(b *stagetest.Bench) {
		all := replay(b, server, `{name: WAIT, with: {duration: 20m, gates: [{provider: prom, worse: 1.5, max: 2%, `+
			`bad: "bad {{ .Variant }}", all: "all {{ .Variant }}"}]}}`)
		run := all[0].Runs[0]
		if run.Verdict != analysis.Good || run.At.Sub(run.Began) != 5*time.Minute || run.Figures.Canary.All < 1500 {
			b.Errorf("%s after %s: %s", run.Verdict, run.At.Sub(run.Began), run.Figures.Text())
		}
	})
}

// The metrics of a provider that refuses are not read, and the reason is returned.
func TestReplayWithoutAnAnswer(t *testing.T) {
	server := fakePrometheus(t, 0)
	server.Close()
	stagetest.RunPlain(t, func(b *stagetest.Bench) {
		all := replay(b, server, analysisStage(`duration: 20m, metrics: [{provider: prom, query: q, expected: {max: 5}}]`))
		if all[0].Err == nil || len(all[0].Runs) != 0 {
			b.Errorf("%+v", all[0])
		}
	})
}
