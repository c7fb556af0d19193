package cloudmap_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
)

// What stops in the middle leaves no operation under way: whoever goes on looks at
// once, and would take an instance for found that is about to go.
func TestNothingIsUnderWayWhereItStops(t *testing.T) {
	for name, stop := range map[string]func(n int, cancel func()) error{
		"a write is refused": func(n int, _ func()) error {
			if n == 2 {
				return errors.New("it cannot be saved")
			}
			return nil
		},
		"cancelled": func(n int, cancel func()) error {
			if n == 2 {
				cancel()
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, usual(), func(b *bed) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				n := 0
				act := func(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
					if n++; stop(n, cancel) != nil {
						return stop(n, cancel)
					}
					return free(context.WithoutCancel(ctx), a, call)
				}
				if err := b.driver().Instances.Deregister(ctx, act, cloudmap.PrimaryInstances,
					b.registered()[:2]); err == nil {
					t.Fatal("it did not stop")
				}
				at := b.registered()
				b.pass(time.Minute)
				if later := b.registered(); !slices.Equal(at, later) {
					t.Errorf("%v are registered, a minute later %v", at, later)
				}
			})
		})
	}
}

// The read of an operation is given up, as the host does that gets a command: the operation is waited for all the same.
func TestNothingIsUnderWayWhereAReadIsGivenUp(t *testing.T) {
	on(t, usual(), func(b *bed) {
		instances := b.driver().Instances
		pause, halted := instances.Pause, errors.New("a person asks for the rollback")
		paused := 0
		instances.Pause = func(ctx context.Context, d time.Duration) error {
			if paused++; paused == 1 {
				return halted
			}
			return pause(ctx, d)
		}
		if err := instances.Deregister(context.Background(), free, cloudmap.PrimaryInstances,
			b.registered()[:2]); !errors.Is(err, halted) {
			t.Fatalf("the deregistration ended with %v, want %v", err, halted)
		}
		at := b.registered()
		b.pass(time.Minute)
		if later := b.registered(); !slices.Equal(at, later) {
			t.Errorf("%v are registered, a minute later %v", at, later)
		}
	})
}

// registered are the ids of all instances, in order.
func (b *bed) registered() (ids []string) {
	all, err := b.driver().Instances.ListInstances(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	for _, i := range all {
		ids = append(ids, i.ID)
	}
	slices.Sort(ids)
	return ids
}
