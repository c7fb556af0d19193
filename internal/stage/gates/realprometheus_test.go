package gates_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// startPrometheus starts the program Prometheus with a history of an hour of the tests' virtual time, and returns its
// address. It skips the test if the program is not installed.
func startPrometheus(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: make test-real installs it from Debian and runs this test", program)
		}
	}
	dir := t.TempDir()
	history, config, data := filepath.Join(dir, "history"), filepath.Join(dir, "prometheus.yml"), filepath.Join(dir, "data")
	stagetest.Must(t, os.WriteFile(history, []byte(openMetrics()), 0o600))
	stagetest.Must(t, os.WriteFile(config, nil, 0o600))
	if out, err := exec.Command("promtool", "tsdb", "create-blocks-from", "openmetrics", history, data).CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	free := stagetest.Got(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := free.Addr().String()
	stagetest.Must(t, free.Close())
	server := exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+data, "--web.listen-address="+address,
		"--storage.tsdb.retention.time=100y")
	log := stagetest.Got(server.StderrPipe())(t)
	stagetest.Must(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "ready to receive web requests") {
			go func() {
				for lines.Scan() { // so that the program can go on writing
				}
			}()
			return "http://" + address
		}
	}
	t.Fatal("prometheus ended before it was ready")
	return ""
}

// openMetrics returns the history: gauges of two variants, and counters of requests.
func openMetrics() string {
	var b strings.Builder
	add := func(kind, series string, valueAt func(minutes float64) float64) {
		name, _, _ := strings.Cut(series, "{")
		if kind != "" {
			fmt.Fprintf(&b, "# TYPE %s %s\n", strings.TrimSuffix(name, "_total"), kind)
		}
		for at := -15 * time.Minute; at <= time.Hour; at += 15 * time.Second {
			fmt.Fprintf(&b, "%s %g %d\n", series, valueAt(at.Minutes()+20), stagetest.StartTime.Add(at).Unix())
		}
	}
	constant := func(v float64) func(float64) float64 { return func(float64) float64 { return v } }
	perMinute := func(n float64) func(float64) float64 { return func(m float64) float64 { return n * m } }
	add("gauge", `failed_share{v="a"}`, constant(.5))
	add("", `failed_share{v="b"}`, constant(2))
	add("gauge", `no_requests{v="a"}`, constant(0))
	add("counter", `requests_total{v="canary"}`, perMinute(1200))
	add("", `requests_total{v="primary"}`, perMinute(4800))
	add("counter", `failures_total{v="canary"}`, perMinute(120))
	add("", `failures_total{v="primary"}`, perMinute(4.8))
	add("counter", `timeouts_total{v="canary"}`, constant(0))
	add("", `timeouts_total{v="primary"}`, constant(0))
	return b.String() + "# EOF\n"
}

// Gates judge by the program Prometheus as by the servers of the other tests: the times of its answers are those
// that it really has. PipeCD's column is how PipeCD's analysis plugin judges the same file.
func TestGatesOnRealPrometheus(t *testing.T) {
	address := startPrometheus(t)
	counts := func(bad string) string {
		return `max: 1%, worse: 2, bad: 'increase(` + bad + `{v="{{ .Variant }}"}[1m])', ` +
			`all: 'increase(requests_total{v="{{ .Variant }}"}[1m])'`
	}
	value := func(query string) string { return "expected: {max: 1}, query: '" + query + "'" }
	for name, c := range map[string]struct{ gate, pipeCD, own string }{
		"in range":         {value(`failed_share{v="a"}`), "good", "good"},
		"in range, 15s":    {value(`failed_share{v="a"}`) + ", interval: 15s", "good", "good"},
		"in range, 90s":    {value(`failed_share{v="a"}`) + ", interval: 90s", "good", "good"},
		"out of range":     {value(`failed_share{v="b"}`), "the value 2 is more than 1", "the value 2 is more than 1"},
		"out of range, 5m": {value(`failed_share{v="b"}`) + ", interval: 5m", "the value 2 is more than 1", "the value 2 is more than 1"},
		"0/0":              {value(`no_requests / no_requests`), "not a number", "asks"},
		"1/0":              {value(`1 / sum(no_requests)`), "the value +Inf is more than 1", "the value +Inf is more than 1"},
		"scalar":           {value(`0.5`), "good", "good"},
		"misspelt":         {value(`failed_shares`), "no values in 12 readings", "asks"},
		"two series":       {value(`failed_share`), "the value 2 is more than 1", "asks"},
		"no query":         {value(`sum(failed_share`), "parse error", "asks"},
		"counts, bad":      {counts("failures_total"), "of the canary are bad (10.00 %)", "of the canary are bad (10.00 %)"},
		"counts, good":     {counts("timeouts_total"), "good", "good"},
		"counts, misspelt": {counts("timeout_total"), "bad requests has no series", "asks"},
	} {
		for _, isPipeCD := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, PipeCD %t", name, isPipeCD), func(t *testing.T) {
				want := c.own
				if isPipeCD {
					want = c.pipeCD
				}
				stagetest.RunPlain(t, func(b *stagetest.Bench) {
					end, isAsked := judgeBy(b, address, "12m", c.gate, isPipeCD)
					outcome, cause := sluice.RolledBack, want
					if want == "good" || want == "asks" {
						outcome, cause = sluice.Succeeded, ""
					}
					all := gateReads(b)
					last := all[len(all)-1]
					if end.Outcome != outcome || !strings.Contains(end.Cause, cause) || isAsked != (want == "asks") {
						b.Fatalf("%s, asked %t: %s; want %s\nthe last reading: %s", end.Outcome, isAsked, end.Cause, want, last.Text())
					}
					if strings.HasPrefix(name, "in range") && last.WithoutValues > 0 {
						b.Errorf("readings have no value: %s", last.Text())
					}
				})
			})
		}
	}
}
