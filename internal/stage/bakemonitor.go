package stage

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/outside"
	"github.com/sluice-ecs/sluice/internal/stage/rolling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/verdict/health"
)

// Bake monitors the serving tasks during a WAIT or an approval. The new version must stay healthy
// and the claim must stay ours. Changes by other actors are handled as onOutsideChange says.
type Bake struct {
	run              *step.Step
	hasStarted       bool // an earlier stage has written: there is something to monitor
	variants         []*watchedVariant
	stoppedReader    ecs.StoppedReader
	stoppedReadAt    time.Time         // when stopped tasks were read last
	live             *ecs.ServiceState // the last read of the service; nil: the next poll reads it
	liveAt           time.Time         // when that was
	readsTargetsOnly bool              // this poll does not read the service
	isQuiet          bool              // the counts of a healthy variant are not emitted

	retryContext context.Context // of all polls, so that missing answers from AWS are reported once
}

// watchedVariant is one member of the new version that is monitored.
type watchedVariant struct {
	*step.MemberWatch
	judge      health.Bake
	newStopped []diagnosis.Stopped // since the last poll
	hasTraffic bool                // requests reach it
	hasPolled  bool                // false: tasks that stopped before the first poll are ignored
}

const (
	// maxBakeReadAge is the longest time between two reads of stopped tasks once a read indicated a
	// failure.
	maxBakeReadAge = 30 * time.Second
	// quietBakeReadAge is maxBakeReadAge while no read indicates one.
	quietBakeReadAge = 2 * time.Minute
)

// openMonitor returns a monitor of the service. It calls no AWS API.
func openMonitor(s *step.Step) *Bake { return &Bake{run: s} }

// idleInterval is the time between polls while no stage has written yet.
const idleInterval = 30 * time.Second

// Poll polls once. It returns the time until the next poll and, if the version is not fully
// healthy, why. An error fails the waiting stage.
func (b *Bake) Poll(ctx context.Context) (next time.Duration, trouble string, err error) {
	r := b.run
	if b.retryContext == nil {
		b.retryContext = r.WithRetries(ctx)
	}
	ctx = b.retryContext
	b.run.Reads.EndPoll()
	r.Memory.Forget() // between polls, the stages that suspend and restore auto scaling save
	if err := r.Gates.Poll(ctx, r); err != nil {
		return 0, "", err
	}
	next, trouble, err = b.pollVersion(ctx)
	if due := r.Gates.NextPoll(r); err == nil && !due.IsZero() {
		next = max(min(next, due.Sub(r.Clock.Now())), minPollInterval)
	}
	return next, trouble, err
}

// minPollInterval is the shortest time between two polls.
const minPollInterval = time.Second

// GateStatus returns the verdict of the stage's gates at the last poll; nil: there was none.
func (b *Bake) GateStatus() *plan.GateStatus { return b.run.Gates.Status() }

// JudgeGates lets the next polls judge the gates of an approval, because people have approved it. first is false if it
// was called before.
func (b *Bake) JudgeGates() (first bool) { return b.run.Gates.Approve(b.run.Clock.Now()) }

// pollVersion polls the version that is monitored.
func (b *Bake) pollVersion(ctx context.Context) (next time.Duration, trouble string, err error) {
	r := b.run
	if !b.hasStarted {
		if b.hasStarted, err = b.loadProgress(ctx); err != nil || !b.hasStarted {
			return idleInterval, "", err
		}
	}
	step.WatchRequests(ctx, r)
	live, err := b.observeService(ctx)
	if err != nil {
		return 0, "", err
	}
	if r.OwnsClaim && r.Claim.Seen.IsZero() {
		if live, err = step.FindClaim(ctx, r); err != nil {
			return 0, "", err
		}
	}
	if live, err = b.checkDrift(ctx, live); err != nil {
		return 0, "", err
	}
	if next, trouble, err = b.judgeVersion(ctx, live); err != nil || trouble != "" {
		b.live = nil
	}
	return next, trouble, err
}

// observeService reads the service. Between two reads, at most ten seconds apart, a poll reads only
// the targets that get requests, as long as all of them are as before.
func (b *Bake) observeService(ctx context.Context) (*ecs.ServiceState, error) {
	now := b.run.Clock.Now()
	b.readsTargetsOnly = false
	if same, err := b.hasSameTargets(ctx, now); err != nil || same {
		b.readsTargetsOnly = same
		return b.live, err
	}
	live, err := b.run.ObserveService(ctx)
	b.live, b.liveAt = live, now
	return live, err
}

// hasSameTargets reports whether the targets of all variants that get requests are as at the last
// poll, which was healthy and no longer ago than MaxServiceReadAge.
func (b *Bake) hasSameTargets(ctx context.Context, now time.Time) (bool, error) {
	if b.live == nil || now.Sub(b.liveAt) > capacity.MaxServiceReadAge || len(b.variants) == 0 {
		return false, nil
	}
	if err := b.run.CheckInterrupt(ctx); err != nil {
		return false, err
	}
	read := false
	for _, s := range b.variants {
		if !capacity.TargetsDecide(b.run, s.MemberWatch) || s.Signs.Seen() {
			return false, nil
		}
		if !s.hasTraffic {
			continue
		}
		o := verdict.Observation{At: now, Set: &s.TaskSet}
		if err := b.run.Access.ObserveTargets(ctx, s.MemberWatch, &o); err != nil ||
			capacity.TargetsText(o) != s.Targets {
			return false, err
		}
		read = true
	}
	return read, nil
}

// judgeVersion judges the variants of the new version.
func (b *Bake) judgeVersion(ctx context.Context, live *ecs.ServiceState) (next time.Duration, trouble string,
	err error) {
	return codeOf(b.run.Plan.Mode()).judge(b, ctx, live)
}

// checkDrift handles changes by other actors. It compares the service at every poll, and rules and
// auto scaling every driftPollInterval.
func (b *Bake) checkDrift(ctx context.Context, live *ecs.ServiceState) (*ecs.ServiceState, error) {
	r := b.run
	if !r.Plan.Mode().HasVariants() {
		return live, r.Outside.ResolvePolled(ctx, r)
	}
	if err := step.MaintainShare(ctx, r.Access); err != nil {
		return nil, err
	}
	if r.WatchesDrift {
		return live, r.Outside.ResolvePolled(ctx, r)
	}
	return outside.StartWatch(ctx, r, live)
}

// loadProgress loads what earlier stages saved. It returns false if no stage has written yet.
func (b *Bake) loadProgress(ctx context.Context) (bool, error) {
	r := b.run
	former, ok, err := r.Memory.Snapshot.Find(ctx)
	if err != nil || !ok {
		return false, err
	}
	r.Snapshot = &former
	claim, err := r.Memory.Claim.Load(ctx)
	r.OwnsClaim = claim.Claimed
	return true, err
}

// judgeTaskSets judges the canary and the new primary, if they exist.
func (b *Bake) judgeTaskSets(ctx context.Context, live *ecs.ServiceState) (next time.Duration, trouble string,
	err error) {
	next = quietInterval
	for _, v := range []sluice.Variant{sluice.Canary, sluice.Primary} {
		if v == sluice.Primary && !b.run.Plan.StateAfter(b.run.Stage.Index).NewPrimary {
			continue // the previous version still serves: the new one is not at fault
		}
		after, why, err := b.judgeVariant(ctx, live, v)
		if err != nil {
			return 0, "", err
		}
		if next = min(next, after); why != "" {
			trouble = why
		}
	}
	return next, trouble, nil
}

// judgeVariant judges one variant if it exists and has tasks.
func (b *Bake) judgeVariant(ctx context.Context, live *ecs.ServiceState, v sluice.Variant) (next time.Duration,
	trouble string, err error) {
	m, err := b.run.Hosting.FindVariantIn(ctx, live, v)
	if err != nil {
		return 0, "", err
	}
	share, watched := b.run.Access.WeightOf(v)
	if m == nil || m.Status == "DRAINING" || m.Scale == 0 || !watched || b.readsTargetsOnly && share == 0 {
		return quietInterval, "", nil
	}
	return b.judgeMember(ctx, b.watchMember(*m, share > 0))
}

// judgeServices judges the canary service and the service that ECS updated.
func (b *Bake) judgeServices(ctx context.Context, live *ecs.ServiceState) (next time.Duration, trouble string,
	err error) {
	next, trouble, err = b.judgeVariant(ctx, live, sluice.Canary)
	if err != nil {
		return 0, "", err
	}
	after, why, err := b.judgeRolling(ctx, live)
	return min(next, after), cmp.Or(trouble, why), err
}

// judgeMember reads the targets and the stopped tasks of a member that was just read, and judges
// it.
func (b *Bake) judgeMember(ctx context.Context, s *watchedVariant) (next time.Duration, trouble string, err error) {
	r := b.run
	set := s.TaskSet
	o := verdict.Observation{At: r.Clock.Now(), Set: &set}
	if err := r.Access.ObserveTargets(ctx, s.MemberWatch, &o); err != nil {
		return 0, "", err
	}
	s.Targets = capacity.TargetsText(o)
	if err := b.readStopped(ctx, s, o, func(f diagnosis.Stopped) bool { return f.Deployment == s.ID }); err != nil {
		return 0, "", err
	}
	return b.judgeObservation(ctx, s, o)
}

// readStopped reads the newly stopped tasks of all monitored members. It reads if the counts show a
// missing task, or after maxBakeReadAge if a read indicated a failure, or after quietBakeReadAge.
func (b *Bake) readStopped(ctx context.Context, s *watchedVariant, o verdict.Observation,
	mine func(diagnosis.Stopped) bool) error {
	fewer := o.Set.Running < max(s.LastRunning, o.Set.Desired)
	s.LastRunning = o.Set.Running
	s.Signs = s.Signs.See(s.Live.ForVerdictOrNil(), s.ID)
	read := &b.stoppedReadAt
	if s.HasOwnGroup {
		read = &s.StoppedReadAt // the member is a separate service
	}
	limit := quietBakeReadAge
	if s.Signs.Seen() {
		limit = maxBakeReadAge
	}
	if !fewer && o.At.Sub(*read) < limit {
		return nil
	}
	*read = o.At
	all, err := b.stoppedReader.Update(ctx, s.Service)
	for _, f := range all {
		for _, x := range b.variants {
			if x == s && mine(f) || x != s && f.Deployment == x.ID {
				x.newStopped = append(x.newStopped, f)
			}
		}
	}
	return err
}

// quietInterval is the time between polls when there is no member to judge, and between those of healthy members beside
// another wait.
const quietInterval = 20 * time.Second

// watchMember returns the watch of a member, and starts it at the first call.
func (b *Bake) watchMember(m step.Member, traffic bool) *watchedVariant {
	for _, s := range b.variants {
		if s.ID == m.ID {
			s.Member, s.hasTraffic = m, traffic
			return s
		}
	}
	s := &watchedVariant{MemberWatch: step.NewMemberWatch(m), hasTraffic: traffic,
		judge: health.StartBake(b.run.Clock.Now(), b.run.Plan.ProgressDeadline, traffic)}
	b.variants = append(b.variants, s)
	return s
}

func (b *Bake) judgeObservation(ctx context.Context, s *watchedVariant, o verdict.Observation) (next time.Duration,
	trouble string, err error) {
	if o.NewlyStopped, s.newStopped = s.newStopped, nil; !s.hasPolled {
		o.NewlyStopped, s.hasPolled = nil, true
	}
	o.Events = s.Events
	var v verdict.Verdict
	s.judge, v = s.judge.See(o)
	s.judge, v = step.ExplainByLogs(ctx, b.run, s.judge, o, v)
	if v.State != verdict.Healthy || !b.isQuiet {
		capacity.EmitCapacity(b.run, s.MemberWatch, o, v)
	}
	switch v.State {
	case verdict.Healthy:
		return v.NextPoll, "", nil
	case verdict.Failing, verdict.Stalling:
		return 0, "", errVersionFailed(b.run, s.MemberWatch, capacity.ExplainTargets(ctx, b.run, s.MemberWatch, v))
	}
	return v.NextPoll, fmt.Sprintf("%s: %s", s.Variant, v.Detail), nil
}

// errVersionFailed is the error of a version that was healthy and is not any more.
func errVersionFailed(s *step.Step, w *step.MemberWatch, v verdict.Verdict) error {
	why := v.Detail
	switch {
	case v.Cause.Task != "":
		why = v.Cause.String() + "; " + why
	case capacity.TellsCauseApart(v):
		why += "; " + v.Cause.Text
	}
	return &sluice.Error{Op: "monitor the " + string(w.Variant), Resource: w.ID, Kind: sluice.Unhealthy,
		Err: fmt.Errorf("the version is no longer healthy: %s", why), Next: step.RemoveRollback(s, v.Next)}
}

// judgeRolling judges a service that ECS deploys. It checks that our deployment is still the
// PRIMARY one, and its tasks.
func (b *Bake) judgeRolling(ctx context.Context, live *ecs.ServiceState) (next time.Duration, trouble string,
	err error) {
	r := b.run
	ours, ok, err := rolling.LoadUpdate(ctx, r)
	if err != nil || !ok || ours.Deployment == "" {
		return quietInterval, "", err
	}
	id, revision := live.PrimaryDeployment()
	if r.Clock.Now().Sub(ours.At) < step.AlwaysShownAfter && !ours.IsShownIn(live) {
		return quietInterval, "", nil // the read is older than our own update
	}
	if id != ours.Deployment {
		return 0, "", rolling.ResolveSupersededInWait(ctx, r, live, ours)
	}
	set := sluice.TaskSet{ID: id, Revision: revision, Desired: live.Desired, Running: live.Running,
		Pending: live.Pending, Steady: true}
	s := b.watchMember(step.Member{TaskSet: set, Variant: sluice.Primary, Label: plan.OwnDeployment, Service: r.Client,
		Live: live, Events: live.Events()},
		true)
	o := verdict.Observation{At: r.Clock.Now(), Set: &set}
	for _, group := range live.TargetGroups() {
		targets, err := alb.ReadHealth(ctx, r.Account.ELB(), group)
		if err != nil {
			return 0, "", err
		}
		o.Targets = append([]sluice.Target{}, targets...)
	}
	if err := b.readStopped(ctx, s, o, func(f diagnosis.Stopped) bool { return f.Revision == revision }); err != nil {
		return 0, "", err
	}
	return b.judgeObservation(ctx, s, o)
}
