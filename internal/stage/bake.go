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
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// Bake monitors the serving tasks during a WAIT or an approval. The new version must stay healthy
// and the claim must stay ours. Changes by other actors are handled as onOutsideChange says.
type Bake struct {
	run   *Run
	began bool // an earlier stage has written: there is something to monitor
	sides []*side
	fell  ecs.Fallen
	read  time.Time // when stopped tasks were read last

	patient context.Context // of all polls, so that missing answers from AWS are reported once
}

// watchedVariant is one member of the new version that is monitored.
type side struct {
	*watched
	judge  verdict.Bake
	fell   []sluice.StoppedTask // since the last poll
	looked bool                 // false: tasks that stopped before the first poll are ignored
}

// maxBakeReadAge is the longest time between two reads of stopped tasks while the running count
// does not fall.
const fallenEvery = 30 * time.Second

// Bake returns a monitor of the service. It calls no AWS API.
func (r *Run) Bake() *Bake { return &Bake{run: r} }

// idleInterval is the time between polls while no stage has written yet.
const idle = 30 * time.Second

// Poll polls once. It returns the time until the next poll and, if the version is not fully
// healthy, why. An error fails the waiting stage.
func (b *Bake) Look(ctx context.Context) (next time.Duration, trouble string, err error) {
	r := b.run
	if b.patient == nil {
		b.patient = r.patient(ctx)
	}
	ctx = b.patient
	if !b.began {
		if b.began, err = b.begin(ctx); err != nil || !b.began {
			return idle, "", err
		}
	}
	live, err := r.observe(ctx)
	if err != nil {
		return 0, "", err
	}
	if r.holding && r.claim.seen.IsZero() {
		if live, err = r.seek(ctx); err != nil {
			return 0, "", err
		}
	}
	if live, err = b.heed(ctx, live); err != nil {
		return 0, "", err
	}
	switch {
	case r.Plan.Beside():
		return b.beside(ctx, live)
	case r.Plan.Rolls():
		return b.rolling(ctx, live)
	case r.Plan.ByCodeDeploy():
		return quietLook, "", nil
	}
	return b.look(ctx, live)
}

// checkDrift handles changes by other actors. It compares the service at every poll, and rules and
// auto scaling every driftPollInterval.
func (b *Bake) heed(ctx context.Context, live *ecs.Live) (*ecs.Live, error) {
	r := b.run
	if r.Plan.Rolls() && !r.Plan.Beside() || r.Plan.ByCodeDeploy() {
		return live, r.compare(ctx)
	}
	if err := r.access.tend(ctx); err != nil {
		return nil, err
	}
	if r.heeding {
		return live, r.compare(ctx)
	}
	return r.attend(ctx, live)
}

// loadProgress loads what earlier stages saved. It returns false if no stage has written yet.
func (b *Bake) begin(ctx context.Context) (bool, error) {
	r := b.run
	former, ok, err := saved[Former](ctx, r.Host, keyFormer)
	if err != nil || !ok {
		return false, err
	}
	r.former = &former
	r.holding, _, err = saved[bool](ctx, r.Host, keyHeld)
	return true, err
}

// judgeTaskSets judges the canary and the new primary, if they exist.
func (b *Bake) look(ctx context.Context, live *ecs.Live) (next time.Duration, trouble string, err error) {
	next = quietLook
	for _, v := range []sluice.Variant{sluice.Canary, sluice.Primary} {
		if v == sluice.Primary && !standingAfter(b.run.Plan, b.run.Stage.Index).fresh {
			continue // the previous version still serves: the new one is not at fault
		}
		after, why, err := b.variant(ctx, live, v)
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
func (b *Bake) variant(ctx context.Context, live *ecs.Live, v sluice.Variant) (next time.Duration, trouble string, err error) {
	m, err := b.run.hosting.among(ctx, live, v)
	if err != nil {
		return 0, "", err
	}
	share, watched := b.run.access.weight(v)
	if m == nil || m.Status == "DRAINING" || m.Scale == 0 || !watched {
		return quietLook, "", nil
	}
	return b.member(ctx, b.side(*m, share > 0))
}

// judgeServices judges the canary service and the service that ECS updated.
func (b *Bake) beside(ctx context.Context, live *ecs.Live) (next time.Duration, trouble string, err error) {
	next, trouble, err = b.variant(ctx, live, sluice.Canary)
	if err != nil {
		return 0, "", err
	}
	after, why, err := b.rolling(ctx, live)
	return min(next, after), cmp.Or(trouble, why), err
}

// judgeMember reads the targets and the stopped tasks of a member that was just read, and judges
// it.
func (b *Bake) member(ctx context.Context, s *side) (next time.Duration, trouble string, err error) {
	r := b.run
	set := s.TaskSet
	o := verdict.Observation{At: r.Clock.Now(), Set: &set}
	if err := r.access.see(ctx, s.watched, &o); err != nil {
		return 0, "", err
	}
	if err := b.fallen(ctx, s, o, func(f verdict.Stopped) bool { return f.Deployment == s.ID }); err != nil {
		return 0, "", err
	}
	return b.judge(s, o)
}

// readStopped reads the newly stopped tasks of all monitored members. It reads only if the counts
// show a missing task or maxBakeReadAge has passed.
func (b *Bake) fallen(ctx context.Context, s *side, o verdict.Observation, mine func(verdict.Stopped) bool) error {
	fewer := o.Set.Running < max(s.running, o.Set.Desired)
	s.running = o.Set.Running
	read := &b.read
	if s.alone {
		read = &s.read // the member is a separate service
	}
	if !fewer && o.At.Sub(*read) < fallenEvery {
		return nil
	}
	*read = o.At
	all, err := b.fell.Update(ctx, s.of)
	for _, f := range all {
		for _, x := range b.sides {
			if x == s && mine(f) || x != s && f.Deployment == x.ID {
				x.fell = append(x.fell, f.StoppedTask)
			}
		}
	}
	return err
}

// quietInterval is the time between polls when there is no member to judge.
const quietLook = 20 * time.Second

// watchMember returns the watch of a member, and starts it at the first call.
func (b *Bake) side(m member, traffic bool) *side {
	for _, s := range b.sides {
		if s.ID == m.ID {
			s.member = m
			return s
		}
	}
	s := &side{watched: watching(m), judge: verdict.Baking(b.run.Clock.Now(), b.run.Plan.ProgressDeadline, traffic)}
	s.far = true
	b.sides = append(b.sides, s)
	return s
}

func (b *Bake) judge(s *side, o verdict.Observation) (next time.Duration, trouble string, err error) {
	if o.Stopped, s.fell = s.fell, nil; !s.looked {
		o.Stopped, s.looked = nil, true
	}
	var v verdict.Verdict
	s.judge, v = s.judge.See(o)
	b.run.tell(s.watched, o, v)
	switch v.State {
	case verdict.Healthy:
		return v.NextLook, "", nil
	case verdict.Failing, verdict.Stalling:
		return 0, "", b.run.failed(s.watched, v)
	}
	return v.NextLook, fmt.Sprintf("%s: %s", s.variant, v.Detail), nil
}

// errVersionFailed is the error of a version that was healthy and is not any more.
func (r *Run) failed(w *watched, v verdict.Verdict) error {
	why := v.Detail
	if v.Cause.Count > 0 {
		why = fmt.Sprintf("%s: %s (task %s)", sluice.Plural(v.Cause.Count, "task")+" stopped", v.Cause.Text, v.Cause.Task) + "; " + why
	}
	return &sluice.Error{Op: "watch the " + string(w.variant), Resource: w.ID, Kind: sluice.Unhealthy,
		Err:  fmt.Errorf("it was healthy and is not any more: %s", why),
		Next: "see what the service says: aws ecs describe-services --cluster " + r.Plan.Cluster + " --services " + r.Plan.Service + "; fix the image and deploy again"}
}

// judgeRolling judges a service that ECS deploys. It checks that our deployment is still the
// PRIMARY one, and its tasks.
func (b *Bake) rolling(ctx context.Context, live *ecs.Live) (next time.Duration, trouble string, err error) {
	r := b.run
	ours, ok, err := saved[asked](ctx, r.Host, keyAsked)
	if err != nil || !ok || ours.Deployment == "" {
		return quietLook, "", err
	}
	id, revision := live.PrimaryDeployment()
	if r.Clock.Now().Sub(ours.At) < longAgo && !ours.shownIn(live) {
		return quietLook, "", nil // the read is older than our own update
	}
	if id != ours.Deployment {
		return 0, "", r.displacedWhileWaiting(ctx, live, ours)
	}
	set := sluice.TaskSet{ID: id, Revision: revision, Desired: live.Desired, Running: live.Running, Pending: live.Pending, Steady: true}
	s := b.side(member{TaskSet: set, variant: sluice.Primary, label: plan.OurDeployment, of: r.hand}, true)
	o := verdict.Observation{At: r.Clock.Now(), Set: &set}
	for _, group := range live.Groups() {
		targets, err := alb.Health(ctx, r.Account.ELB(), group)
		if err != nil {
			return 0, "", err
		}
		o.Targets = append([]sluice.Target{}, targets...)
	}
	if err := b.fallen(ctx, s, o, func(f verdict.Stopped) bool { return f.Revision == revision }); err != nil {
		return 0, "", err
	}
	return b.judge(s, o)
}
