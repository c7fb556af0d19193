package account_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// down answers nothing until the clock has passed d, then as usual.
func down(w *world, d time.Duration, how func(op string) (*http.Response, error)) func(string, int,
	*http.Request) (*http.Response, error) {
	return func(op string, _ int, _ *http.Request) (*http.Response, error) {
		if w.clock.Now().Sub(start) < d {
			return how(op)
		}
		return nil, nil
	}
}

func dial(string) (*http.Response, error) { return nil, errDial }

// heard collects what a patient call tells.
type heard struct{ lines []string }

func (h *heard) tell(e sluice.Unanswered) { h.lines = append(h.lines, e.Text()) }

func TestPatientCallOutlastsAnOutage(t *testing.T) {
	for _, outage := range []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 4*time.Minute +
		30*time.Second} {
		t.Run(outage.String(), func(t *testing.T) {
			inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
				w.answer = down(w, outage, dial)
				var h heard
				err := describe(account.WithLongRetry(ctx, &account.LongRetry{Budget: account.LongRetryBudget,
					Report: h.tell}), w)
				if err != nil {
					t.Fatal(err)
				}
				if late := w.clock.Now().Sub(start) - outage; late > 10*time.Second {
					t.Errorf("the answer came %s after the end of the outage", late)
				}
				want := 0
				if outage > 25*time.Second {
					want = 2
				}
				equal(t, "told: "+strings.Join(h.lines, " | "), len(h.lines), want)
				for i := 1; i < len(w.calls); i++ {
					if gap := w.calls[i].At.Sub(w.calls[i-1].At); gap > 20*time.Second {
						t.Errorf("attempt %d came %s after the one before", i+1, gap)
					}
				}
			})
		})
	}
}

func TestPatientCallEndsWithItsBudget(t *testing.T) {
	inside(t, &wire{answer: func(string, int, *http.Request) (*http.Response, error) { return nil, errDial }}, nil,
		func(ctx context.Context, w *world) {
			var h heard
			err := describe(account.WithLongRetry(ctx, &account.LongRetry{Budget: account.LongRetryBudget,
				Report: h.tell}),
				w)
			equal(t, "kind", sluice.KindOf(err), sluice.Unreachable)
			if took := w.clock.Now().Sub(start); took < 4*time.Minute+40*time.Second || took > 5*time.Minute {
				t.Errorf("given up after %s", took)
			}
			if text := told(t, err).Error(); !strings.Contains(text, "no response from AWS for 4m5") ||
				!strings.Contains(text, "connection refused") {
				t.Error(text)
			}
			equal(t, "told", strings.Join(h.lines, " | "),
				"no response from AWS for 20s (ecs:DescribeServices: nothing listens at 127.0.0.1:4566 (connection refused)); trying "+
					"again until 12:05:00 UTC, then pausing")
		})
}

// A hanging endpoint is told of when the first attempt has waited for its answer.
func TestHangingEndpointIsReportedAfterTwentySeconds(t *testing.T) {
	for _, patient := range []bool{true, false} {
		t.Run(fmt.Sprint("patient ", patient), func(t *testing.T) {
			var h heard
			var at time.Duration
			var v *clock.Virtual
			tell := func(e sluice.Unanswered) { at = v.Now().Sub(start); h.tell(e) }
			inside(t, &wire{}, func(c *account.Config) { c.OnSilence = tell }, func(ctx context.Context, w *world) {
				v, w.answer = w.clock, silent(w)
				if patient {
					ctx = account.WithLongRetry(ctx, &account.LongRetry{Budget: account.LongRetryBudget, Report: tell})
				}
				_ = describe(ctx, w)
				equal(t, "told", len(h.lines), 1)
				equal(t, "told at", at, 20*time.Second)
				for i := 1; i < len(w.calls); i++ {
					if gap := w.calls[i].At.Sub(w.calls[i-1].At); gap > 25*time.Second {
						t.Errorf("attempt %d came %s after the one before", i+1, gap)
					}
				}
			})
		})
	}
}

// An answer begins the budget anew: 8 minutes pass here, and no 5 of them in silence.
func TestEachAnswerResetsTheBudget(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		from := start
		w.answer = func(string, int, *http.Request) (*http.Response, error) {
			if w.clock.Now().Sub(from) < 4*time.Minute {
				return nil, errDial
			}
			return nil, nil
		}
		ctx = account.WithLongRetry(ctx, &account.LongRetry{Budget: account.LongRetryBudget})
		for range 2 {
			if err := describe(ctx, w); err != nil {
				t.Fatal(err)
			}
			from = w.clock.Now()
		}
	})
}

// A read that AWS refuses at the rate for minutes is tried for minutes, and is told
// as what it is.
func TestPatientCallOutlastsThrottling(t *testing.T) {
	inside(t, &wire{}, nil, func(ctx context.Context, w *world) {
		w.answer = down(w, 3*time.Minute, func(op string) (*http.Response, error) { return throttle(op), nil })
		var h heard
		if err := describe(account.WithLongRetry(ctx, &account.LongRetry{Budget: account.LongRetryBudget,
			Report: h.tell}), w); err != nil {
			t.Error(err)
		}
		equal(t, "told", len(h.lines), 0)
	})
}

func TestPatientCallHearsAnInterrupt(t *testing.T) {
	asked := &sluice.Error{Op: "stage", Kind: sluice.Halted, Err: errors.New("a person asked for it")}
	inside(t, &wire{answer: func(string, int, *http.Request) (*http.Response, error) { return nil, errDial }}, nil,
		func(ctx context.Context, w *world) {
			err := createTaskSet(account.WithLongRetry(may(ctx, "ecs:CreateTaskSet prod/web"),
				&account.LongRetry{Budget: clock.Forever, Check: func() error {
					if w.clock.Now().Sub(start) >= time.Minute {
						return asked
					}
					return nil
				}}), w, "t")
			equal(t, "kind", sluice.KindOf(err), sluice.Halted)
			equal(t, "unanswered", errors.Is(err, sluice.ErrUnanswered), false)
			if took := w.clock.Now().Sub(start); took > 61*time.Second {
				t.Errorf("heard after %s", took)
			}
		})
}

// Patience changes nothing about what may be repeated.
func TestPatienceRepeatsNoWriteThatMayHaveTakenEffect(t *testing.T) {
	for _, f := range failures {
		for i, x := range writeTable {
			if !f.unclear || x.repeat || f.name == "garbled" {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d %s", f.name, i, x.plan), func(t *testing.T) {
				inside(t, &wire{answer: f.answer}, nil, func(ctx context.Context, w *world) {
					err := x.do(account.WithLongRetry(may(ctx, x.plan),
						&account.LongRetry{Budget: account.LongRetryBudget}), w)
					equal(t, "attempts", len(w.calls), 1)
					equal(t, "unanswered", errors.Is(err, sluice.ErrUnanswered), true)
					equal(t, "kind", sluice.KindOf(err), sluice.Unreachable)
				})
			})
		}
	}
}

// An answer that lacks one of several requested resources is none: each is in it, or the reason why not.
func TestAnswerForOneOfTwoIsNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		body     string
		attempts int
	}{
		"both":            {`{"tasks": [{}, {}], "failures": []}`, 1},
		"one and a cause": {`{"tasks": [{}], "failures": [{"reason": "MISSING"}]}`, 1},
		"one":             {`{"tasks": [{}], "failures": []}`, 3},
	} {
		t.Run(name, func(t *testing.T) {
			whole := reply(200, `{"tasks": [{}, {}], "failures": []}`)
			inside(t, &wire{answer: func(_ string, seen int, _ *http.Request) (*http.Response, error) {
				if seen <= 2 {
					return reply(200, c.body), nil
				}
				return whole, nil
			}}, nil, func(ctx context.Context, w *world) {
				out, err := w.ECS().DescribeTasks(ctx, &awsecs.DescribeTasksInput{Cluster: ptr("prod"), Tasks: []string{"a", "b"}})
				if err != nil || len(out.Tasks)+len(out.Failures) != 2 {
					t.Errorf("%+v, %v", out, err)
				}
				equal(t, "attempts", len(w.calls), c.attempts)
			})
		})
	}
}

// Where no deployment is under way, a wrong endpoint is told of within seconds.
func TestWrongEndpointIsReportedWithinSeconds(t *testing.T) {
	inside(t, &wire{answer: func(string, int, *http.Request) (*http.Response, error) { return nil, errDial }}, nil,
		func(ctx context.Context, w *world) {
			equal(t, "kind", sluice.KindOf(describe(ctx, w)), sluice.Unreachable)
			if took := w.clock.Now().Sub(start); took > 3*time.Second {
				t.Errorf("told after %s", took)
			}
		})
}

// An answer without what AWS always sends is none: reads are repeated, writes are
// unanswered.
func TestIncompleteAnswerIsNoAnswer(t *testing.T) {
	for _, body := range []string{"", "{}"} {
		for i, x := range writeTable {
			if body == "{}" && (strings.HasPrefix(x.plan, "elastic")) {
				continue // no XML at all: TestEveryWriteUnderEveryFailure
			}
			t.Run(fmt.Sprintf("%q/%d %s", body, i, x.plan), func(t *testing.T) {
				inside(t, &wire{answer: alwaysRepeat(func(string) *http.Response {
					r := reply(200, body)
					r.Header = http.Header{}
					return r
				})}, nil, func(ctx context.Context, w *world) {
					err := x.do(may(ctx, x.plan), w)
					equal(t, "kind", sluice.KindOf(err), sluice.Unreachable)
					equal(t, "unanswered", errors.Is(err, sluice.ErrUnanswered), true)
					want := 6
					if !x.repeat {
						want = 1
					}
					equal(t, "attempts", len(w.calls), want)
				})
			})
		}
		t.Run(fmt.Sprintf("%q/read", body), func(t *testing.T) {
			inside(t, &wire{answer: first(3, func(string) *http.Response { return reply(200, body) })}, nil,
				func(ctx context.Context, w *world) {
					if err := describe(ctx, w); err != nil {
						t.Error(err)
					}
					equal(t, "attempts", len(w.calls), 4)
				})
		})
	}
}
