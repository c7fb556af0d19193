package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/cli/goldentest"
	"github.com/sluice-ecs/sluice/internal/load"
)

var (
	measure = flag.Bool("figures", false, "measure the figures of docs/benchmarks.md; with -update, write them there")
	runs    = flag.Int("runs", 10, "how often the demo runs for its figures")
	only    = flag.String("only", "",
		"regular expression of the figures that are measured; the others stay as they are written")
)

// figure is one that is promised.
type figure struct {
	name, target string
	measure      func(*testing.T) result
}

// result is what was measured; ratio is how many times better than the target,
// 0 if that says nothing.
type result struct {
	text  string
	ratio float64
	met   bool
}

// against says how it compares with the target.
func (r result) against() string {
	switch {
	case !r.met:
		return "MISSED"
	case r.ratio == 0:
		return "met"
	case r.ratio > 100:
		return "over 100 times better"
	}
	return fmt.Sprintf("%.1f times better", r.ratio)
}

// least is a rate that should be at least so much.
func least(got, want float64, unit string) result {
	return result{fmt.Sprintf("%s %s", number(got), unit), got / want, got >= want}
}

// most is a cost that should be less than so much.
func most(got, want float64, unit string) result {
	return result{fmt.Sprintf("%s %s", number(got), unit), want / got, got < want}
}

func number(f float64) string {
	switch {
	case f >= 1000:
		return fmt.Sprintf("%.0f", f)
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprintf("%.3g", f)
}

func figures() []figure {
	return append([]figure{
		{"demo: runs without a failed request", "all", demoRuns},
		{"demo without the wait for health: runs that lose requests", "all", brokenRuns("no_wait_for_health")},
		{"demo without the drain: runs that lose requests", "all", brokenRuns("no_drain")},
		{"split at 10 %, over 200,000 requests on sockets", "within 0.5 points", split(10)},
		{"split at 25 %, over 200,000 requests on sockets", "within 0.5 points", split(25)},
		{"split at 50 %, over 200,000 requests on sockets", "within 0.5 points", split(50)},
		{"blue/green by CodeDeploy, 300 requests a second: runs without a failed request", "all", shiftRuns},
		{"a deployment of 25 s by CodeDeploy, plan included: calls, median", "≤ 20", shiftCalls},
		{"the same: its end is known after, median", "≤ 2 s", shiftLag},
		{"callers by name, 300 requests a second each: runs without a failed request", "all", namedRuns},
		{"shares by name, over 200,000 lookups each: measured for planned", "within the sampling interval",
			namedShares},
		{"bad inputs refused: no hang, panic, secret, escape byte or write", "all, at least 200", badFigure},
		{"sluice sim: first answer after start", "< 200 ms", simStart},
		{"sluice sim: DescribeServices over HTTP", "≥ 5,000/s", bench("./awssim", "DescribeServicesBare", "calls/s",
			func(f float64) result { return least(f, 5000, "/s") })},
		{"the same with an SDK client beside it", "none", bench("./awssim", "DescribeServices", "calls/s",
			func(f float64) result { return result{number(f) + " /s", 0, true} })},
		{"sluice sim: requests through one listener", "≥ 5,000/s", bench("./awssim/dataplane", "Forward", "requests/s",
			func(f float64) result { return least(f, 5000, "/s") })},
		{"100 services of 2 tasks, idle for 24 virtual hours", "< 1 s", idleDay},
		{"1,000 services with 10,000 tasks, listening", "< 1 GB",
			bench("./awssim", "ThousandServices", "MB-from-system",
				func(f float64) result { return most(f, 1000, "MB") })},
		{"a pipeline of 5 minutes, in virtual time", "≥ 1,000 per minute",
			bench("./internal/engine", "Pipeline", "pipelines/min",
				func(f float64) result { return least(f, 1000, "per minute") })},
		{"sluice's own time where AWS takes none", "< 1 s", bench("./internal/engine", "OwnTime", "own-ms/op",
			func(f float64) result { return most(f, 1000, "ms") })},
		{"the slowest command that does not deploy, where AWS takes no time", "< 1 s", slowestCommand},
		{"50 deployments at once in one account: succeeded without a failed request", "all", fiftyAtOnce},
		{"binary", "< 80 MB", binarySize},
		{"sluice version", "< 30 ms", versionTime},
	}, slices.Concat(gateFigures(), providerFigures(), simulationFigures())...)
}

// written are the figures of docs/benchmarks.md, by name.
func written(t *testing.T) map[string][]string {
	text, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if cells := strings.Split(strings.Trim(line, "| "), " | "); len(cells) == 4 {
			all[cells[0]] = cells
		}
	}
	return all
}

// TestFigures measures what docs/benchmarks.md promises: make bench.
func TestFigures(t *testing.T) {
	if !*measure {
		t.Skip("make bench measures them")
	}
	head := []string{"figure", "target", "measured", "of target"}
	var all [][]string
	var missed []string
	which, old := regexp.MustCompile(*only), written(t)
	for _, f := range figures() {
		if !which.MatchString(f.name) {
			if cells, ok := old[f.name]; ok {
				all = append(all, cells)
			}
			continue
		}
		r := f.measure(t)
		ratio := r.against()
		if !r.met {
			missed = append(missed, fmt.Sprintf("%s: %s, want %s", f.name, r.text, f.target))
		}
		fmt.Printf("%-60s %-20s %-24s %s\n", f.name, f.target, r.text, ratio)
		all = append(all, []string{f.name, f.target, r.text, ratio})
	}
	if goldentest.IsUpdate() {
		goldentest.CheckPage(t, "docs/benchmarks.md", map[string]string{"figures": goldentest.Table(head, all)})
	}
	if goldentest.IsUpdate() && which.MatchString("a run of the demo") {
		goldentest.CheckPage(t, "docs/benchmarks.md", map[string]string{"demo": "```console\n$ sluice demo\n" + aDemo(t) + "```"})
		checkPicture(t)
		if _, ok := tested(t, demoTests, "TestReferenceOfCalls", "-update"); !ok {
			t.Error("the calls of the demo's pipeline are not written")
		}
	}
	for _, m := range missed {
		t.Error(m)
	}
}

// built is sluice as users get it.
func built(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sluice")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	c := exec.Command("go", "build", "-ldflags=-s -w", "-o", name, "./cmd/sluice")
	c.Dir, c.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

func demoRuns(t *testing.T) result {
	sluice, good, requests := built(t), 0, 0
	for range *runs {
		out, _ := exec.Command(sluice, "demo", "--output", "json").Output()
		var r struct {
			Outcome          string
			Requests, Failed int
		}
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatal(err)
		}
		requests += r.Requests
		if r.Failed == 0 && r.Outcome == "succeeded" {
			good++
		}
	}
	return result{fmt.Sprintf("%d of %d (%d requests)", good, *runs, requests), 0, good == *runs}
}

func aDemo(t *testing.T) string {
	out, err := exec.Command(built(t), "demo").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// demoTests is the package of the demo.
const demoTests = "./internal/cli/local"

// lossOfDemo is what TestTheProofCanFail prints of one run.
var lossOfDemo = regexp.MustCompile(`exit (\d+), (\d+) of (\d+) requests failed`)

// brokenRuns runs a demo that loses requests, by the test TestTheProofCanFail.
func brokenRuns(name string) func(*testing.T) result {
	return func(t *testing.T) result {
		lost, requests, failed := 0, 0, 0
		out, _ := tested(t, demoTests, "TestTheProofCanFail$/^"+name, fmt.Sprintf("-count=%d", *runs))
		for _, m := range lossOfDemo.FindAllStringSubmatch(out, -1) {
			code, _ := strconv.Atoi(m[1])
			few, _ := strconv.Atoi(m[2])
			of, _ := strconv.Atoi(m[3])
			requests, failed = requests+of, failed+few
			if few > 0 && code == sluice.ExitFailed {
				lost++
			}
		}
		return result{fmt.Sprintf("%d of %d (%d of %d requests)", lost, *runs, failed, requests), 0, lost == *runs}
	}
}

// split sends 200,000 requests through a listener whose rule gives the canary's
// group so much, and counts who answers.
func split(percent int32) func(*testing.T) result {
	return func(t *testing.T) result {
		const requests = 200_000
		ctx := context.Background()
		sim, err := awssim.New(awssim.Options{Seed: uint64(percent)})
		if err == nil {
			err = sim.Load("split.yaml", []byte(strings.Replace(splitWorld, "PERCENT",
				fmt.Sprintf("a: %d, b: %d", 100-percent, percent), 1)))
		}
		if err != nil {
			t.Fatal(err)
		}
		live, err := sim.Listen(ctx, "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer live.Close()
		lbs, err := awselb.NewFromConfig(sim.Config()).DescribeLoadBalancers(ctx, &awselb.DescribeLoadBalancersInput{})
		if err != nil || lbs.LoadBalancers[0].State.Code != elbtypes.LoadBalancerStateEnumActive {
			t.Fatal(lbs, err)
		}
		url := "http://" + aws.ToString(lbs.LoadBalancers[0].DNSName) + "/"
		waitFor(t, func() bool { return isServed(ctx, url) })
		v2, failed := hammer(url, requests)
		share := 100 * float64(v2) / requests
		off := max(share-float64(percent), float64(percent)-share)
		low, high := load.WilsonInterval(v2, requests)
		return result{fmt.Sprintf("%.2f %% (%.2f to %.2f), %d failed", share, 100*low, 100*high, failed), 0,
			off <= .5 && failed == 0}
	}
}

const splitWorld = `
clusters: [prod]
targetGroups: [{name: a, port: 80}, {name: b, port: 80}]
loadBalancers:
  - name: web
    listeners: [{port: 80, forward: {PERCENT}}]
services:
  - {name: a, cluster: prod, controller: EXTERNAL, count: 2, image: "sim/web:v1", port: 80, targetGroup: a}
  - {name: b, cluster: prod, controller: EXTERNAL, count: 2, image: "sim/web:v2", port: 80, targetGroup: b}
`

// hammer sends n requests over eight connections, as fast as they are answered.
func hammer(url string, n int) (v2, failed int) {
	type tally struct{ v2, failed int }
	counts := make(chan tally)
	const beside = 8
	for range beside {
		go func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			var c tally
			for range n / beside {
				res, err := client.Get(url)
				if err != nil || res.StatusCode != http.StatusOK {
					c.failed++
					continue
				}
				if res.Header.Get(load.VersionHeader) == "v2" {
					c.v2++
				}
				body := bufio.NewReader(res.Body)
				_, _ = body.WriteTo(discard{})
				_ = res.Body.Close()
			}
			counts <- c
		}()
	}
	for range beside {
		c := <-counts
		v2, failed = v2+c.v2, failed+c.failed
	}
	return v2, failed
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	for began := time.Now(); !so(); {
		if time.Since(began) > 10*time.Second {
			t.Fatal("nothing answered for 10 s")
		}
		runtime.Gosched()
	}
}

// simStart is the middle of eleven starts.
func simStart(t *testing.T) result {
	name := built(t)
	world := filepath.Join("..", "..", "examples", "canary", "world.yaml")
	took := middle(11, func() time.Duration {
		c := exec.Command(name, "sim", "--listen", "127.0.0.1:0", "--world", world)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = c.Process.Kill()
			_ = c.Wait()
		}()
		url := ""
		for lines := bufio.NewScanner(out); url == "" && lines.Scan(); {
			if at, ok := strings.CutPrefix(lines.Text(), "export AWS_ENDPOINT_URL="); ok {
				url = at
			}
		}
		if !isServed(context.Background(), url+"/_sluice/world") {
			t.Fatal("no answer at " + url)
		}
		return time.Since(began)
	})
	return most(ms(took), 200, "ms")
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// middle is the median of n.
func middle(n int, f func() time.Duration) time.Duration {
	var all []time.Duration
	for range n {
		all = append(all, f())
	}
	slices.Sort(all)
	return all[n/2]
}

func versionTime(t *testing.T) result {
	name := built(t)
	took := middle(21, func() time.Duration {
		began := time.Now()
		if err := exec.Command(name, "version").Run(); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	})
	return most(ms(took), 30, "ms")
}

func binarySize(t *testing.T) result {
	info, err := os.Stat(built(t))
	if err != nil {
		t.Fatal(err)
	}
	return most(float64(info.Size())/1e6, 80, "MB")
}

// idleDay is one day from a settled world on, all that it schedules included.
func idleDay(t *testing.T) result {
	out := goBench(t, "./awssim", "IdleDay", "1x")
	ns, err := strconv.ParseFloat(cmp.Or(out["ns/op"], "0"), 64)
	if err != nil {
		t.Fatal(err)
	}
	return most(ns/1e6, 1000, "ms")
}

// bench takes one figure of a benchmark of another package.
func bench(pkg, name, unit string, judge func(float64) result) func(*testing.T) result {
	return func(t *testing.T) result {
		got, ok := goBench(t, pkg, name, "3s")[unit]
		f, err := strconv.ParseFloat(got, 64)
		if !ok || err != nil {
			t.Fatalf("%s of Benchmark%s in %s: %q", unit, name, pkg, got)
		}
		return judge(f)
	}
}

// fiftyAtOnce compares fifty deployments with one alone.
func fiftyAtOnce(t *testing.T) result {
	got := goBench(t, "./internal/engine", "FiftyAtOnce", "1x")
	n := func(unit string) float64 { f, _ := strconv.ParseFloat(got[unit], 64); return f }
	return result{fmt.Sprintf("%.0f of 50, in %.1f min of AWS's time: %.1f times one alone", n("good/op"),
		n("virtual-min/op"), n("times-alone")), 0, n("good/op") == 50}
}

// goBench runs a benchmark and returns its figures by unit.
func goBench(t *testing.T, pkg, name, howLong string) map[string]string {
	t.Helper()
	c := exec.Command("go", "test", pkg, "-run", "^$", "-bench", "^Benchmark"+name+"$", "-benchtime", howLong)
	c.Dir = "../.."
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	figures := map[string]string{}
	for _, m := range benchFigure.FindAllStringSubmatch(string(out), -1) {
		figures[m[2]] = m[1]
	}
	return figures
}

var benchFigure = regexp.MustCompile(`\s([0-9.]+(?:e[+-]?\d+)?) (\S+/\S+|\S*-\S+)`)

// isServed reports whether a page is served.
func isServed(ctx context.Context, url string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}
