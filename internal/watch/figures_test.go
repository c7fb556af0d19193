package watch_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// TestFromTheEndToTheVerdict: over many seeds, successes and rollbacks in turn,
// the verdict follows AWS's own end by 1.5 s in the median and 5 s at worst.
func TestFromTheEndToTheVerdict(t *testing.T) {
	if testing.Short() {
		t.Skip("the median of a few seeds says little: make test-long runs all")
	}
	var took []time.Duration
	for seed := range 200 {
		on(t, options{seed: uint64(seed)}, func(b *bench) {
			b.balance()
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: int32(1 + seed%4), breaker: true, rollback: true})
			image, want := "sim/web:v2", sluice.Succeeded
			if seed%2 == 1 {
				image, want = crash, sluice.RolledBack
			}
			b.deploy("web", b.revision(image))
			v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
			if v.Outcome != want {
				t.Errorf("seed %d: %s\n%s", seed, v.Detail, b.story())
			}
			out := got(b.ecs.DescribeServiceDeployments(context.Background(),
				&awsecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: []string{v.Deployment}}))(b)
			took = append(took, b.clock.Now().Sub(aws.ToTime(out.ServiceDeployments[0].FinishedAt)))
		})
	}
	slices.Sort(took)
	median, worst := took[len(took)/2], took[len(took)-1]
	t.Logf("median %s, worst %s", median, worst)
	if median > 1500*time.Millisecond || worst > 5*time.Second {
		t.Errorf("median %s, worst %s", median, worst)
	}
}

// TestTheFirstCauseIsNamedSoon: at most 30 s after the first task has failed.
func TestTheFirstCauseIsNamedSoon(t *testing.T) {
	for _, image := range []string{crash, "sim/web:v2?noboot", "sim/web:v2?never-healthy"} {
		for _, external := range []bool{false, true} {
			for seed := range 20 {
				on(t, options{seed: uint64(seed)}, func(b *bench) { firstCause(b, image, external) })
			}
		}
	}
}

func firstCause(b *bench, image string, external bool) {
	b.balance()
	if external {
		b.sets("web", b.revision("sim/web:v1"))
		b.set("web", b.revision(image))
	} else {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
		b.deploy("web", b.revision(image))
	}
	var named time.Time
	_, err := b.watch.Wait(context.Background(), watch.Target{Cluster: "prod", Service: "web",
		Wanted: verdict.Wanted{Timeout: time.Hour}}, func(s watch.Update) {
		if named.IsZero() && s.Verdict.Cause.Task != "" {
			named = s.At
		}
	})
	must(b, err)
	first := b.firstStopped("web:2")
	if d := named.Sub(first); named.IsZero() || !first.IsZero() && d > 30*time.Second {
		b.Errorf("%s, task sets %t: named %s after the first stopped task", image, external, d)
	}
}

// firstStopped is when the first task of a revision had stopped.
func (b *bench) firstStopped(revision string) (first time.Time) {
	must(b, b.sim.World().Do(here, func(tx *world.Tx) error {
		for _, task := range tx.Tasks.Values() {
			if at := task.StoppedAt; !at.IsZero() && sluice.RevisionOf(task.Definition.ARN) == revision &&
				(first.IsZero() || at.Before(first)) {
				first = at
			}
		}
		return nil
	}))
	return first
}

// TestReadsWhileNothingMoves: ten services whose deployments find no place cost
// at most one read in two seconds.
func TestReadsWhileNothingMoves(t *testing.T) {
	on(t, options{}, func(b *bench) {
		fresh := b.many(10)
		must(b, b.sim.Inject("no-capacity prod"))
		for i := range 10 {
			b.deploy(fmt.Sprint("s", i), fresh)
		}
		var waits []func()
		for i := range 10 {
			waits = append(waits, func() {
				b.sleep(time.Duration(i) * 170 * time.Millisecond) // out of step
				_, err := b.watch.Wait(context.Background(), watch.Target{Cluster: "prod", Service: fmt.Sprint("s", i),
					Wanted: verdict.Wanted{Timeout: 8 * time.Minute}}, nil)
				must(b, err)
			})
		}
		began := b.clock.Now()
		clock.All(b.clock, waits...)
		still, last := began.Add(2*time.Minute), began.Add(7*time.Minute) // each has a last look of its own
		reads, of := 0, map[string]int{}
		for _, c := range b.calls {
			if c.At.After(still) && c.At.Before(last) {
				reads++
				of[c.Operation]++
			}
		}
		seconds := last.Sub(still).Seconds()
		t.Logf("%d reads in %.0f s: %v", reads, seconds, of)
		if float64(reads) > seconds/2 {
			t.Errorf("%d reads in %.0f s", reads, seconds)
		}
	})
}

// many makes n services s0… that serve, and returns a revision to deploy.
func (b *bench) many(n int) (fresh string) {
	rev := b.revision("sim/web:v1")
	for i := range n {
		b.create(fmt.Sprint("s", i), rev, rolling{desired: 1})
	}
	b.sleep(10 * time.Minute)
	return b.revision("sim/web:v2")
}

// TestAThousandServices: waited on at once, a sweep is a hundred reads, all reads
// keep to 20 a second, and all are judged.
func TestAThousandServices(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand services")
	}
	const n = 1000
	on(t, options{}, func(b *bench) {
		fresh := b.many(n)
		for i := range n {
			b.deploy(fmt.Sprint("s", i), fresh)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		outcomes := map[sluice.Outcome]int{}
		var waits []func()
		for i := range n {
			waits = append(waits, func() {
				s, err := b.watch.Wait(context.Background(), watch.Target{Cluster: "prod", Service: fmt.Sprint("s", i),
					Wanted: verdict.Wanted{Timeout: 30 * time.Minute}}, nil)
				must(b, err)
				outcomes[s.Verdict.Outcome]++
			})
		}
		began := b.clock.Now()
		b.clock.Go(func() {
			b.sleep(30 * time.Second)
			runtime.GC()
			runtime.ReadMemStats(&after)
		})
		clock.All(b.clock, waits...)
		grown := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20
		t.Logf("%d calls in %s, heap grew by %d MB", len(b.calls), b.clock.Now().Sub(began), grown)
		if outcomes[sluice.Succeeded] != n {
			t.Errorf("outcomes %v", outcomes)
		}
		if grown > 200 {
			t.Errorf("the heap grew by %d MB", grown)
		}
		b.withinRates(began)
	})
}

// withinRates: the first sweep is a hundred reads, and after the burst no second
// has more than 20 of one operation.
func (b *bench) withinRates(began time.Time) {
	perSecond := map[string]int{}
	sweep, seen := 0, map[string]bool{}
	var first []account.Call
	for _, c := range b.calls {
		if c.Operation == "DescribeServices" {
			first = append(first, c)
		}
		if s := int(c.At.Sub(began).Seconds()); s > 5 {
			perSecond[fmt.Sprint(c.Operation, " ", s)]++
		}
	}
	for _, c := range first {
		if sweep++; seen[c.Resource] {
			break
		}
		seen[c.Resource] = true
	}
	if sweep > 101 {
		b.Errorf("the first sweep took %d reads", sweep)
	}
	for what, calls := range perSecond {
		if calls > 20 {
			b.Errorf("%d calls of %s", calls, what)
		}
	}
}
