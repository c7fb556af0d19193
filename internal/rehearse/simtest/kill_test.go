package simtest

import (
	"flag"
	"regexp"
	"runtime"
	"sync"
	"testing"

	"github.com/sluice-ecs/sluice/internal/rehearse"
)

var (
	everyKill = flag.Bool("kills", false, "kill at every point, not at a sample of them")
	courses   = flag.String("flows", "", "a regular expression: other flows are passed over")
)

// Outside of make kill every tenth write is played, and one row of 151. Which ones
// follows from [first], so that runs of other sources play other points.
const (
	sampledWrites = 10
	sampledRows   = 151 * lighter
)

// Killed before and after each write and each row of the journal, and started
// again, a deployment ends as the one that was not killed, no request is lost and
// nothing is made twice (P5). With -kills every point of every flow is played, about
// 27,000: 45 minutes of one processor; -flows restricts it to some.
func TestKilledAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-long runs it")
	}
	points, slots := 0, make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for _, fl := range append(Flows(), OutsideFlows()...) {
		name, c := fl.Name, fl.Case
		if !regexp.MustCompile(*courses).MatchString(name) {
			continue
		}
		unbroken := Run(c)
		if len(unbroken.Violations) > 0 {
			t.Errorf("%s, not killed: %v\n%s", name, unbroken.Violations, unbroken.Log)
			continue
		}
		kills := killsOf(unbroken)
		if c.World.UsesCloudMap() && !*everyKill {
			kills = fewer(kills)
		}
		points += len(kills)
		for _, k := range kills {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				killed := c
				killed.Kills = []rehearse.Kill{k}
				sameEnd(t, name, killed, unbroken)
			})
		}
	}
	all.Wait()
	t.Logf("%d kill points", points)
	if points < 150 && *courses == "" {
		t.Errorf("only %d kill points", points)
	}
}

// fewer are one of eight points: courses by a name have many writes and long waits.
func fewer(all []rehearse.Kill) (some []rehearse.Kill) {
	for i := 0; i < len(all); i += 8 * lighter {
		some = append(some, all[i])
	}
	return some
}

func killsOf(r rehearse.Result) (all []rehearse.Kill) {
	writes, rows := sampledWrites, sampledRows
	if *everyKill {
		writes, rows = 1, 1
	}
	drawn := int(firstSeed() / 1000 % 1e9)
	for n := 1 + drawn%writes; n <= r.Writes; n += writes {
		all = append(all, rehearse.Kill{N: n}, rehearse.Kill{N: n, After: true})
	}
	for n := 1 + drawn%rows; n <= r.Rows; n += rows {
		all = append(all, rehearse.Kill{Row: true, N: n}, rehearse.Kill{Row: true, N: n, After: true})
	}
	return all
}

func sameEnd(t *testing.T, name string, c rehearse.Case, unbroken rehearse.Result) {
	r := Run(c)
	if len(r.Violations) == 0 && r.Outcome == unbroken.Outcome && r.State == unbroken.State &&
		(r.Failed == unbroken.Failed || c.HasNewOption("errors")) { // such a version fails by itself
		return
	}
	t.Errorf(
		"%s, %s: %s: %s; %s; %.1f failed; %v\nnot killed: %s: %s; %.1f failed\n%s",
		name,
		formatKill(c.Kills[0]),
		r.Outcome,
		r.Cause,
		r.State,
		r.Failed,
		r.Violations,
		unbroken.Outcome,
		unbroken.State,
		unbroken.Failed,
		r.Log,
	)
}
