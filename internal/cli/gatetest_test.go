package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/cli/inspect"
)

// callService sends so many requests a second to the service.
func callService(b *diagnosisBench, rate float64) {
	v := b.sim.View().Regions[0]
	loadgen.Attach(b.sim.World(), b.sim.Balancer(), loadgen.Caller{
		Key: world.Key{Account: v.Account, Region: v.Region}, Balancer: v.LoadBalancers[0].ARN, Port: 80, Rate: rate,
		Request: loadbalancer.Request{Method: "GET", Scheme: "http", Host: "web.test", Path: "/"}})
}

func sleep(b *diagnosisBench, d time.Duration) {
	if err := b.clock.Sleep(context.Background(), d); err != nil {
		b.Error(err)
	}
}

// gateTest runs sluice gate test and returns its report.
func gateTest(b *diagnosisBench, args ...string) (r inspect.GateTestReport) {
	before := b.out.Len()
	b.sluice(append([]string{"gate", "test", "/app", "--region", "us-east-1", "--output", "json"}, args...)...)
	text := b.out.String()[before:]
	_, text, _ = strings.Cut(text, "\n")
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&r); err != nil {
		b.Fatalf("%v in %s", err, text)
	}
	return r
}

// A replay comes to the verdicts of the deployments that ran, with counts of the same canaries. Without a canary, it
// says so, and how long the gates need.
func TestGateTestReplaysDeployments(t *testing.T) {
	var before, after inspect.GateTestReport
	shown := playBroken(t, "gates", "{errors: 5%}", func(b *diagnosisBench) {
		callService(b, 20)
		sleep(b, 20*time.Minute)
		before = gateTest(b, "--since", "10m")
		b.sluice("gate", "test", "/app", "--region", "us-east-1", "--since", "10m")
		broken := b.files["taskdef.yaml"].Data
		b.files["taskdef.yaml"].Data = bytes.Replace(broken, []byte("sim/web:broken"), []byte("sim/web:v2"), 1)
		b.sluice("deploy", "/app", "--region", "us-east-1")
		sleep(b, time.Hour)
		b.files["taskdef.yaml"].Data = broken
		b.sluice("deploy", "/app", "--region", "us-east-1")
		sleep(b, 10*time.Minute)
		after = gateTest(b, "--since", "3h")
		b.sluice("gate", "test", "/app", "--region", "us-east-1", "--since", "3h", "--gate", "errors")
	})
	for _, g := range before.Gates {
		if len(g.Runs) != 0 || g.Traffic == nil || g.Traffic.Canary.All != 0 || g.Traffic.CanaryPerMinute != 240 ||
			len(g.Traffic.Expected) != 3 || g.Traffic.Expected[0].Verdict != "good" {
			t.Errorf("before any canary, gate %s: %+v %+v", g.Gate, g.Runs, g.Traffic)
		}
	}
	errors := after.Gates[0]
	// The deployments printed the same figures.
	for _, run := range errors.Runs {
		if n := strings.Count(shown, run.Figures.Text()); n < 2 {
			t.Errorf("%q is in the output %d times", run.Figures.Text(), n)
		}
	}
	if len(errors.Runs) != 2 || errors.Runs[0].Verdict != "good" || errors.Runs[1].Verdict != "bad" ||
		errors.Runs[1].Figures.Canary.Bad == 0 || errors.Runs[1].Follows != "sluice rolls back" {
		t.Errorf("gate errors: %+v", errors.Runs)
	}
	for _, run := range errors.Runs {
		if run.Minutes < 3 || run.Minutes > 12 {
			t.Errorf("%s after %.1f minutes", run.Verdict, run.Minutes)
		}
	}
	if slower := after.Gates[1]; len(slower.Runs) != 2 || slower.Runs[1].Verdict == "bad" {
		t.Errorf("gate slower than 500ms: %+v", slower.Runs)
	}
	for _, want := range []string{"no canary got requests in this time", "20 % for the canary are 240/min",
		"  a canary as good as the primary: good after about ", "bad after ", "rolled back: prod/web"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	if t.Failed() || testing.Verbose() {
		t.Log(shown)
	}
}

// What cannot be replayed is said, and a failed read is the only failure.
func TestGateTestRefuses(t *testing.T) {
	shown := playBroken(t, "gates", "{}", func(b *diagnosisBench) {
		callService(b, 20)
		sleep(b, 20*time.Minute)
		b.sluice("gate", "test", "/app", "--region", "us-east-1", "--gate", "eror")
		b.sluice("gate", "test", "/app", "--region", "us-east-1", "--since", "400h")
		b.sluice("gate", "test", "/app", "--region", "us-east-1", "--since", "2m")
		app := b.files["sluice.yaml"]
		app.Data = bytes.Replace(app.Data, []byte("        duration: 30m\n"),
			[]byte("        duration: 30m\n        alarms: [down]\n        https: [{url: \"https://web.test\"}]\n"), 1)
		b.sluice("gate", "test", "/app", "--region", "us-east-1", "--since", "10m")
		if err := b.sim.Inject("denied cloudwatch:GetMetricData"); err != nil {
			b.Error(err)
		}
		b.sluice("gate", "test", "/app", "--region", "us-east-1", "--since", "10m")
	})
	for _, want := range []string{`there is no gate "eror"`, "next: run sluice gate test --region us-east-1 --gate errors",
		"--since 400h0m0s is not between 1m and 360h", "no minute of this time has closed yet",
		"gate down (ANALYSIS 30m0s, canary 20 %)\n  not replayed: CloudWatch returns only the present state",
		"not replayed: a check has no past\n", "present state of an alarm\nexit 0", "not read: ", "cloudwatch:GetMetricData"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	if !strings.HasSuffix(strings.TrimSpace(shown), "exit 1") {
		t.Errorf("a denied read is no failure\n%s", shown)
	}
}

// An application without gates has nothing to replay, and the shell completes the names of gates.
func TestGateTestNamesGates(t *testing.T) {
	shown := playBroken(t, "canary", "{}", func(b *diagnosisBench) { b.sluice("gate", "test", "/app") })
	if !strings.Contains(shown, "the application has no gates\nnext: add gates: docs/gates.md describes them\nexit 1") {
		t.Error(shown)
	}
	shown = playBroken(t, "gates", "{}", func(b *diagnosisBench) { b.sluice("__complete", "gate", "test", "/app", "--gate", "") })
	if !strings.Contains(shown, "errors\nslower than 500ms\n:4\n") {
		t.Error(shown)
	}
}
