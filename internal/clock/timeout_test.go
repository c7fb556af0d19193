package clock_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/clock"
)

func runtimeGoexit() { runtime.Goexit() }

type key struct{}

func TestTimeoutEndsChildrenWithDeadlineExceeded(t *testing.T) {
	got := run(func(v *clock.Virtual, t *trace) {
		ctx, cancel := v.WithTimeout(bg, time.Minute)
		defer cancel()
		child, stop := context.WithCancel(context.WithValue(ctx, key{}, 1))
		defer stop()
		grandchild, end := v.WithTimeout(child, time.Hour)
		defer end()
		for _, c := range []context.Context{ctx, child, grandchild} {
			v.Go(func() { t.add("%v", v.Sleep(c, 2*time.Minute)) })
		}
		_ = v.Sleep(bg, time.Minute)
		t.add("%v %v %v", ctx.Err(), child.Err(), grandchild.Err())
		t.add("%v", context.Cause(grandchild))
	})
	got.expect(t,
		"1m0s context deadline exceeded",
		"1m0s context deadline exceeded",
		"1m0s context deadline exceeded",
		"1m0s context deadline exceeded context deadline exceeded context deadline exceeded",
		"1m0s context deadline exceeded")
}

func TestTimeoutFollowsItsParentAtOnce(t *testing.T) {
	why := errors.New("aborted")
	got := run(func(v *clock.Virtual, t *trace) {
		parent, abort := context.WithCancelCause(bg)
		ctx, cancel := v.WithTimeout(context.WithValue(parent, key{}, 1), time.Minute)
		defer cancel()
		inner, cancelInner := v.WithTimeout(ctx, time.Minute)
		defer cancelInner()
		child, stop := context.WithCancel(inner)
		defer stop()
		v.Go(func() { t.add("child: %v", v.Sleep(child, time.Hour)) })
		_ = v.Sleep(bg, time.Second)
		abort(why)
		t.add("%v, cause %v, %v", ctx.Err(), context.Cause(ctx), inner.Err())
	})
	got.expect(t, "1s context canceled, cause aborted, context canceled", "1s child: aborted")
}

func TestCancelledTimeoutDoesNotMoveTime(t *testing.T) {
	got := run(func(v *clock.Virtual, t *trace) {
		ctx, cancel := v.WithTimeout(bg, time.Minute)
		v.Go(func() { t.add("%v", v.Sleep(ctx, time.Hour)) })
		_ = v.Sleep(bg, time.Second)
		cancel()
		cancel()
		_ = v.Sleep(bg, time.Second)
		t.add("%v", ctx.Err())
		_ = v.Sleep(bg, time.Hour)
		t.add("later")
	})
	got.expect(t, "1s context canceled", "2s context canceled", "1h0m2s later")
}

func TestTimeoutOfNothingIsOverAtOnce(t *testing.T) {
	run(func(v *clock.Virtual, _ *trace) {
		for _, d := range []time.Duration{0, -time.Second} {
			ctx, cancel := v.WithTimeout(bg, d)
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("timeout %v: %v", d, ctx.Err())
			}
			cancel()
		}
		dead, cancel := context.WithCancel(bg)
		cancel()
		ctx, cancel := v.WithTimeout(dead, time.Hour)
		defer cancel()
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("timeout under a dead parent: %v", ctx.Err())
		}
	})
}

func TestVirtualTimeIsNoDeadlineForTheStandardLibrary(t *testing.T) {
	run(func(v *clock.Virtual, _ *trace) {
		ctx, cancel := v.WithTimeout(bg, time.Minute)
		defer cancel()
		if at, ok := ctx.Deadline(); ok {
			t.Errorf("the context shows the deadline %v", at)
		}
		if ctx.Value(key{}) != nil {
			t.Error("a value from nowhere")
		}
	})
}

func TestTimeoutSurvivesFromOneRunToTheNext(t *testing.T) {
	v := clock.NewVirtual(epoch)
	ctx, cancel := v.WithTimeout(bg, time.Minute)
	defer cancel()
	v.Run(func() { _ = v.Sleep(bg, time.Second) })
	v.Run(func() {
		if err := v.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Sleep returned %v", err)
		}
	})
	if got := v.Now().Sub(epoch); got != time.Minute {
		t.Errorf("it ended after %v", got)
	}
}

func TestWaitForAContextAlone(t *testing.T) {
	got := run(func(v *clock.Virtual, t *trace) {
		ctx, cancel := v.WithTimeout(bg, time.Hour)
		defer cancel()
		t.add("%v", v.Sleep(ctx, clock.Forever))
		ctx, cancel = v.WithTimeout(bg, clock.Forever)
		defer cancel()
		t.add("%v", v.Sleep(ctx, time.Minute))
	})
	got.expect(t, "1h0m0s context deadline exceeded", "1h1m0s <nil>")
}
