package account_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"pgregory.net/rapid"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// busiest is the most calls of ops (all, if empty) sent within any window.
func busiest(calls []account.Call, window time.Duration, ops ...string) int {
	var at []time.Time
	for _, c := range calls {
		for _, op := range ops {
			if c.Operation == op {
				at = append(at, c.At)
			}
		}
	}
	most, from := 0, 0
	for i := range at {
		for at[i].Sub(at[from]) >= window {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

func TestCallsKeepToHalfOfAWSsRate(t *testing.T) {
	for _, c := range []struct {
		name        string
		do          func(context.Context, *world) error
		ops         []string
		burst, rate int // per 10 s
	}{
		{"service reads", describe, []string{"DescribeServices"}, 38, 100},
		{"service writes", writeTable[4].do, []string{"UpdateService"}, 25, 25},
		{"task definitions", writeTable[10].do, []string{"RegisterTaskDefinition"}, 10, 5},
		{"rules", writeTable[19].do, []string{"ModifyRule"}, 10, 15},
		{"targets", writeTable[23].do, []string{"RegisterTargets"}, 10, 20},
		{"instances of Cloud Map, all 200 calls of the test", writeTable[29].do, []string{"DeregisterInstance"}, 50, 150},
		{"reads of balancers", func(ctx context.Context, w *world) error {
			return sent(w.ELB().DescribeRules(ctx, &awselb.DescribeRulesInput{}))
		}, []string{"DescribeRules"}, 15, 50},
		{"reads of alarms", func(ctx context.Context, w *world) error {
			return sent(w.CloudWatch().DescribeAlarms(ctx, &awscw.DescribeAlarmsInput{}))
		}, []string{"DescribeAlarms"}, 3, 45},
		{"reads of logs", func(ctx context.Context, w *world) error {
			return sent(w.Logs().GetLogEvents(ctx, &awslogs.GetLogEventsInput{LogStreamName: ptr("s")}))
		}, []string{"GetLogEvents"}, 9, 125},
		{"searches of logs", func(ctx context.Context, w *world) error {
			return sent(w.Logs().FilterLogEvents(ctx, &awslogs.FilterLogEventsInput{}))
		}, []string{"FilterLogEvents"}, 2, 25},
		{"a category is shared", func(ctx context.Context, w *world) error {
			_ = sent(w.ECS().ListServices(ctx, &awsecs.ListServicesInput{}))
			return describe(ctx, w)
		}, []string{"DescribeServices", "ListServices"}, 38, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
				var all []string
				for _, x := range writeTable {
					all = append(all, x.plan)
				}
				ctx = may(ctx, all...)
				for range 200 {
					if err := c.do(ctx, w); err != nil {
						t.Fatal(err)
					}
				}
				if got, most := busiest(w.calls, 10*time.Second, c.ops...), c.burst+c.rate; got > most || got < most-1 {
					t.Errorf("%d in ten seconds, want %d", got, most)
				}
				equal(t, "at once", busiest(w.calls, time.Nanosecond, c.ops...), c.burst)
			})
		})
	}
}

func TestBalancerCallsStayBelowTenPerSecondInTotal(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		ctx = may(ctx, writeTable[19].plan, writeTable[23].plan)
		w.clock.Go(func() { repeat(t, 150, func() error { return writeTable[19].do(ctx, w) }) })
		w.clock.Go(func() { repeat(t, 150, func() error { return writeTable[23].do(ctx, w) }) })
		repeat(t, 300, func() error { return sent(w.ELB().DescribeRules(ctx, &awselb.DescribeRulesInput{})) })
		_ = w.clock.Sleep(ctx, 10*time.Minute)
		equal(t, "sent", len(w.calls), 600)
		if got := busiest(w.calls, 10*time.Second, "DescribeRules", "ModifyRule", "RegisterTargets"); got > 70 {
			t.Errorf("%d in ten seconds; AWS refuses above 10 a second", got)
		}
	})
}

func repeat(t *testing.T, n int, f func() error) {
	t.Helper()
	for range n {
		if err := f(); err != nil {
			t.Error(err)
		}
	}
}

func TestEveryAttemptTakesAToken(t *testing.T) {
	inside(t, &wire{answer: first(36, classBroken)}, func(c *account.Config) { c.Jitter = func() float64 { return 0 } },
		func(ctx context.Context, w *world) {
			for range 6 {
				_ = describe(ctx, w) // six attempts each
			}
			equal(t, "attempts", len(w.calls), 36)
			repeat(t, 2, func() error { return describe(ctx, w) })
			equal(t, "still within the burst", w.clock.Now(), start)
			repeat(t, 1, func() error { return describe(ctx, w) })
			equal(t, "the 39th waits", w.clock.Now().Sub(start), 100*time.Millisecond)
			equal(t, "and says so", w.calls[38].Waited, 100*time.Millisecond)
		})
}

// together opens two accounts on one Limits and calls 30 times on each; it
// returns the virtual time that took.
func together(t *testing.T, change func(second *account.Config)) time.Duration {
	t.Helper()
	v := clock.NewVirtual(start)
	w := &world{wire: &wire{}, clock: v}
	limits := account.NewLimits()
	v.Run(func() {
		for i := range 2 {
			c := w.config()
			c.Limits = limits
			if i == 1 {
				change(&c)
			}
			a, err := account.Open(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			at := &world{wire: w.wire, clock: v, Account: a}
			repeat(t, 30, func() error { return describe(context.Background(), at) })
		}
	})
	return v.Now().Sub(start)
}

func TestBucketsAreSharedPerAccountAndRegion(t *testing.T) {
	equal(t, "same account and Region", together(t, func(*account.Config) {}), 2200*time.Millisecond)
	equal(t, "other Region", together(t, func(c *account.Config) { c.Region = "eu-west-1" }), 0)
	equal(t, "other account", together(t,
		func(c *account.Config) { c.AssumeRole = "arn:aws:iam::000000000000:role/ops" }), 0)
	equal(t, "other Limits", together(t, func(c *account.Config) { c.Limits = account.NewLimits() }), 0)
}

func TestTwoRolesOfOneAccountShareItsBuckets(t *testing.T) {
	v := clock.NewVirtual(start)
	w := &world{wire: &wire{}, clock: v}
	limits := account.NewLimits()
	v.Run(func() {
		for _, name := range []string{"a", "b"} {
			c := w.config()
			c.Limits, c.AssumeRole = limits, "arn:aws:iam::000000000000:role/"+name
			a, err := account.Open(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			repeat(t, 30, func() error { return describe(context.Background(), &world{Account: a}) })
		}
	})
	equal(t, "took", v.Now().Sub(start), 2200*time.Millisecond)
}

func TestCancelGivesTheTokenBack(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		repeat(t, 38, func() error { return describe(ctx, w) })
		stopped, cancel := context.WithCancel(ctx)
		w.clock.Go(func() { _ = w.clock.Sleep(ctx, 50*time.Millisecond); cancel() })
		if err := describe(stopped, w); err == nil {
			t.Error("sent after its context ended")
		}
		within, end := w.clock.WithTimeout(ctx, time.Minute) // else a place that is never given back hangs the test
		defer end()
		repeat(t, 1, func() error { return describe(within, w) })
		equal(t, "the next one takes its place", w.clock.Now().Sub(start), 100*time.Millisecond)
	})
}

// Whatever is called, when and by how many, no bucket gives more than its burst
// and its refill.
func TestNoBucketGivesMoreThanItHas(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		actors := rapid.IntRange(1, 5).Draw(r, "actors")
		pauses := rapid.SliceOfN(rapid.IntRange(0, 3000), 20, 60).Draw(r, "pauses")
		inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
			var all []func()
			for a := range actors {
				all = append(all, func() {
					for i := range pauses {
						_ = w.clock.Sleep(ctx, time.Duration(pauses[(i+a)%len(pauses)])*time.Millisecond/10)
						_ = describe(ctx, w)
					}
				})
			}
			clock.All(w.clock, all...)
			for _, window := range []time.Duration{time.Second, 5 * time.Second} {
				if got, most := busiest(w.calls, window, "DescribeServices"), 50+int(10*window.Seconds()); got > most {
					r.Fatalf("%d in %s, at most %d", got, window, most)
				}
			}
		})
	})
}

// trace is everything that several actors did under faults and limits.
func trace(t *testing.T, seed uint64) string {
	s := seed
	draw := func() float64 { // splitmix64
		s += 0x9e3779b97f4a7c15
		z := (s ^ s>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return float64(z^z>>31>>11) / (1 << 64)
	}
	w := &wire{}
	w.answer = faulty(draw)
	log := ""
	inside(t, w, func(c *account.Config) { c.Jitter, c.AssumeRole = draw, "arn:aws:iam::123456789012:role/ops" },
		func(ctx context.Context, w *world) {
			var all []func()
			for i := range 6 {
				ctx := may(ctx, writeTable[i].plan, writeTable[19].plan)
				all = append(all, func() {
					for range 15 {
						_, _, _ = writeTable[i].do(ctx, w), writeTable[19].do(ctx, w), describe(ctx, w)
					}
				})
			}
			clock.All(w.clock, all...)
			for _, c := range w.calls {
				log += fmt.Sprintln(c.At.Sub(start), c.Operation, c.Resource, c.Attempt, c.Waited, c.Took, c.Err)
			}
		})
	return log
}

func TestSameSeedSameTrace(t *testing.T) {
	for seed := range uint64(5) {
		a, b := trace(t, seed), trace(t, seed)
		if a != b {
			t.Fatalf("seed %d: two runs differ", seed)
		}
		if len(a) < 10000 {
			t.Fatalf("seed %d: little happened:\n%s", seed, a)
		}
	}
	if trace(t, 1) == trace(t, 2) {
		t.Error("the seed has no effect")
	}
}
