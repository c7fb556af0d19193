package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/internal/clock"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// reader answers each key with itself, and notes what was read when.
type reader struct {
	mu    sync.Mutex
	clock clock.Clock
	since time.Time
	reads []string
	bad   string // a key that spoils the read
}

func (r *reader) read(_ context.Context, keys []string) (map[string]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads = append(r.reads, fmt.Sprintf("%s %s", r.clock.Now().Sub(r.since).Round(100*time.Millisecond),
		strings.Join(keys, ",")))
	got := map[string]string{}
	for _, k := range keys {
		if k == r.bad {
			return nil, &smithy.GenericAPIError{Code: "InvalidParameterException", Message: k}
		}
		if k != "none" {
			got[k] = k
		}
	}
	return got, nil
}

func boardOn(c clock.Clock) (*batchReader[string], *reader) {
	r := &reader{clock: c, since: c.Now()}
	return &batchReader[string]{clock: c, size: 3, read: r.read}, r
}

func TestWhoAsksTogetherIsReadTogether(t *testing.T) {
	v := clock.NewVirtual(noon)
	v.Run(func() {
		b, r := boardOn(v)
		var asks []func()
		for i, key := range []string{"a", "b", "c", "d", "a", "none"} {
			asks = append(asks, func() {
				_ = v.Sleep(context.Background(), time.Duration(i)*time.Millisecond)
				got, found, err := b.readKey(context.Background(), key, v.Now())
				if err != nil || found != (key != "none") || found && got != key {
					t.Errorf("%s: %q %t %v", key, got, found, err)
				}
			})
		}
		clock.All(v, asks...)
		if want := []string{"100ms a,b,c", "100ms d,none"}; !slices.Equal(r.reads, want) {
			t.Errorf("%q", r.reads)
		}
	})
}

// TestARoomInABatchIsUsed: who is due next is read with who is due, so that ten
// that began out of step are soon in step.
func TestARoomInABatchIsUsed(t *testing.T) {
	v := clock.NewVirtual(noon)
	v.Run(func() {
		b, r := boardOn(v)
		var waits []func()
		for i, key := range []string{"a", "b", "c"} {
			waits = append(waits, func() {
				due := v.Now().Add(time.Duration(i) * 700 * time.Millisecond)
				for range 5 {
					_, _, _ = b.readKey(context.Background(), key, due)
					due = v.Now().Add(2 * time.Second)
				}
			})
		}
		clock.All(v, waits...)
		if len(r.reads) != 5 {
			t.Errorf("%q", r.reads)
		}
	})
}

func TestOneBadKeySpoilsNoOther(t *testing.T) {
	v := clock.NewVirtual(noon)
	v.Run(func() {
		b, r := boardOn(v)
		r.bad = "b"
		var asks []func()
		for _, key := range []string{"a", "b", "c"} {
			asks = append(asks, func() {
				_, found, err := b.readKey(context.Background(), key, v.Now())
				if (key == "b") != (err != nil) || found != (key != "b") {
					t.Errorf("%s: %t %v", key, found, err)
				}
			})
		}
		clock.All(v, asks...)
	})
}

func TestACallerThatStopsIsNotWaitedFor(t *testing.T) {
	v := clock.NewVirtual(noon)
	v.Run(func() {
		b, r := boardOn(v)
		ctx, cancel := v.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, _, err := b.readKey(ctx, "a", v.Now().Add(time.Hour)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if _, found, _ := b.readKey(context.Background(), "b", v.Now()); !found || len(r.reads) != 1 {
			t.Errorf("%t %q", found, r.reads)
		}
	})
	if d := v.Now().Sub(noon); d > time.Minute {
		t.Errorf("the reader stayed for %s", d)
	}
}

// TestEarlierThanTheOthers: a new ask is not kept waiting by a reader that sleeps.
func TestEarlierThanTheOthers(t *testing.T) {
	v := clock.NewVirtual(noon)
	v.Run(func() {
		b, _ := boardOn(v)
		v.Go(func() { _, _, _ = b.readKey(context.Background(), "late", v.Now().Add(time.Hour)) })
		_ = v.Sleep(context.Background(), time.Second)
		_, found, _ := b.readKey(context.Background(), "soon", v.Now())
		if d := v.Now().Sub(noon); !found || d > 2*time.Second {
			t.Errorf("%t after %s", found, d)
		}
	})
}

// TestOnTheMachinesClock: the same on goroutines; for the race detector.
func TestOnTheMachinesClock(t *testing.T) {
	c := clock.Scaled(100)
	b, r := boardOn(c)
	var waits []func()
	for i := range 30 {
		waits = append(waits, func() {
			for range 5 {
				key := fmt.Sprint("s", i)
				if got, found, err := b.readKey(context.Background(), key, c.Now().Add(time.Second)); err != nil ||
					!found || got != key {
					t.Errorf("%s: %q %t %v", key, got, found, err)
				}
			}
		})
	}
	clock.All(c, waits...)
	if len(r.reads) == 0 {
		t.Error("nothing was read")
	}
}
