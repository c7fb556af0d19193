package account_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
)

func readRules(ctx context.Context, w *world) error {
	return sent(w.ELB().DescribeRules(ctx, &awselb.DescribeRulesInput{}))
}

// crowd runs f while 60 actors poll listener rules without a pause.
func crowd(t *testing.T, f func(ctx context.Context, w *world)) {
	t.Helper()
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		ctx, cancel := context.WithCancel(ctx)
		for range 60 {
			w.clock.Go(func() {
				for ctx.Err() == nil {
					_ = readRules(ctx, w)
				}
			})
		}
		_ = w.clock.Sleep(ctx, time.Minute)
		f(ctx, w)
		cancel()
	})
}

// lasts is how long f takes in virtual time.
func lasts(t *testing.T, w *world, f func() error) time.Duration {
	t.Helper()
	from := w.clock.Now()
	if err := f(); err != nil {
		t.Error(err)
	}
	return w.clock.Now().Sub(from)
}

func TestWritesAndTheirReadsDoNotWaitForPolls(t *testing.T) {
	crowd(t, func(ctx context.Context, w *world) {
		if d := lasts(t, w, func() error { return readRules(ctx, w) }); d < 10*time.Second {
			t.Errorf("a poll among sixty took %s: they do not fill the queue", d)
		}
		may := may(ctx, writeTable[19].plan)
		equal(t, "a read that a write depends on",
			lasts(t, w, func() error { return readRules(account.BeforeWrite(ctx), w) }), 0)
		equal(t, "a write", lasts(t, w, func() error { return writeTable[19].do(may, w) }), 0)
	})
}

func TestPollsLeaveAQuarterOfTheBurst(t *testing.T) {
	crowd(t, func(ctx context.Context, w *world) {
		ctx = account.BeforeWrite(ctx)
		took := lasts(t, w, func() error { repeat(t, 5, func() error { return readRules(ctx, w) }); return nil })
		equal(t, "five reads for writes", took, 0)
		took = lasts(t, w, func() error { repeat(t, 5, func() error { return readRules(ctx, w) }); return nil })
		if took < 800*time.Millisecond || took > time.Second {
			t.Errorf("five more took %s, want the time in which five tokens come", took)
		}
	})
}

// A write that is too late by its turn keeps its place: after its reads it is sent at
// once, so that however many wait, each is sent.
func TestUnsentWriteKeepsItsTokens(t *testing.T) {
	late := errors.New("the read that it depends on was long ago")
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		operation, resource, _ := strings.Cut(writeTable[19].plan, " ")
		planned := []sluice.Write{{Operation: operation, Resource: resource}}
		done := 0
		var all []func()
		for i := range 50 {
			all = append(all, func() {
				for n := 1; n <= 3; n++ {
					read := w.clock.Now()
					a := account.Action{ID: sluice.ActionID(fmt.Sprint(i)), Writes: planned,
						CheckClaim: func(now time.Time) error {
							if now.Sub(read) > 10*time.Second {
								return late
							}
							return nil
						}}
					err := writeTable[19].do(account.Permit(ctx, a), w)
					if err == nil {
						done++
						return
					}
					if !errors.Is(err, late) {
						t.Error(err)
					}
				}
			})
		}
		clock.All(w.clock, all...)
		equal(t, "sent", done, 50)
	})
}
