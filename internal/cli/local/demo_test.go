package local

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/goldentest"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/load"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// The demo plays in the world of examples/canary, with its files.
func TestDemoIsTheExample(t *testing.T) {
	for _, name := range []string{"world.yaml", "taskdef.yaml", "servicedef.yaml"} {
		want, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "canary", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := demoFiles.ReadFile("demo/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("internal/cli/local/demo/%s is not as in examples/canary: copy it", name)
		}
	}
}

// quick is a world in which little time passes.
const quick = `
knobs: {provisioning: 1s..2s, pending: 1s, activating: 1s..3s, deactivating: 1s, deprovisioning: 1s, schedulerLoop: 1s..2s, restartBackoff: 1s}
`

// shortDemo is a demo in a quick world; change makes it another. Tests that play
// one are not parallel: each asks the machine to keep up with its callers.
func shortDemo(t *testing.T, change func(*testing.T, *demo)) (code int, r demoResult) {
	t.Helper()
	var out bytes.Buffer
	env := session.Env{Out: &out, Err: io.Discard, Getenv: func(string) string { return "" }, Rand: zeros{},
		OpenJournal: journal.Open,
		Host:        "test", PID: 1, IsAlive: func(int) bool { return false },
		IsTerminal: func(io.Writer) bool { return false }}
	p := &session.Session{Env: env, Flags: session.Flags{Output: session.JSON}}
	d := &demo{Session: p, speed: 15, rate: testRate, seed: 1, loadScale: .1, files: demoFiles}
	d.edit(t, "world.yaml", "deregistrationDelay: 10s", "deregistrationDelay: 8s")
	// A machine that has other work answers late, not never.
	d.edit(t, "world.yaml", "timeout: 2s, healthy: 2, unhealthy: 2", "timeout: 4s, healthy: 2, unhealthy: 10")
	d.edit(t, "world.yaml", "clusters: [prod]\n", "clusters: [prod]\n"+quick)
	if change != nil {
		change(t, d)
	}
	err := d.runDemo(context.Background())
	if ended, ok := err.(session.ExitStatus); ok {
		code = int(ended)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return code, r
}

func TestDemoLosesNoRequest(t *testing.T) {
	code, r := shortDemo(t, nil)
	if code != sluice.ExitDone || r.Outcome != sluice.Succeeded || r.Failed != 0 || r.Requests == 0 {
		t.Errorf("exit %d, %s: %s, %d of %d requests failed", code, r.Outcome, r.Cause, r.Failed, r.Requests)
	}
	var steps []string
	for _, s := range r.Steps {
		steps = append(steps, s.Step)
		if s.Requested != s.ReadBack {
			t.Errorf("%s: asked %d, live %d", s.Step, s.Requested, s.ReadBack)
		}
		// The interval is wrong once in twenty times; ten times its half never is.
		if w := float64(s.Requested) / 100; w < s.Share-10*(s.High-s.Share)-.01 || w > s.Share+10*(s.Share-s.Low)+.01 {
			t.Errorf("%s: weight %d%%, measured %.3f (%.3f to %.3f)", s.Step, s.Requested, s.Share, s.Low, s.High)
		}
	}
	if got := strings.Join(steps, ", "); got != "before, canary rollout, canary 10%, canary 50%, primary rollout, "+
		"primary 100%, canary clean, after" {
		t.Errorf("steps are %s", got)
	}
	if last := r.Steps[len(r.Steps)-1]; last.New != last.Requests {
		t.Errorf("afterwards v2 answered %d of %d", last.New, last.Requests)
	}
}

func TestDemoOfABrokenVersionReachesNoCaller(t *testing.T) {
	for kind := range brokenImages {
		t.Run(kind, func(t *testing.T) {
			code, r := shortDemo(t, func(_ *testing.T, d *demo) { d.brokenBy = kind })
			if code != sluice.ExitDone || r.Outcome != sluice.RolledBack || r.Failed != 0 || r.New != 0 {
				t.Errorf("exit %d, %s: %s, %d failed, %d answered by v2", code, r.Outcome, r.Cause, r.Failed, r.New)
			}
		})
	}
}

// Callers get the answers of a version that is healthy and answers badly, until the gate rolls it back with its
// figures as the cause.
func TestDemoOfADegradedVersion(t *testing.T) {
	for kind, failed := range map[string]bool{"errors=90%": true, "slow=80ms": false} {
		t.Run(kind, func(t *testing.T) {
			code, r := shortDemo(t, func(_ *testing.T, d *demo) { d.brokenBy, d.speed = kind, 30 })
			if code != sluice.ExitDone || r.Outcome != sluice.RolledBack || r.Failed > 0 != failed || r.Failed > r.Requests/5 ||
				!strings.Contains(r.Cause, "requests of the canary are bad (") {
				t.Errorf("exit %d, %s: %s, %d of %d failed, %d answered by v2", code, r.Outcome, r.Cause, r.Failed, r.Requests,
					r.New)
			}
			if last := r.Steps[len(r.Steps)-1]; last.New != 0 || last.Failed != 0 {
				t.Errorf("afterwards v2 answered %d requests, %d failed", last.New, last.Failed)
			}
		})
	}
}

// Only the first wait of a degraded version has a gate, with a limit in AWS's time.
func TestGateOfTheDemo(t *testing.T) {
	file, err := demoFiles.ReadFile("demo/app.pipecd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{"errors=2%": "{signal: errors, worse: 1.5", "slow=800ms": "{signal: slower than 4.8s, worse: 1.5", "crash": "", "": ""} {
		s := &demoSetup{demo: &demo{brokenBy: kind, speed: 12, loadScale: 1}}
		text := string(s.fitToFlags(file))
		if n := strings.Count(text, "gates:"); !strings.Contains(text, want) || n != min(len(want), 1) {
			t.Errorf("--break %s: %d gates in\n%s", kind, n, text)
		}
	}
}

// A proof that cannot fail proves nothing: without the waits for health, or
// without the drain, requests are lost and the demo says so.
func TestTheProofCanFail(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *demo){"no wait for health": withoutHealth, "no drain": withoutDrain} {
		t.Run(name, func(t *testing.T) {
			code, r := shortDemo(t, change)
			t.Logf("exit %d, %d of %d requests failed", code, r.Failed, r.Requests) // TestFigures reads it
			if code != sluice.ExitFailed || r.Failed == 0 {
				t.Errorf("exit %d, %s: %s, %d of %d requests failed", code, r.Outcome, r.Cause, r.Failed, r.Requests)
			}
		})
	}
}

// withoutHealth ends each wait for health before the tasks of v2 can answer.
func withoutHealth(t *testing.T, d *demo) {
	d.Env.APIOptions = append(d.Env.APIOptions, stagetest.TargetsSeemHealthy)
	d.edit(t, "taskdef.yaml", "sim/web:v2", "sim/web:v2?healthy-after=30s")
}

// withoutDrain ends connections at once, with requests on them.
func withoutDrain(t *testing.T, d *demo) {
	slow(t, d)
	d.rate = 3 * testRate
	d.edit(t, "world.yaml", "deregistrationDelay: 8s", "deregistrationDelay: 0s")
}

// edit replaces a text in a file of the demo.
func (d *demo) edit(t *testing.T, name, from, to string) {
	t.Helper()
	edited := fstest.MapFS{}
	paths, err := fs.Glob(d.files, "demo/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		data, err := fs.ReadFile(d.files, path)
		if err != nil {
			t.Fatal(err)
		}
		edited[path] = &fstest.MapFile{Data: data}
	}
	file := edited["demo/"+name]
	if !bytes.Contains(file.Data, []byte(from)) {
		t.Fatalf("%s has no %q", name, from)
	}
	file.Data = bytes.ReplaceAll(file.Data, []byte(from), []byte(to))
	d.files = edited
}

// slow makes each request to v1 last.
func slow(t *testing.T, d *demo) {
	d.edit(t, "world.yaml", "sim/web:v1", "sim/web:v1-latency-2s")
}

func TestDemoWithSlowRequestsAndADrainLosesNone(t *testing.T) {
	code, r := shortDemo(t, slow)
	if code != sluice.ExitDone || r.Failed != 0 {
		t.Errorf("exit %d, %s: %s, %d of %d requests failed", code, r.Outcome, r.Cause, r.Failed, r.Requests)
	}
}

func TestDemoTable(t *testing.T) {
	const ms = sluice.Duration(time.Millisecond)
	r := &demoResult{Outcome: sluice.Succeeded, Speed: 12, Seconds: 37.6, Requests: 2401, Failed: 3,
		took: 6*time.Minute + 25*time.Second, Steps: []*demoRow{
			{Step: "before", Of: 401, High: .0095, Requests: 401, P50: 880 * ms / 1000, P99: 2 * ms},
			{Step: "canary 10%", Requested: 10, ReadBack: 10, Of: 1500, Share: .1, Low: .086, High: .1162, New: 190,
				Requests: 2000, Failed: 3,
				P50: ms, P99: 12 * ms, failures: []load.Failure{{Cause: "status 503 Service Unavailable", Count: 2},
					{Cause: "no response: EOF", Count: 1}}},
			{Step: "primary rollout", Requested: 50, ReadBack: 50},
		}}
	var out bytes.Buffer
	d := &demo{Session: &session.Session{Env: session.Env{Out: &out}, Flags: session.Flags{Output: session.Text}}}
	if err := d.printDemo(r); err != nil {
		t.Fatal(err)
	}
	goldentest.Check(t, "demo.txt", out.String())
	checkRecordedRun(t, out.String())
}

// checkRecordedRun compares the head and the legend of a table with the run of the demo that the documentation shows.
func checkRecordedRun(t *testing.T, table string) {
	t.Helper()
	recorded := goldentest.PageBlock(t, "docs/benchmarks.md", "demo")
	head, _, _ := strings.Cut(table, "\n")
	legend := strings.Split(table, "\n\n")[1]
	if fields := strings.Fields(head); !strings.Contains(strings.Join(strings.Fields(recorded), " "), strings.Join(fields, " ")) ||
		!strings.Contains(recorded, legend) {
		t.Errorf("docs/benchmarks.md has a run with another head or legend; record one: make figures ONLY='a run'\n%s", recorded)
	}
}

func TestDemoExits(t *testing.T) {
	for _, c := range []struct {
		broken  string
		outcome sluice.Outcome
		failed  int
		code    int
	}{
		{"", sluice.Succeeded, 0, 0},
		{"", sluice.Succeeded, 1, 5},
		{"", sluice.RolledBack, 0, 3},
		{"", "", 0, 4},
		{"crash", sluice.RolledBack, 0, 0},
		{"crash", sluice.RolledBack, 1, 5},
		{"crash", sluice.Succeeded, 0, 5},
		{"crash", sluice.Stalled, 0, 9},
		{"errors=2%", sluice.Succeeded, 7, 0},
		{"errors=2%", sluice.RolledBack, 7, 0},
		{"slow=1s", sluice.Stalled, 0, 9},
		{"slow=1s", "", 0, 4},
	} {
		d := &demo{brokenBy: c.broken}
		if got := d.exitCode(&demoResult{Outcome: c.outcome, Failed: c.failed}); got != c.code {
			t.Errorf("%+v: exit %d", c, got)
		}
	}
}

func TestDemoFlags(t *testing.T) {
	for want, d := range map[string]*demo{
		"--break panic: it must be one of crash, noboot, unhealthy":   {brokenBy: "panic", speed: 1, rate: 1},
		"--break errors=200%: option errors: \"200%\" is not a share": {brokenBy: "errors=200%", speed: 1, rate: 1},
		"--break errors=0%: it must be more than 0":                   {brokenBy: "errors=0%", speed: 1, rate: 1},
		"--break errors=1%&exit=3: option errors: \"1%&exit=3\"":      {brokenBy: "errors=1%&exit=3", speed: 1, rate: 1},
		"--break slow=0s: \"0s\" is not a time such as 800ms":         {brokenBy: "slow=0s", speed: 1, rate: 1},
		"--break slow: \"\" is not a time such as 800ms":              {brokenBy: "slow", speed: 1, rate: 1},
		"--speed 0: it must be 1 to 60":                               {rate: 1},
		"--rate 9000: it must be 1 to 5000":                           {speed: 1, rate: 9000},
	} {
		if err := d.checkDemoFlags(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// zeros is a source of random numbers that are all 0.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
