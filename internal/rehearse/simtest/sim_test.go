package simtest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/rehearse"
)

var (
	seeds  = flag.Uint64("seeds", 500/lighter, "how many seeds are simulated; with -short a fifth of them")
	shrink = flag.Bool("shrink", true, "make a case that breaks a promise small, and write it down")
	into   = flag.String("written", "testdata", "the folder where it is written down")
	first  = flag.Uint64("first", 0, "the first of them; 0: SLUICE_SEED_START, or 1")
	goOn   = flag.Bool("go-on", false, "go on after a case that breaks a promise, and make none small")
	ways   = flag.String("kinds", "", "a regular expression: seeds of other kinds are passed over")
)

// firstSeed is where the seeds begin: CI begins elsewhere each time. A test must ask, and no variable of the package: Go
// answers a test from its cache unless the test itself has read what changed.
func firstSeed() uint64 {
	if *first > 0 {
		return *first
	}
	n, err := strconv.ParseUint(os.Getenv("SLUICE_SEED_START"), 10, 64)
	if err != nil {
		return 1
	}
	return n
}

// codecEvery is how often a case is run through the wire's codec too.
const codecEvery = 20

// TestSimulation runs many drawn cases and holds each against the promises. The
// first that breaks one is made small and told as a scenario file.
func TestSimulation(t *testing.T) {
	began := time.Now()
	var next, done atomic.Uint64
	played.Store(0)
	all := seedsOf(t, regexp.MustCompile(*ways))
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for n := next.Add(1) - 1; n < uint64(len(all)) && (*goOn || !t.Failed()); n = next.Add(1) - 1 {
				if c, bad := simulateSeed(all[n]); bad != "" {
					t.Errorf("after %d seeds\n%s%s", done.Load()+1, Format(c), bad)
					written(t, c)
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	t.Logf("%d seeds, %d deployments, %.0f a minute", done.Load(), played.Load(),
		float64(played.Load())/time.Since(began).Minutes())
}

// seedsOf are the first seeds whose kind the expression matches.
func seedsOf(t *testing.T, of *regexp.Regexp) (all []uint64) {
	if !slices.ContainsFunc(allKinds(), func(k kind) bool { return k.share > 0 && of.MatchString(k.name) }) {
		t.Fatalf("no kind matches %s", of)
	}
	count := *seeds
	if testing.Short() {
		count = (count + 4) / 5
	}
	for seed := firstSeed(); uint64(len(all)) < count; seed++ {
		if of.MatchString(kindOfSeed(seed).name) {
			all = append(all, seed)
		}
	}
	return all
}

// played counts the deployments of TestSimulation.
var played atomic.Uint64

func play(c rehearse.Case) rehearse.Result {
	played.Add(1)
	return Run(c)
}

// simulateSeed runs the case of a seed and tells what is wrong with it.
func simulateSeed(seed uint64) (rehearse.Case, string) {
	c := Generate(seed)
	r := play(c)
	if len(r.Violations) > 0 {
		return c, fmt.Sprintf("%v\n%s: %s; %s", r.Violations, r.Outcome, r.Cause, r.State)
	}
	if d := unlikeUnbroken(c, r); d != "" {
		return c, d
	}
	if seed%codecEvery != 0 {
		return c, ""
	}
	c.Codec = true
	if d := difference(r, play(c)); d != "" {
		return c, "through the codec: " + d
	}
	return c, ""
}

// unlikeUnbroken compares a case in which sluice was killed, and nothing else
// happened that depends on the time, with the same without a kill (P5).
func unlikeUnbroken(c rehearse.Case, r rehearse.Result) string {
	if len(strings.Fields(c.Provider)) > 1 { // a killed process reads again
		return ""
	}
	if len(c.Kills) == 0 || len(c.Faults) > 0 || c.FullDisk.Row > 0 || c.MayLoseRequests() || c.RestartDelay > 0 ||
		c.World.Scaling.IsActive() ||
		slices.ContainsFunc(c.Interventions, func(h rehearse.Intervention) bool {
			return h.Stage == 0 || h.At > 0 ||
				h.Does != rehearse.Rollback
		}) {
		return ""
	}
	c.Kills = nil
	u := play(c)
	if u.Outcome != r.Outcome || u.State != r.State {
		return fmt.Sprintf("[P5: %s; %s; not killed: %s; %s]", r.Outcome, r.State, u.Outcome, u.State)
	}
	return ""
}

// written leaves the case, made small, as a file that [TestScenarios] plays.
func written(t *testing.T, c rehearse.Case) {
	if !*shrink || *goOn || BrokenPromise(c) == "" {
		return
	}
	c = Shrink(c, BrokenPromise)
	c.Notes = []string{fmt.Sprintf("Found by seed %d. What happened: …", c.Seed)}
	file := filepath.Join(*into, fmt.Sprintf("seed-%d.txt", c.Seed))
	t.Logf("made small:\n%s", Format(c))
	if err := os.WriteFile(file, []byte(Format(c)), 0o600); err != nil {
		t.Error(err)
	} else {
		t.Logf("written as %s", file)
	}
}

// transport is how the SDK's HTTP client words an error, which only the codec has.
var transport = regexp.MustCompile(`Post \\?"[^"]*": `)

// difference is what two runs of one case do not have in common.
func difference(a, b rehearse.Result) string {
	for _, r := range []*rehearse.Result{&a, &b} {
		r.Log, r.Cause = transport.ReplaceAllString(r.Log, ""), transport.ReplaceAllString(r.Cause, "")
	}
	if a.Log != b.Log {
		return fmt.Sprintf("the logs differ:\n%s", firstDifference(a.Log, b.Log))
	}
	if x, y := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); x != y {
		return x + "\n" + y
	}
	return ""
}

func firstDifference(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	from := max(0, at-200)
	return a[from:min(len(a), at+200)] + "\n---\n" + b[from:min(len(b), at+200)]
}
