package simtest

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-ecs/sluice/internal/eventtest"
)

var (
	everyTrace   = flag.Bool("traces", false, "compare the trace of every seed, not of a sample")
	recordTraces = flag.Bool("record", false, "record the traces anew")
	traceOf      = flag.Uint64("seed-trace", 0,
		"write the trace of this seed into the folder of -written, to compare it with another commit's")
)

// Recorded are the traces of as many seeds, in this file; one of so many is compared in
// the ordinary tests.
const (
	tracedSeeds  = 2000
	tracesFile   = "testdata/traces/seeds.txt"
	sampleTraces = 40 * lighter
)

// A change of the inside leaves what sluice writes, saves and emits as it was, for every
// drawn case. A change that means to do otherwise records the traces anew (make trace
// RECORD=1), and says so in the changelog.
func TestTracesAreAsRecorded(t *testing.T) {
	schema, err := eventtest.NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	if *traceOf > 0 {
		writeTrace(t, *traceOf, schema)
		return
	}
	var recorded []string
	if !*recordTraces {
		recorded = readTraces(t)
	}
	all := make([]string, tracedSeeds)
	var chosen []int
	for i := range all {
		if *everyTrace || *recordTraces || uint64(i)%sampleTraces == firstSeed()/1000%sampleTraces {
			chosen = append(chosen, i)
		}
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, i := range chosen {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			_, trace := RunTraced(Generate(uint64(i+1)), schema.CheckEvent)
			all[i] = fmt.Sprintf("%d: %s", i+1, trace.Digest())
			if len(trace.Refused) > 0 {
				t.Errorf("seed %d: %d events that no reader of the schema expects: %s", i+1, len(trace.Refused), trace.Refused[0])
			}
		})
	}
	wg.Wait()
	if *recordTraces {
		if err := os.WriteFile(tracesFile, []byte(strings.Join(all, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	differ := slices.DeleteFunc(chosen, func(i int) bool { return all[i] == recorded[i] })
	for _, i := range differ[:min(len(differ), 10)] {
		t.Errorf("seed %s\n   was %s", all[i], recorded[i])
	}
	if len(differ) > 0 {
		t.Errorf("%d traces differ: make trace SEED=%d INTO=folder writes one of them out, on both commits",
			len(differ), differ[0]+1)
	}
}

func readTraces(t *testing.T) (lines []string) {
	t.Helper()
	file, err := os.Open(tracesFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for s := bufio.NewScanner(file); s.Scan(); {
		lines = append(lines, s.Text())
	}
	if len(lines) != tracedSeeds {
		t.Fatalf("%s has %d lines, not %d", tracesFile, len(lines), tracedSeeds)
	}
	return lines
}

// writeTrace writes the four parts of a seed's trace as files.
func writeTrace(t *testing.T, seed uint64, schema *eventtest.Checker) {
	t.Helper()
	c := Generate(seed)
	r, trace := RunTraced(c, schema.CheckEvent)
	for name, text := range map[string]string{"case": Format(c), "writes": trace.Writes, "saved": trace.Saved,
		"events": trace.Events, "end": trace.End, "log": r.Log} {
		if err := os.WriteFile(filepath.Join(*into, fmt.Sprintf("trace-%d.%s", seed, name)), []byte(text),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
}
