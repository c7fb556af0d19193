package account_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
)

const roleARN = "arn:aws:iam::000000000000:role/team/deploy"

func asRole(c *account.Config) { c.AssumeRole = roleARN }

// faulty answers a tenth each of throttle, 5xx and lost reply.
func faulty(draw func() float64) func(string, int, *http.Request) (*http.Response, error) {
	return func(op string, _ int, _ *http.Request) (*http.Response, error) {
		switch d := draw(); {
		case d < 0.1:
			return throttle(op), nil
		case d < 0.2:
			return classBroken(op), nil
		case d < 0.3:
			return nil, errDial
		}
		return nil, nil
	}
}

func TestRoleIsTakenOnThroughTheGate(t *testing.T) {
	w := &wire{answer: func(op string, n int, _ *http.Request) (*http.Response, error) {
		if op == "AssumeRole" && n == 1 {
			return throttle(op), nil
		}
		return nil, nil
	}}
	inside(t, w, asRole, func(ctx context.Context, w *world) {
		equal(t, "calls of Open", w.ops(), "")
		repeat(t, 3, func() error { return describe(ctx, w) })
		equal(t, "sent", w.ops(), "AssumeRole AssumeRole DescribeServices DescribeServices DescribeServices")
		equal(t, "signed by", strings.Join(w.keys, " "), "AKIDSOURCE AKIDSOURCE ASIAROLE ASIAROLE ASIAROLE")
		equal(t, "role", w.forms[0].Get("RoleArn"), roleARN)
		equal(t, "session", w.forms[0].Get("RoleSessionName"), "sluice-deploy")
		equal(t, "our attempts", w.calls[1].Service+" "+w.calls[1].Operation+" "+w.calls[1].Waited.String(),
			"sts AssumeRole 1s")
	})
}

func TestOneCallerTakesOnTheRoleForAll(t *testing.T) {
	inside(t, &wire{answer: first(1, throttle)}, asRole, func(ctx context.Context, w *world) {
		var all []func()
		for range 20 {
			all = append(all, func() { repeat(t, 1, func() error { return describe(ctx, w) }) })
		}
		clock.All(w.clock, all...)
		equal(t, "roles taken on", w.seen("AssumeRole"), 2) // one throttled
		equal(t, "calls", w.seen("DescribeServices"), 21)   // one throttled
	})
}

// lasting gives sessions of an hour by the clock, and fails the nth.
func lasting(w *world, fails ...int) func(string, int, *http.Request) (*http.Response, error) {
	return func(op string, n int, _ *http.Request) (*http.Response, error) {
		if op != "AssumeRole" {
			return nil, nil
		}
		for _, f := range fails {
			if n == f {
				return bad(op, 403, "AccessDenied", "not now"), nil
			}
		}
		return session(op, "ASIA"+string(rune('0'+n)), w.clock.Now().Add(time.Hour)), nil
	}
}

func TestRoleIsRenewedBeforeItEnds(t *testing.T) {
	inside(t, &wire{}, asRole, func(ctx context.Context, w *world) {
		w.answer = lasting(w)
		repeat(t, 1, func() error { return describe(ctx, w) })
		_ = w.clock.Sleep(ctx, 54*time.Minute)
		repeat(t, 1, func() error { return describe(ctx, w) })
		_ = w.clock.Sleep(ctx, 2*time.Minute)
		repeat(t, 1, func() error { return describe(ctx, w) })
		equal(t, "sent", w.ops(), "AssumeRole DescribeServices DescribeServices AssumeRole DescribeServices")
		equal(t, "renewed", w.keys[4], "ASIA2")
	})
}

func TestFailedRenewalUsesWhatStillHolds(t *testing.T) {
	inside(t, &wire{}, asRole, func(ctx context.Context, w *world) {
		w.answer = lasting(w, 2, 3)
		repeat(t, 1, func() error { return describe(ctx, w) })
		_ = w.clock.Sleep(ctx, 57*time.Minute)
		repeat(t, 2, func() error { return describe(ctx, w) })
		equal(t, "asked once for both", w.seen("AssumeRole"), 2)
		equal(t, "signed by", w.keys[len(w.keys)-1], "ASIA1")
		_ = w.clock.Sleep(ctx, 4*time.Minute)
		err := describe(ctx, w)
		equal(t, "kind when it has ended", sluice.KindOf(err), sluice.Denied)
		repeat(t, 1, func() error { return describe(ctx, w) })
	})
}

func TestRefusedRoleIsNamed(t *testing.T) {
	w := &wire{answer: alwaysRepeat(func(op string) *http.Response {
		return bad(op, 403, "AccessDenied", "is not authorized to perform: sts:AssumeRole")
	})}
	inside(t, w, asRole, func(ctx context.Context, w *world) {
		err := describe(ctx, w)
		equal(t, "kind", sluice.KindOf(err), sluice.Denied)
		equal(t, "text", told(t, err).Error(),
			"ecs:DescribeServices (prod/web): find AWS credentials: assume role ("+roleARN+
				"): AccessDenied: is not authorized to perform: sts:AssumeRole (request id req-1)")
		equal(t, "next", sluice.NextStep(err), "allow sts:AssumeRole in the IAM policy of the identity in use")
		equal(t, "sent", w.ops(), "AssumeRole")
	})
}

func TestARoleThatIsNoneIsNamed(t *testing.T) {
	w := &wire{answer: alwaysRepeat(func(op string) *http.Response {
		return bad(op, 400, "ValidationError",
			"foo is invalid")
	})}
	inside(t, w, asRole, func(ctx context.Context, w *world) {
		equal(t, "next", sluice.NextStep(describe(ctx, w)),
			"check the role's ARN, and that its trust policy lets the current identity assume it")
	})
}

func TestThrottledRoleStaysThrottled(t *testing.T) {
	inside(t, &wire{answer: alwaysRepeat(throttle)}, asRole, func(ctx context.Context, w *world) {
		equal(t, "kind", sluice.KindOf(describe(ctx, w)), sluice.Throttled)
	})
}

// A write under way when its role cannot be renewed was not sent.
func TestWriteWithoutCredentialsIsNotUnanswered(t *testing.T) {
	w := &wire{answer: alwaysRepeat(func(op string) *http.Response { return bad(op, 500, "ServerException", "x") })}
	inside(t, w, asRole, func(ctx context.Context, w *world) {
		err := createTaskSet(may(ctx, "ecs:CreateTaskSet prod/web"), w, "t")
		if told(t, err).Op != "ecs:CreateTaskSet" || strings.Contains(err.Error(), sluice.ErrUnanswered.Error()) {
			t.Errorf("got %v", err)
		}
		equal(t, "sent", w.seen("CreateTaskSet"), 0)
	})
}
