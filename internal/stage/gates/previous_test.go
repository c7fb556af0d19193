package gates_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// latency is a Prometheus with one series: about 10, and about 100 between two times.
type latency struct{ slowFrom, slowTo atomic.Int64 }

func (l *latency) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	valueAt := func(at int64) int64 {
		if slow := l.slowFrom.Load(); slow > 0 && at >= slow && (l.slowTo.Load() == 0 || at < l.slowTo.Load()) {
			return 100 + at/60%7
		}
		return 10 + at/60%7
	}
	var start, end float64
	fmt.Sscan(r.FormValue("start"), &start)
	fmt.Sscan(r.FormValue("end"), &end)
	if at := r.FormValue("time"); at != "" {
		fmt.Sscan(at, &end)
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[%f,"%d"]}]}}`, end,
			valueAt(int64(end)))
		return
	}
	var points []string
	for at := int64(start); at <= int64(end); at += 60 {
		points = append(points, fmt.Sprintf(`[%d,"%d"]`, at, valueAt(at)))
	}
	fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[%s]}]}}`,
		strings.Join(points, ","))
}

func previousGate(address, more string) string {
	return judged(analysisStage("duration: 25m, metrics: [{provider: prom, query: latency, strategy: PREVIOUS, interval: 10m"+
		more+"}]")) + "analysisProviders: [{name: prom, type: PROMETHEUS, config: {address: \"" + address + "\"}}]\n"
}

// PREVIOUS compares the series with itself after as much time of the same stage of the last successful deployment.
func TestPreviousComparesWithTheLastSuccessfulDeployment(t *testing.T) {
	series := &latency{}
	server := httptest.NewServer(series)
	defer server.Close()
	stagetest.RunPlain(t, func(b *stagetest.Bench) {
		b.Engine.OutsideAWS = &stage.OutsideAWS{HTTP: server.Client()}
		pipeline := previousGate(server.URL, ", onUndecided: pass")
		expect := func(image string, outcome sluice.Outcome, cause string) {
			t.Helper()
			if end := deploy(b, image, pipeline); end.Outcome != outcome || !strings.Contains(end.Cause, cause) {
				b.Fatalf("%s %s: %s\n%s", image, end.Outcome, end.Cause, b.EventLog())
			}
		}
		expect("sim/web:v2", sluice.Succeeded, "")
		if log := b.EventLog(); !strings.Contains(log, "no earlier deployment is known") {
			b.Errorf("the first deployment does not say that it has nothing to compare with\n%s", log)
		}
		expect("sim/web:v3", sluice.Succeeded, "")
		series.slowFrom.Store(b.Clock.Now().Unix())
		expect("sim/web:v4", sluice.RolledBack, "latency")
		series.slowTo.Store(b.Clock.Now().Unix())
		expect("sim/web:v5", sluice.Succeeded, "") // compared with v3, not with v4
	})
}

// Without an earlier deployment, a gate that holds asks.
func TestPreviousOfAFirstDeploymentAsks(t *testing.T) {
	server := httptest.NewServer(&latency{})
	defer server.Close()
	stagetest.RunPlain(t, func(b *stagetest.Bench) {
		b.Engine.OutsideAWS = &stage.OutsideAWS{HTTP: server.Client()}
		id, asked := b.Start(b.Files("sim/web:v2", previousGate(server.URL, ""))), false
		watch := b.Engine.OnEvent
		b.Engine.OnEvent = func(e sluice.Envelope) {
			watch(e)
			if _, ok := e.Open().(sluice.ApprovalAwaited); ok && !asked {
				asked = true
				stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, journal.Approve, 2, "ana"))
			}
		}
		end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		if end.Outcome != sluice.Succeeded || !asked {
			b.Fatalf("%s: %s, asked %t\n%s", end.Outcome, end.Cause, asked, b.EventLog())
		}
	})
}
