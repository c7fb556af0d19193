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

// Bake watches what serves while a WAIT or an approval lets time pass: the new
// version must stay healthy, the claim ours, and what others change is answered.
type Bake struct {
	run   *Run
	began bool // something was written: there is something to watch
	sides []*side
	fell  ecs.Fallen
	read  time.Time // when what fell was read last

	patient context.Context // of all looks, so that a silence is told once
}

// side is one task set of the new version that is watched.
type side struct {
	*watched
	judge  verdict.Bake
	fell   []sluice.StoppedTask // since the last look
	looked bool                 // what stopped before the first look is no matter of the wait
}

// fallenEvery is how long failures may go unread while the counts do not tell of
// them.
const fallenEvery = 30 * time.Second

// Bake begins to watch. It calls nobody.
func (r *Run) Bake() *Bake { return &Bake{run: r} }

// idle is how long nothing is looked at if nothing was written yet.
const idle = 30 * time.Second

// Look looks once. It returns when to look next, and why it is not all well, if it
// is not; an error ends the wait as a failure of its stage.
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

// heed answers what others changed. What a look at the service shows is compared at
// each; the rest as often as a stage does.
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

// begin loads what the stages before have saved.
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

// look judges the canary and the new primary, as far as they stand.
func (b *Bake) look(ctx context.Context, live *ecs.Live) (next time.Duration, trouble string, err error) {
	next = quietLook
	for _, v := range []sluice.Variant{sluice.Canary, sluice.Primary} {
		if v == sluice.Primary && !standingAfter(b.run.Plan, b.run.Stage.Index).fresh {
			continue // it is the old version: no fault of the new one's
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

// variant judges one variant if it stands and has tasks.
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

// beside looks at a canary service, and at the service that ECS rolled.
func (b *Bake) beside(ctx context.Context, live *ecs.Live) (next time.Duration, trouble string, err error) {
	next, trouble, err = b.variant(ctx, live, sluice.Canary)
	if err != nil {
		return 0, "", err
	}
	after, why, err := b.rolling(ctx, live)
	return min(next, after), cmp.Or(trouble, why), err
}

// member looks at one member that was just seen.
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

// fallen reads which tasks fell, of all that is watched, if the counts tell of any
// or it was not read for long.
func (b *Bake) fallen(ctx context.Context, s *side, o verdict.Observation, mine func(verdict.Stopped) bool) error {
	fewer := o.Set.Running < max(s.running, o.Set.Desired)
	s.running = o.Set.Running
	read := &b.read
	if s.alone {
		read = &s.read // of a service of its own
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

const quietLook = 20 * time.Second

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

// failed is the error of a version that was healthy and is not any more.
func (r *Run) failed(w *watched, v verdict.Verdict) error {
	why := v.Detail
	if v.Cause.Count > 0 {
		why = fmt.Sprintf("%s: %s (task %s)", sluice.Plural(v.Cause.Count, "task")+" stopped", v.Cause.Text, v.Cause.Task) + "; " + why
	}
	return &sluice.Error{Op: "watch the " + string(w.variant), Resource: w.ID, Kind: sluice.Unhealthy,
		Err:  fmt.Errorf("it was healthy and is not any more: %s", why),
		Next: "see what the service says: aws ecs describe-services --cluster " + r.Plan.Cluster + " --services " + r.Plan.Service + "; fix the image and deploy again"}
}

// rolling looks at a service that ECS deploys: whether our deployment is still the
// one that is to serve, and its tasks.
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
