package metrics

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// windows reads the windows of a group since 12:00, and returns how many there are.
func (b *sharedBench) windows(g int) (int, error) {
	all, err := b.reader.ReadSignal(b.Context(), b.groups[g], appfile.Signal{}, at(0))
	return len(all), err
}

func (b *sharedBench) expectWindows(g, want int) {
	b.Helper()
	if n, err := b.windows(g); err != nil || n != want {
		b.Errorf("%s: group %d has %d windows, %v; want %d", b.clock.Now().Format("15:04:05"), g, n, err, want)
	}
}

func (b *sharedBench) expectCalls(want int) {
	b.Helper()
	if len(b.calls) != want {
		b.Errorf("%s: %d calls, want %d", b.clock.Now().Format("15:04:05"), len(b.calls), want)
	}
}

// sleepUntil advances to a time after 12:00.
func (b *sharedBench) sleepUntil(minutes, seconds int) {
	b.sleep(at(minutes).Add(time.Duration(seconds) * time.Second).Sub(b.clock.Now()))
}

// The error of a read is the answer to all callers in this minute. The next read catches up.
func TestFailedReadIsAnsweredToAll(t *testing.T) {
	runShared(t, 2, func(b *sharedBench) {
		b.sleepUntil(5, 10)
		b.expectWindows(0, 2)
		if err := b.sim.Inject("denied cloudwatch:GetMetricData times=1"); err != nil {
			t.Fatal(err)
		}
		b.sleepUntil(6, 10)
		for _, g := range []int{0, 1, 0} {
			if n, err := b.windows(g); n != 0 || err == nil || !strings.Contains(err.Error(), "AccessDenied") {
				t.Errorf("group %d has %d windows, %v", g, n, err)
			}
			b.sleep(10 * time.Second)
		}
		b.expectCalls(2)
		b.sleepUntil(7, 0)
		b.expectWindows(0, 4)
		b.expectWindows(1, 4)
		b.expectCalls(3)
	})
}

// A caller that comes after the read of a minute waits for the next one. Earlier callers notice
// nothing, and a series that two callers need is read once.
func TestCallerAfterTheRead(t *testing.T) {
	runShared(t, 2, func(b *sharedBench) {
		b.sleepUntil(8, 30)
		b.expectWindows(0, 5)
		b.expectWindows(1, 0)
		if all, err := b.reader.ReadSignal(t.Context(), b.groups[0], appfile.Signal{}, at(-3)); err != nil || all != nil {
			t.Errorf("an earlier time was not read yet: %v, %v", all, err)
		}
		b.expectWindows(0, 5)
		b.sleepUntil(9, 1)
		b.expectWindows(0, 6)
		b.expectWindows(1, 6)
		b.expectCalls(2)
		if n := len(b.calls[1].MetricDataQueries); n != 10 {
			t.Errorf("%d queries, want 10", n)
		}
	})
}

// A caller that asks no more is dropped after five minutes, or after three of its intervals.
func TestCallersThatAreGoneAreDropped(t *testing.T) {
	runShared(t, 3, func(b *sharedBench) {
		b.sleepUntil(4, 10)
		b.reader.Register(b.groups[2].signalQueries(appfile.Signal{}), at(0), 4*time.Minute)
		b.expectWindows(0, 1)
		b.sleepUntil(5, 10)
		b.expectWindows(1, 2)
		for _, c := range []struct{ minute, queries int }{{9, 15}, {10, 10}, {16, 10}, {17, 5}} {
			for b.clock.Now().Before(at(c.minute)) {
				b.sleep(time.Minute)
				b.expectWindows(1, int(b.clock.Now().Sub(at(3))/time.Minute))
			}
			if n := len(b.calls[len(b.calls)-1].MetricDataQueries); n != c.queries {
				t.Errorf("12:%02d: %d queries, want %d", c.minute, n, c.queries)
			}
		}
	})
}

// If the caller that reads is stopped, another one reads.
func TestStoppedCallerLeavesTheReadToTheNext(t *testing.T) {
	runShared(t, 2, func(b *sharedBench) {
		b.sleepUntil(5, 0)
		if err := b.sim.Inject("latency cloudwatch:GetMetricData by=4s"); err != nil {
			t.Fatal(err)
		}
		clock.All(b.clock, func() {
			ctx, end := context.WithCancelCause(t.Context())
			b.clock.Go(func() { b.sleep(time.Second); end(errStop) })
			if _, err := b.reader.ReadSignal(ctx, b.groups[0], appfile.Signal{}, at(0)); !errors.Is(err, errStop) {
				t.Errorf("the stopped caller got %v", err)
			}
		}, func() {
			b.sleep(time.Millisecond)
			b.expectWindows(1, 2)
		}, func() {
			ctx, cancel := b.clock.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			b.sleep(time.Millisecond)
			if _, err := b.reader.ReadSignal(ctx, b.groups[1], appfile.Signal{}, at(0)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a caller that waits for another one got %v after its time", err)
			}
		})
		b.expectCalls(2)
		b.expectWindows(0, 2)
		b.expectCalls(2)
	})
}

var errStop = errors.New("stopped by a person")

// put adds a value of a metric of the user, at a minute after 12:00.
func (b *sharedBench) put(minute int, value float64) {
	b.Helper()
	_, err := awscw.NewFromConfig(b.sim.Config()).PutMetricData(b.Context(), &awscw.PutMetricDataInput{
		Namespace: aws.String("Shop"), MetricData: []cwtypes.MetricDatum{{MetricName: aws.String("Orders"),
			Value: &value, Timestamp: aws.Time(at(minute))}}})
	if err != nil {
		b.Fatal(err)
	}
}

func (b *sharedBench) query(text string, from, to int, step time.Duration) string {
	b.Helper()
	points, err := NewCloudWatch("cw", b.reader).Query(b.Context(), text, Span{at(from), at(to)}, step)
	if err != nil {
		return err.Error()
	}
	return pointText(points)
}

// A point that is late fills its gap. A value that a caller has seen does not change.
func TestLatePointsCountOnce(t *testing.T) {
	runShared(t, 0, func(b *sharedBench) {
		b.put(0, 1)
		b.sleepUntil(5, 0)
		if got := b.query("Shop Orders Sum", 0, 5, time.Minute); got != "12:00 1" {
			t.Error(got)
		}
		b.put(0, 7)
		b.put(1, 2)
		b.sleepUntil(6, 0)
		if got := b.query("Shop Orders Sum", 0, 6, time.Minute); got != "12:00 1, 12:01 2" {
			t.Error(got)
		}
	})
}

// A new query waits for the next minute if the account was read in this one, unless it was prepared.
func TestCloudWatchQuery(t *testing.T) {
	runShared(t, 1, func(b *sharedBench) {
		for m := range 20 {
			b.put(m, float64(m))
		}
		b.sleepUntil(16, 30)
		b.expectWindows(0, 13)
		source := NewCloudWatch("cw", b.reader)
		if err := source.Prepare("Shop Orders Maximum", at(10), time.Minute, time.Minute); err != nil {
			t.Fatal(err)
		}
		if got := b.query("Shop Orders Sum", 0, 20, 5*time.Minute); got != "12:00 10, 12:05 35" {
			t.Error(got)
		}
		if now := b.clock.Now(); !now.Equal(at(17)) {
			t.Errorf("the answer came at %s", now)
		}
		if got := b.query("Shop Orders Maximum", 11, 20, time.Minute); got != "12:11 11, 12:12 12, 12:13 13" {
			t.Error(got)
		}
		b.expectCalls(2)
		// A time that has passed is read at once, whatever the account reads.
		if got := b.query("Shop Orders Sum", 1, 4, time.Minute); got != "12:01 1, 12:02 2, 12:03 3" {
			t.Error(got)
		}
		b.expectCalls(3)
	})
}

// A wrong expression fails by itself. The series of other callers are read without it.
func TestWrongExpressionFailsAlone(t *testing.T) {
	runShared(t, 1, func(b *sharedBench) {
		b.sleepUntil(5, 0)
		b.reader.Register(b.groups[0].signalQueries(appfile.Signal{}), at(0), time.Minute)
		const wrong = "= no_such_metric +\n"
		_, err := NewCloudWatch("cw", b.reader).Query(t.Context(), wrong, Span{at(0), at(5)}, time.Minute)
		var whole *sluice.Error
		if !errors.As(err, &whole) || whole.Resource != "cw" {
			t.Errorf("%v", err)
		}
		b.expectWindows(0, 2)
		b.expectCalls(2)
	})
}

// The first read of many hours has a call of its own: its points would not fit into the shared one.
func TestLongSpansAreReadAlone(t *testing.T) {
	runShared(t, 2, func(b *sharedBench) {
		b.sleepUntil(200, 0)
		b.reader.Register(b.groups[0].signalQueries(appfile.Signal{}), at(0), time.Minute)
		if all, err := b.reader.ReadSignal(t.Context(), b.groups[1], appfile.Signal{}, at(190)); err != nil || len(all) != 7 {
			t.Errorf("%d windows, %v", len(all), err)
		}
		b.expectWindows(0, 197)
		for _, c := range b.calls {
			if c.StartTime.Before(at(190)) && len(c.MetricDataQueries) > 1 {
				t.Errorf("%d queries since %s", len(c.MetricDataQueries), c.StartTime)
			}
		}
		before := len(b.calls)
		b.sleepUntil(201, 0)
		b.expectWindows(0, 198)
		b.expectCalls(before + 1)
	})
}

// After reads that failed for longer than a read looks back, the next one has all minutes.
func TestLongFailureIsCaughtUp(t *testing.T) {
	runShared(t, 1, func(b *sharedBench) {
		b.sleepUntil(5, 0)
		b.expectWindows(0, 2)
		if err := b.sim.Inject("denied cloudwatch:GetMetricData times=25"); err != nil {
			t.Fatal(err)
		}
		for b.clock.Now().Before(at(30)) {
			b.sleep(time.Minute)
			if _, err := b.windows(0); err == nil {
				t.Fatalf("%s: no error", b.clock.Now())
			}
		}
		b.sleep(time.Minute)
		b.expectWindows(0, 28)
	})
}

// An error is the answer in its minute only. A later caller whose time has not closed yet has no
// windows, and no error.
func TestErrorOfAnotherMinuteIsNoAnswer(t *testing.T) {
	runShared(t, 2, func(b *sharedBench) {
		if err := b.sim.Inject("denied cloudwatch:GetMetricData times=1"); err != nil {
			t.Fatal(err)
		}
		b.sleepUntil(5, 0)
		if _, err := b.windows(0); err == nil {
			t.Fatal("no error")
		}
		b.reader.registry = newRegistry() // the caller is gone
		b.sleepUntil(6, 0)
		if all, err := b.reader.ReadSignal(t.Context(), b.groups[1], appfile.Signal{}, at(6)); err != nil || len(all) != 0 {
			t.Errorf("%v, %v", all, err)
		}
		b.expectCalls(1)
	})
}
