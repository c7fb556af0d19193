package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// waiter is one wait.
type follower struct {
	watch  *Watch
	target Target
	boards *boards
	judge  verdict.Rollout
	fallen ecs.Fallen
	tell   func(Seen)

	last   *verdict.Service
	stands verdict.Verdict
	told   string   // text of the last reported update
	unread []string // to be reported with the next poll
	mute   muted
	heard  bool // AWS has responded
}

// deniedReads are the reads that AWS denies: trying again is useless.
type muted struct{ fallen, targets bool }

// retryInterval is how long to wait after a read that failed.
const again = 2 * time.Second

// runService polls until the verdict ends. ctx is the caller's; reading ends a moment after the
// hard limit.
func (f *follower) run(ctx, reading context.Context) (Seen, error) {
	due := f.now()
	for {
		seen, err := f.look(reading, due)
		switch {
		case ctx.Err() != nil:
			return f.seen(f.stands), context.Cause(ctx)
		case reading.Err() != nil:
			return f.giveUp(err), nil
		case err == nil && seen.Verdict.State == verdict.Ended:
			return seen, nil
		case errors.Is(err, errCode):
			return f.runCode(ctx, reading)
		case err == nil:
			due = seen.At.Add(seen.Verdict.NextLook)
		case hopeless(err), givenUp(ctx, err), !f.heard && account.Unsent(err):
			return seen, err
		default:
			f.unread = append(f.unread, err.Error())
			due = f.now().Add(again)
			if end := f.judge.Began().Add(f.target.Timeout); f.target.Timeout > 0 && !f.now().Before(end) {
				return f.giveUp(err), nil
			} else if f.target.Timeout > 0 && due.After(end) {
				due = end
			}
		}
	}
}

// pollService reads the service, then what the judge needs besides, and judges.
func (f *follower) look(ctx context.Context, due time.Time) (Seen, error) {
	s, _, err := f.boards.services.get(ctx, f.target.Service, due)
	if err != nil {
		return f.seen(verdict.Verdict{}), err
	}
	f.heard = true
	if s != nil && s.Controller == "CODE_DEPLOY" {
		f.last = s
		return f.seen(verdict.Verdict{}), errCode
	}
	f.last = s
	o := verdict.Observation{At: f.now(), Service: s}
	f.read(ctx, f.judge.Needs(s, o.At), &o)
	o.At, o.Unread, f.unread = f.now(), append(o.Unread, f.unread...), nil
	var v verdict.Verdict
	f.judge, v = f.judge.See(o)
	if n := f.judge.Explain(); len(n.Logs) > 0 {
		o = verdict.Observation{At: o.At, Service: s, Records: o.Records, Targets: o.Targets, Logs: f.logs(ctx, n.Logs)}
		f.judge, v = f.judge.See(o)
	}
	f.stands = v
	seen := f.seen(v)
	f.show(seen)
	return seen, nil
}

func (f *follower) now() time.Time { return f.watch.clock.Now() }

func (f *follower) seen(v verdict.Verdict) Seen {
	return Seen{Target: f.target, At: f.now(), Service: f.last, Verdict: v}
}

// timeOut ends the wait at its limit without another poll.
func (f *follower) giveUp(err error) Seen {
	why := ""
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		why = err.Error()
	}
	var v verdict.Verdict
	f.judge, v = f.judge.GiveUp(f.now(), why)
	seen := f.seen(v)
	f.show(seen)
	return seen
}

// reportChange reports a poll that changed something.
func (f *follower) show(s Seen) {
	var b strings.Builder
	v := s.Verdict
	fmt.Fprintln(&b, v.State, v.Outcome, v.Detail, v.Unread)
	for _, l := range v.Logs {
		fmt.Fprintln(&b, l.Task, len(l.Lines))
	}
	for _, c := range v.Causes {
		fmt.Fprintln(&b, c.Text, c.Count)
	}
	if b.String() == f.told {
		return
	}
	f.told = b.String()
	if f.tell != nil {
		f.tell(s)
	}
}

// isExhausted reports whether a call was already retried for minutes.
func givenUp(ctx context.Context, err error) bool {
	return account.IsPatient(ctx) && sluice.KindOf(err).CanResume()
}

// isPermanent reports whether a failed read will fail again.
func hopeless(err error) bool {
	switch sluice.KindOf(err) {
	case sluice.Denied, sluice.NotFound, sluice.Halted:
		return true
	case sluice.Throttled:
		return false
	}
	return faulty(err)
}

// isBadRequest reports whether AWS refused a request because of its content.
func faulty(err error) bool {
	return ecs.Refused(err) && sluice.KindOf(err) != sluice.Throttled && sluice.KindOf(err) != sluice.Denied
}
