package watch

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/view"
)

// readNeeds reads what is needed. It omits what cannot be read: the next poll needs that again,
// unless AWS never permits the read.
func (f *waiter) readNeeds(ctx context.Context, n verdict.Needs, o *verdict.Observation) {
	for _, arn := range n.Records {
		f.readRecord(ctx, arn, o)
	}
	if n.History != "" {
		f.readHistory(ctx, n.History, o)
	}
	if n.StoppedTasks {
		f.readStopped(ctx, f.target.serviceClient(f.watch), o)
	}
	if len(n.Drain) > 0 {
		o.DrainRead = true
		o.DrainDelay, _ = alb.ShortestDrain(ctx, f.watch.account.ELB(), n.Drain) // unread: polls stay frequent
	}
	if n.Check != "" {
		places, _ := alb.FindGroups(ctx, f.watch.account.ELB(), n.Check) // unread: the cause does not name it
		for _, p := range places {
			o.Check = diagnosis.CheckOf(p.Settings)
			o.Check.Changes = f.earlierChecks().CheckChanges(p.Group, view.NewHealthCheck(p.Settings))
		}
	}
	if n.Pace {
		o.Pace = f.readPace(ctx, o.Service)
	}
	if n.Checks {
		o.Checks = f.readChecks(ctx, o, f.lastVerdict.Revision)
	}
	if f.denied.targets {
		return
	}
	for _, group := range n.Targets {
		targets, err := alb.ReadHealth(ctx, f.watch.account.ELB(), group)
		f.denied.targets = f.denied.targets || f.noteUnreadable(o, "target health", err)
		o.Targets = append(o.Targets, targets...)
		if err == nil {
			o.Registered = append(o.Registered, verdict.CountRegistered(group, targets))
		}
	}
}

// readStopped reads the stopped tasks of the service. At the first read it drops those that are past.
func (f *waiter) readStopped(ctx context.Context, service ecs.Service, o *verdict.Observation) {
	if f.denied.stoppedTasks {
		return
	}
	fallen, err := f.stoppedReader.Update(ctx, service)
	f.denied.stoppedTasks = f.noteUnreadable(o, "stopped tasks", err)
	isNew := f.target.Wanted.FromStart || f.target.Wanted.JustCreated // it has no past
	if err == nil && !f.stoppedWasRead && !isNew && o.Service != nil {
		fallen, f.stoppedWasRead = f.forgetPast(ctx, service, fallen, o), true
	}
	o.NewlyStopped, o.StoppedRead = fallen, err == nil
}

// forgetPast drops the tasks of the version that serves which failed before the wait, if the version has been stable
// since.
func (f *waiter) forgetPast(ctx context.Context, service ecs.Service, fallen []diagnosis.Stopped,
	o *verdict.Observation) []diagnosis.Stopped {
	serves := ""
	if s := f.lastRead.State; s.IsActive() {
		serves = s.Serving()
	}
	isPast := func(t diagnosis.Stopped) bool { return t.Revision == serves }
	past := slices.DeleteFunc(slices.Clone(fallen), func(t diagnosis.Stopped) bool { return !isPast(t) })
	now, err := service.JudgeSurvival(ctx, o.At, serves, past, o.Service.Events, nil)
	if err != nil || !now.IsOver(o.At, 0) {
		return fallen
	}
	if o.Checks = f.readChecks(ctx, o, serves); !o.Checks.Read || !now.IsOver(o.At, o.Checks.Notice) {
		return fallen
	}
	return slices.DeleteFunc(slices.Clone(fallen), isPast)
}

// earlierChecks returns the read with the health checks of before.
func (f *waiter) earlierChecks() view.Traffic {
	if f.target.Checks.IsRead() {
		return f.target.Checks
	}
	return f.before.traffic
}

func (f *waiter) readRecord(ctx context.Context, arn string, o *verdict.Observation) {
	rec, found, err := f.readers.records.readKey(ctx, arn, f.now())
	if f.noteUnreadable(o, "service deployments", err) {
		o.NoHistory = true
	}
	if found {
		o.Records = append(o.Records, rec)
	}
}

// readHistory finds the newest service deployment of the revision, and reads its record.
func (f *waiter) readHistory(ctx context.Context, revision string, o *verdict.Observation) {
	past, err := f.target.serviceClient(f.watch).PastDeployments(ctx)
	if o.Past.Read = err == nil || f.noteUnreadable(o, "the history of service deployments", err); err != nil {
		return
	}
	for _, p := range past {
		if p.RevisionName() == revision {
			o.Past.ARN = p.ARN
			f.readRecord(ctx, p.ARN, o)
			return
		}
	}
}

// noteUnreadable stores why something cannot be read, and reports whether it never can be read.
func (f *waiter) noteUnreadable(o *verdict.Observation, what string, err error) (ever bool) {
	if err == nil || !ecs.IsUnsupported(err) {
		return false
	}
	o.Unread = append(o.Unread, what+": "+sluice.Inner(err).Error())
	return true
}

// readLogs reads the last log lines of the containers of failed tasks.
func (f *waiter) readLogs(ctx context.Context, tasks []diagnosis.Stopped) []diagnosis.Log {
	return ecs.LastLogs{ECS: f.watch.account.ECS(), Logs: f.watch.account.Logs(),
		Planned: f.target.Planned}.Read(ctx, tasks)
}

// readPace reads how long tasks of the service take to start, to be checked and to drain. It omits what cannot be read.
func (f *waiter) readPace(ctx context.Context, s *verdict.Service) verdict.Pace {
	p := verdict.Pace{Read: true}
	tasks, _ := f.target.serviceClient(f.watch).Tasks(ctx)
	for _, t := range tasks {
		if !t.StartedAt.IsZero() {
			p.Start = max(p.Start, t.StartedAt.Sub(t.CreatedAt))
		}
	}
	if len(s.Groups) == 0 {
		return p
	}
	p.Check, p.Drain, _ = alb.PaceOf(ctx, f.watch.account.ELB(), s.Groups)
	return p
}

// readChecks reads how long the health checks of the service take to notice a failure. It omits what AWS never permits to
// read, and what does not exist; what cannot be read now is read at the next poll.
func (f *waiter) readChecks(ctx context.Context, o *verdict.Observation, revision string) verdict.HealthChecks {
	c := verdict.HealthChecks{Read: true}
	note := func(what string, notice time.Duration, err error) {
		c.Notice = max(c.Notice, notice)
		c.Read = c.Read && (err == nil || sluice.KindOf(err) == sluice.NotFound || f.noteUnreadable(o, what, err))
	}
	if groups := f.lastRead.State.TrafficScope().Groups; len(groups) > 0 {
		notice, err := alb.NoticeOf(ctx, f.watch.account.ELB(), groups)
		note("target groups", notice, err)
	}
	if revision != "" {
		td, err := ecs.ReadDefinition(ctx, f.watch.account.ECS(), revision)
		note("the task definition", ecs.NoticeOf(td), err)
	}
	return c
}
