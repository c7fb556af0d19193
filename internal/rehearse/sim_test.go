package rehearse

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seeds = flag.Uint64("seeds", 500, "how many seeds are simulated")
	first = flag.Uint64("first", 1, "the first of them")
)

// codecEvery is how often a case is run through the wire's codec too.
const codecEvery = 20

// TestSimulation runs many drawn cases and holds each against the promises.
func TestSimulation(t *testing.T) {
	began := time.Now()
	var next atomic.Uint64
	next.Store(*first)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1) - 1; seed < *first+*seeds && !t.Failed(); seed = next.Add(1) - 1 {
				simulate(t, seed)
			}
		})
	}
	wg.Wait()
	t.Logf("%d seeds, %.0f a minute", *seeds, float64(*seeds)/time.Since(began).Minutes())
}

func simulate(t *testing.T, seed uint64) {
	c := Draw(seed)
	r := Run(c)
	if len(r.Violations) > 0 {
		t.Errorf("%s%v\n%s: %s; %s", c, r.Violations, r.Outcome, r.Cause, r.State)
		return
	}
	if seed%codecEvery != 0 {
		return
	}
	c.Codec = true
	if d := difference(r, Run(c)); d != "" {
		t.Errorf("%sthrough the codec: %s", c, d)
	}
}

// difference is what two runs of one case do not have in common.
func difference(a, b Result) string {
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
