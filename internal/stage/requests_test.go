package stage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// countedRequests returns the events with the requests of the last minute, and when each was emitted.
func countedRequests(b *stagetest.Bench) (all []sluice.RequestsCounted, at []time.Time) {
	for _, e := range b.Events {
		if ev, ok := e.Open().(sluice.RequestsCounted); ok {
			all, at = append(all, ev), append(at, e.At)
		}
	}
	return all, at
}

// metricCalls returns when the requests were read.
func metricCalls(b *stagetest.Bench) (all []account.Call) {
	for _, c := range b.Calls {
		if c.Operation == "GetMetricData" {
			all = append(all, c)
		}
	}
	return all
}

// While a canary gets requests, each minute's figures are those of the callers, for both hostings.
// CloudWatch is read at most once a minute.
func TestRequestsOfTheCanaryAreCounted(t *testing.T) {
	const image = "sim/web:v2?errors=5%"
	t.Run("task sets", func(t *testing.T) {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			checkCounted(b,
				b.Deploy(b.Files(image, stagetest.WatchedPipeline)))
		})
	})
	t.Run("canary service", func(t *testing.T) {
		stagetest.RunRolling(t, func(b *stagetest.Bench) {
			checkCounted(b, b.Deploy(b.CanaryServiceFiles(image, stagetest.WatchedPipeline, "")))
		})
	})
}

func checkCounted(b *stagetest.Bench, end engine.RunResult) {
	b.Helper()
	all, at := countedRequests(b)
	if end.Outcome != sluice.Succeeded || len(all) < 6 {
		b.Fatalf("%s: %s, %d minutes were counted\n%s", end.Outcome, end.Cause, len(all), b.EventLog())
	}
	for i, ev := range all {
		// The wait begins some seconds after the shift, so that all counted minutes are whole.
		if ev.Problem != "" || *ev.Canary != (sluice.RequestCount{Requests: 1200, Errors: 60}) ||
			*ev.Primary != (sluice.RequestCount{Requests: 10800}) {
			b.Errorf("minute %d: %s", i, ev.Text())
		}
		if i > 0 && !ev.From.After(all[i-1].From) || at[i].Sub(ev.To) < 3*time.Minute {
			b.Errorf("minute %d: %s, emitted at %s", i, ev.Text(), at[i])
		}
	}
	const warning = "the canary answered 60 of 1200 requests with 5xx, the primary 0 of 10800; no gate of this stage"
	if n := strings.Count(b.EventLog(), warning); n != 1 {
		b.Errorf("the errors of the canary are warned of %d times, want once\n%s", n, b.EventLog())
	}
	calls := metricCalls(b)
	for i := 1; i < len(calls); i++ {
		if d := calls[i].At.Sub(calls[i-1].At); d < time.Minute {
			b.Errorf("CloudWatch is read again after %s", d)
		}
	}
}

// A deployment ends at the same time and with the same result whatever CloudWatch answers, and says
// once why there are no figures.
func TestRequestFiguresDelayNothing(t *testing.T) {
	var took time.Duration
	run := func(fault string) *stagetest.Bench {
		var out *stagetest.Bench
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			if fault != "" {
				stagetest.Must(b, b.Sim.Inject(fault))
			}
			began := b.Clock.Now()
			end := b.Deploy(b.Files("sim/web:v2", stagetest.WatchedPipeline))
			b.ExpectEnd(end, sluice.Succeeded, "", stagetest.ServesV2)
			d := b.Clock.Now().Sub(began)
			if took == 0 {
				took = d
			}
			if d != took || b.Tally.Report().Failed != 0 {
				b.Errorf("%q: took %s, without the fault %s", fault, d, took)
			}
			out = b
		})
		return out
	}
	run("")
	for _, c := range []struct {
		fault, problem string
		calls          int
	}{
		{"denied cloudwatch:GetMetricData", "is not authorized", 1},
		{"throttle cloudwatch:GetMetricData", "Rate exceeded", 9},
		{"no-send cloudwatch:GetMetricData", "", 9},
	} {
		b := run(c.fault)
		all, _ := countedRequests(b)
		if len(all) != 1 || all[0].Problem == "" || !strings.Contains(all[0].Problem, c.problem) {
			t.Errorf("%s: %+v", c.fault, all)
		}
		if n := len(metricCalls(b)); n > c.calls || c.calls > 1 && n < 6 {
			t.Errorf("%s: %d calls", c.fault, n)
		}
		if strings.Contains(b.EventLog(), "unanswered") {
			t.Errorf("%s is reported as a silence of AWS\n%s", c.fault, b.EventLog())
		}
	}
	if all, _ := countedRequests(run("latency cloudwatch:GetMetricData by=15s")); len(all) < 6 {
		t.Errorf("slow answers: %+v", all)
	}
}

// A read that the end of a stage stops is no problem: the next stage reads again.
func TestEndOfAStageIsNoProblemOfTheFigures(t *testing.T) {
	cut := 0
	const rollout = "    - {name: ECS_PRIMARY_ROLLOUT}\n"
	pipeline := strings.Replace(stagetest.WatchedPipeline, rollout, rollout+"    - {name: WAIT, with: {duration: 3m}}\n", 1)
	for delay := range 8 { // the promotion ends at different seconds of a read
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			stagetest.Must(b, b.Sim.Inject("latency cloudwatch:GetMetricData by=9s"))
			image := fmt.Sprintf("sim/web:v2?start-delay=%ds", 40+5*delay)
			end := b.Deploy(b.Files(image, pipeline))
			b.ExpectEnd(end, sluice.Succeeded, "", strings.ReplaceAll(stagetest.ServesV2, "sim/web:v2", image))
			all, _ := countedRequests(b)
			for _, ev := range all {
				if ev.Problem != "" {
					b.Errorf("delay %d: a stage that ended is reported as a problem: %s", delay, ev.Text())
				}
			}
			cut += readsOverAnEnd(b)
		})
	}
	if cut == 0 {
		t.Error("no read was stopped by the end of a stage")
	}
}

// readsOverAnEnd returns how many reads of the figures were under way when a stage ended.
func readsOverAnEnd(b *stagetest.Bench) (n int) {
	for _, e := range b.Events {
		if _, ok := e.Open().(sluice.StageEnded); !ok {
			continue
		}
		for _, c := range metricCalls(b) {
			if c.At.Before(e.At) && c.At.Add(c.Took).After(e.At) {
				n++
			}
		}
	}
	return n
}

// Without any request CloudWatch has no data, which is not the same as 0 requests. It is said once.
func TestNoDataIsNotZeroRequests(t *testing.T) {
	stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
		b.StartService(stagetest.Options{})
		end := b.Deploy(b.Files("sim/web:v2", stagetest.WatchedPipeline))
		all, _ := countedRequests(b)
		if end.Outcome != sluice.Succeeded || len(all) != 1 || all[0].Canary != nil || all[0].Primary != nil ||
			all[0].Problem != "" || !strings.HasSuffix(all[0].Text(), "primary –, canary –") {
			b.Errorf("%s, %+v", end.Outcome, all)
		}
	})
}

// Behind a name of Cloud Map there are no such figures, and no call.
func TestNoRequestFiguresBehindAName(t *testing.T) {
	stagetest.RunByName(t, stagetest.Named{}, func(n *stagetest.NameBench) {
		b := n.Bench
		end := b.Deploy(n.NamedFiles("sim/api:v2", strings.Replace(stagetest.RoutedPipeline(50, 25, ""),
			"{name: WAIT_APPROVAL}", "{name: WAIT, with: {duration: 10m}}", 1)))
		if all, _ := countedRequests(b); end.Outcome != sluice.Succeeded || len(all) != 0 || len(metricCalls(b)) != 0 {
			b.Errorf("%s, %d events, %d calls", end.Outcome, len(all), len(metricCalls(b)))
		}
	})
}
