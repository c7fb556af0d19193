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
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// waiter is one wait.
type waiter struct {
	watch         *Watch
	target        Target
	given         []string        // ARNs of the caller
	first         ecs.ServiceRead // of the caller, until the first poll
	readers       *clusterReaders
	judge         verdict.ServiceFollower
	stoppedReader ecs.StoppedReader
	report        func(Update)

	stoppedWasRead bool // the stopped tasks were read once

	lastRead     ecs.ServiceRead
	lastService  *verdict.Service
	lastVerdict  verdict.Verdict
	lastReported string   // text of the last reported update
	unread       []string // to be reported with the next poll
	denied       deniedReads
	hasAnswer    bool // AWS has responded
	before       trafficBefore
	name         plan.Registry // of the service; the zero value: not read
}

// deniedReads are the reads that AWS denies: trying again is useless.
type deniedReads struct{ stoppedTasks, targets, name bool }

// retryInterval is how long to wait after a read that failed.
const retryInterval = 2 * time.Second

// runService polls until the verdict ends. ctx is the caller's; reading ends a moment after the
// hard limit.
func (f *waiter) runService(ctx, reading context.Context) (Update, error) {
	due := f.now()
	for {
		seen, err := f.pollService(reading, due)
		switch {
		case ctx.Err() != nil:
			return f.newUpdate(f.lastVerdict), context.Cause(ctx)
		case reading.Err() != nil:
			return f.timeOut(err), nil
		case err == nil && seen.Verdict.State == verdict.Ended:
			seen.Verdict = f.withRegisterCommand(reading, seen.Verdict)
			seen = f.confirmTraffic(reading, seen, listeners{}, f.judge.Limit())
			f.reportChange(seen)
			return seen, nil
		case errors.Is(err, errCodeDeploy):
			return f.runCodeDeploy(ctx, reading)
		case err == nil:
			f.readTrafficBefore(reading, listeners{})
			f.readLostRules(reading)
			due = seen.At.Add(seen.Verdict.NextPoll)
		case isPermanent(err), isExhausted(ctx, err), !f.hasAnswer && account.Unsent(err):
			return seen, err
		default:
			f.unread = append(f.unread, err.Error())
			due = f.now().Add(retryInterval)
			if end := f.judge.Limit(); !end.IsZero() && !f.now().Before(end) {
				return f.timeOut(err), nil
			} else if !end.IsZero() && due.After(end) {
				due = end
			}
		}
	}
}

// withRegisterCommand adds the command that registers the targets again that the verdict misses. What cannot be read, it
// leaves out.
func (f *waiter) withRegisterCommand(ctx context.Context, v verdict.Verdict) verdict.Verdict {
	if v.Cause.Kind != diagnosis.Deregistered {
		return v
	}
	serves := func(t ecs.Task) bool { return t.Revision == f.lastRead.State.Serving() }
	addresses, port, err := f.target.serviceClient(f.watch).Registrable(ctx, v.Cause.Group, serves)
	if err != nil {
		return v
	}
	targets, err := alb.ReadHealth(ctx, f.watch.account.ELB(), v.Cause.Group)
	if err != nil {
		return v
	}
	return v.WithRegisterCommand(addresses, port, targets)
}

// pollService reads the service, then what the judge needs besides, and judges.
func (f *waiter) pollService(ctx context.Context, due time.Time) (Update, error) {
	s, err := f.readByName(ctx, f.target.Service, due)
	if err != nil {
		return f.newUpdate(verdict.Verdict{}), err
	}
	f.hasAnswer = true
	if s != nil {
		if err := checkAccount(f.given, s.ARN); err != nil {
			return f.newUpdate(verdict.Verdict{}), err
		}
	}
	if s != nil && s.Controller == "CODE_DEPLOY" {
		return f.newUpdate(verdict.Verdict{}), errCodeDeploy
	}
	// A response may take seconds: it shows the service as it was when the read was sent.
	o := verdict.Observation{At: f.lastRead.SentAt, Service: s}
	f.readNeeds(ctx, f.judge.Needs(s, o.At), &o)
	o.Unread, f.unread = append(o.Unread, f.unread...), nil
	var v verdict.Verdict
	f.judge, v = f.judge.See(o)
	if tasks := f.judge.NeededLogs(); len(tasks) > 0 {
		o = verdict.Observation{At: o.At, Service: s, Records: o.Records, Targets: o.Targets,
			Logs: f.readLogs(ctx, tasks)}
		f.judge, v = f.judge.See(o)
	}
	f.lastVerdict = v
	seen := f.newUpdate(v)
	f.reportPoll(seen)
	return seen, nil
}

// readByName returns a service as it is when due, or as the caller of the wait has just read it. It
// is nil if AWS knows no such service.
func (f *waiter) readByName(ctx context.Context, name string, due time.Time) (*verdict.Service, error) {
	read := f.first
	f.first = ecs.ServiceRead{}
	if read.State == nil {
		var err error
		if read, _, err = f.readers.services.readKey(ctx, name, due); err != nil {
			return nil, err
		}
	}
	f.lastRead, f.lastService = read, read.State.ForVerdictOrNil()
	return f.lastService, nil
}

func (f *waiter) now() time.Time { return f.watch.clock.Now() }

func (f *waiter) newUpdate(v verdict.Verdict) Update {
	u := Update{Target: f.target, At: f.now(), Service: f.lastService, Read: f.lastRead, Record: f.judge.Record(),
		Verdict: v}
	if v.State == verdict.Progressing {
		u.LostRules = f.before.lost
	}
	return u
}

// timeOut ends the wait at its limit without another poll.
func (f *waiter) timeOut(err error) Update {
	why := ""
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		why = err.Error()
	}
	var v verdict.Verdict
	f.judge, v = f.judge.TimeOut(f.now(), why)
	seen := f.newUpdate(v)
	f.reportChange(seen)
	return seen
}

// reportPoll reports a poll that changed something. An end is reported once it is known what callers get.
func (f *waiter) reportPoll(s Update) {
	if s.Verdict.State != verdict.Ended {
		f.reportChange(s)
	}
}

// reportChange reports an update that changed something.
func (f *waiter) reportChange(s Update) {
	var b strings.Builder
	v := s.Verdict
	fmt.Fprintln(&b, v.State, v.Outcome, v.Detail, v.Unread, s.LostRules)
	for _, l := range v.Logs {
		fmt.Fprintln(&b, l.Task, len(l.Lines))
	}
	for _, c := range v.Causes {
		fmt.Fprintln(&b, c.Text, c.Count)
	}
	if b.String() == f.lastReported {
		return
	}
	f.lastReported = b.String()
	if f.report != nil {
		f.report(s)
	}
}

// isExhausted reports whether a call was already retried for minutes.
func isExhausted(ctx context.Context, err error) bool {
	return account.HasLongRetry(ctx) && sluice.KindOf(err).CanResume()
}

// isPermanent reports whether a failed read will fail again.
func isPermanent(err error) bool {
	switch sluice.KindOf(err) {
	case sluice.Denied, sluice.NotFound, sluice.Halted:
		return true
	case sluice.Throttled:
		return false
	}
	return isBadRequest(err)
}

// isBadRequest reports whether AWS refused a request because of its content.
func isBadRequest(err error) bool {
	return ecs.IsRefused(err) && sluice.KindOf(err) != sluice.Throttled && sluice.KindOf(err) != sluice.Denied
}
