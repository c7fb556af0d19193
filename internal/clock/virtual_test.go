package clock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice-ecs/sluice/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	_ clock.Clock = (*clock.Virtual)(nil)

	epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	bg    = context.Background()
)

// trace is what happened, with the virtual time since the epoch.
type trace struct {
	v     *clock.Virtual
	lines []string
}

func (t *trace) add(format string, args ...any) {
	t.lines = append(t.lines, fmt.Sprintf("%v ", t.v.Now().Sub(epoch))+fmt.Sprintf(format, args...))
}

func (t *trace) expect(tt *testing.T, want ...string) {
	tt.Helper()
	if !slices.Equal(t.lines, want) {
		tt.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(t.lines, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// run runs f on a new virtual clock and returns what it noted.
func run(f func(v *clock.Virtual, t *trace)) *trace {
	v := clock.NewVirtual(epoch)
	t := &trace{v: v}
	v.Run(func() { f(v, t) })
	return t
}

func TestTimeJumpsToTheNextSleeper(t *testing.T) {
	got := run(func(v *clock.Virtual, t *trace) {
		v.Go(func() { _ = v.Sleep(bg, 24*time.Hour); t.add("day") })
		v.Go(func() { _ = v.Sleep(bg, time.Minute); t.add("minute") })
		_ = v.Sleep(bg, time.Hour)
		t.add("hour")
	})
	got.expect(t, "1m0s minute", "1h0m0s hour", "24h0m0s day")
}

func TestEqualTimesWakeInTheOrderTheyWereAskedFor(t *testing.T) {
	got := run(func(v *clock.Virtual, t *trace) {
		for i := range 4 {
			v.Go(func() {
				t.add("start %d", i)
				_ = v.Sleep(bg, time.Second)
				t.add("end %d", i)
			})
		}
		t.add("all started")
	})
	got.expect(t, "0s all started", "0s start 0", "0s start 1", "0s start 2", "0s start 3",
		"1s end 0", "1s end 1", "1s end 2", "1s end 3")
}

func TestSleepOfNothingLetsOthersRun(t *testing.T) {
	got := run(func(v *clock.Virtual, t *trace) {
		v.Go(func() { t.add("other") })
		_ = v.Sleep(bg, 0)
		t.add("first")
		_ = v.Sleep(bg, -time.Hour)
		t.add("again")
	})
	got.expect(t, "0s other", "0s first", "0s again")
}

func TestCancelWakesBeforeAnythingThatIsDue(t *testing.T) {
	stop := errors.New("stopped by a person")
	got := run(func(v *clock.Virtual, t *trace) {
		ctx, cancel := context.WithCancelCause(bg)
		for i := range 2 {
			v.Go(func() { t.add("sleeper %d: %v", i, v.Sleep(ctx, time.Hour)) })
		}
		_ = v.Sleep(bg, time.Minute)
		v.Go(func() { t.add("due now") })
		cancel(stop)
		t.add("cancelled")
		t.add("again: %v", v.Sleep(ctx, time.Hour))
	})
	got.expect(t, "1m0s cancelled", "1m0s again: stopped by a person",
		"1m0s sleeper 0: stopped by a person", "1m0s sleeper 1: stopped by a person", "1m0s due now")
}

func TestTimeStopsAtTheEndOfTheLastActor(t *testing.T) {
	v := clock.NewVirtual(epoch)
	v.Run(func() {
		_, cancel := v.WithTimeout(bg, time.Hour)
		defer cancel()
		ctx, end := context.WithCancel(bg)
		v.Go(func() { _ = v.Sleep(ctx, 2*time.Hour) })
		_ = v.Sleep(bg, time.Minute)
		end()
	})
	if got := v.Now().Sub(epoch); got != time.Minute {
		t.Errorf("time went on to %v after everybody had ended", got)
	}
}

func TestAllWaitsForTheSlowest(t *testing.T) {
	got := run(func(v *clock.Virtual, t *trace) {
		clock.All(v)
		clock.All(v,
			func() { _ = v.Sleep(bg, time.Minute); t.add("minute") },
			func() { t.add("at once") },
			func() {
				clock.All(v, func() { _ = v.Sleep(bg, time.Hour) })
				t.add("hour, inside")
			})
		t.add("all")
	})
	got.expect(t, "0s at once", "1m0s minute", "1h0m0s hour, inside", "1h0m0s all")
}

// Wrapped is a clock that a test or a gate puts in front of another.
type wrapped struct{ clock.Clock }

func TestAllWorksThroughAWrapper(t *testing.T) {
	got := run(func(v *clock.Virtual, t *trace) {
		clock.All(wrapped{v}, func() { _ = v.Sleep(bg, time.Minute) }, func() {})
		t.add("all")
	})
	got.expect(t, "1m0s all")
}

func TestDeadlockNamesTheActors(t *testing.T) {
	defer func() {
		got := fmt.Sprint(recover())
		for _, want := range []string{
			"clock: deadlock at 2026-01-02T03:05:05Z: every actor is parked for ever",
			"actor 1, started by clock_test.TestDeadlockNamesTheActors",
			"actor 3, started by clock_test.TestDeadlockNamesTheActors.func2 (virtual_test.go:",
			"parked since 2026-01-02T03:04:05Z",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in %s", want, got)
			}
		}
		if strings.Contains(got, "actor 2") {
			t.Errorf("actor 2 had ended: %s", got)
		}
	}()
	v := clock.NewVirtual(epoch)
	v.Run(func() {
		v.Go(func() {})
		v.Go(func() { _ = v.Sleep(bg, clock.Forever) })
		_ = v.Sleep(bg, time.Minute)
		_ = v.Sleep(bg, clock.Forever)
	})
}

func TestPanicSurfacesInRunWithTheActorsStack(t *testing.T) {
	unwound := false
	bad := errors.New("two primaries")
	v := clock.NewVirtual(epoch)
	func() {
		defer func() {
			p, ok := recover().(*clock.Panic)
			if !ok || !errors.Is(p, bad) || p.Actor != 2 || !strings.Contains(string(p.Stack), "virtual_test.go") {
				t.Errorf("Run panicked with %v", p)
			}
		}()
		v.Run(func() {
			defer func() { unwound = true }()
			v.Go(func() { panic(bad) })
			_ = v.Sleep(bg, time.Hour)
			t.Error("an actor went on after the panic of another")
		})
	}()
	if !unwound {
		t.Error("the parked actor's deferred call did not run")
	}
	v.Run(func() { _ = v.Sleep(bg, time.Second) })
	if got := v.Now().Sub(epoch); got != time.Second {
		t.Errorf("the clock does not work after a panic: %v passed", got)
	}
}

func TestPanicOfAnotherTypeIsPassedAsItIs(t *testing.T) {
	type private string
	defer func() {
		if r := recover(); r != private("x") {
			t.Errorf("Run panicked with %#v", r)
		}
	}()
	run(func(v *clock.Virtual, _ *trace) { panic(private("x")) })
}

func TestGoexitOfAnActorEndsTheCallerOfRun(t *testing.T) {
	ended := make(chan bool)
	go func() {
		returned := false
		defer func() { ended <- returned }()
		run(func(v *clock.Virtual, _ *trace) {
			v.Go(func() { runtimeGoexit() })
			_ = v.Sleep(bg, time.Hour)
		})
		returned = true
	}()
	if <-ended {
		t.Error("Run returned although an actor ended its goroutine")
	}
}

func TestMisuseIsRefused(t *testing.T) {
	refused := func(what string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s was accepted", what)
			}
		}()
		f()
	}
	v := clock.NewVirtual(epoch)
	refused("Sleep outside Run", func() { _ = v.Sleep(bg, time.Second) })
	refused("Run inside Run", func() { v.Run(func() { v.Run(func() {}) }) })
	for _, speed := range []float64{0, -1} {
		refused(fmt.Sprint("speed ", speed), func() { clock.Scaled(speed) })
	}
}

func TestThousandActors(t *testing.T) {
	const actors, naps = 1000, 20
	var woken int
	var last time.Time
	v := clock.NewVirtual(epoch)
	v.Run(func() {
		for i := range actors {
			v.Go(func() {
				ctx, cancel := v.WithTimeout(bg, time.Hour)
				defer cancel()
				for range naps {
					_ = v.Sleep(ctx, time.Duration(i%7+1)*time.Second)
					if v.Now().Before(last) {
						t.Error("time went back")
					}
					last = v.Now()
					woken++
				}
			})
		}
	})
	if woken != actors*naps || v.Now().Sub(epoch) != 7*naps*time.Second {
		t.Errorf("%d wakes in %v", woken, v.Now().Sub(epoch))
	}
}

func BenchmarkSleep(b *testing.B) {
	for _, actors := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(actors), func(b *testing.B) {
			v := clock.NewVirtual(epoch)
			ctx, cancel := context.WithCancel(bg)
			defer cancel()
			v.Run(func() {
				for range actors {
					v.Go(func() {
						for range b.N / actors {
							_ = v.Sleep(ctx, time.Second)
						}
					})
				}
			})
		})
	}
}
