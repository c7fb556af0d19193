package stage

import (
	"context"
	"strconv"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// discovered is the access by a name of Cloud Map: shares are how many tasks of
// each variant are found. The canary is registered by us; the primary by ECS, and
// taken out only as far as a share demands it. Shares are moved in discoveredshift.go,
// who its tasks are stands in discoveredtasks.go.
type discovered struct {
	*Run
	names  *cloudmap.Driver
	loaded bool            // what was saved is in names
	seen   map[string]bool // instances of the primary that a look has shown
	looked time.Time       // when the last look was
	stale  bool            // something was written since
	undone map[string]int  // how often an instance was taken out again
	back   int             // how often any was
	tasks  []ecs.Task      // of both variants, as of the last look
	before []string        // containers with a health check, of the revision that served before; nil: not read
}

func (r *Run) openDiscovered() *discovered {
	d := &discovered{Run: r, seen: map[string]bool{}, undone: map[string]int{}}
	d.names = &cloudmap.Driver{Own: cloudmap.Own(r.Deployment), Tasks: d.crowd, Stopped: d.stopped, Keep: d.keepTaken, Taken: map[string]map[string]string{},
		KeepIn: d.keepIn, Answer: d.answerRecords, Place: cloudmap.Place{Cluster: r.Plan.Cluster, Service: r.Plan.Service, Region: r.Plan.Region}}
	d.names.Names = cloudmap.Names{API: r.Account.CloudMap(), Registry: *r.Plan.Registry, Pause: r.pause, Confirm: r.secondLook, Token: d.token}
	return d
}

// token is another one each time: an instance may be registered, taken out and
// registered again.
func (d *discovered) token(action string) string {
	return d.action(action + " at " + d.Clock.Now().UTC().Format(time.RFC3339Nano)).Token()
}

// begin takes away the records of canary tasks that died while nobody watched.
func (d *discovered) begin(ctx context.Context) error {
	if err := d.load(ctx); err != nil {
		return err
	}
	err := d.sweep(ctx)
	d.tellStrangers()
	return err
}

// sweep takes away the records of tasks that run no more.
func (d *discovered) sweep(ctx context.Context) error {
	n, err := d.names.Sweep(ctx, d.write)
	if n > 0 {
		d.note("swept %s of tasks that run no more", sluice.Plural(n, "record"))
	}
	return err
}

// attach: the canary's tasks are ours to register. A load balancer that the
// service has besides keeps its primary target group.
func (d *discovered) attach(v sluice.Variant) ecs.Attachment {
	if v == sluice.Canary {
		return ecs.Attachment{Unregistered: true}
	}
	if g := d.Plan.Primary; g != nil {
		return ecs.Attachment{TargetGroup: g.ARN, Container: g.Container, Port: g.Port}
	}
	return ecs.Attachment{}
}

func (d *discovered) announce(ctx context.Context, to sluice.Weights) error {
	if err := text(ctx, d.Host, KeyPrimaryShare, strconv.Itoa(to.Primary())); err != nil {
		return err
	}
	return text(ctx, d.Host, KeyCanaryShare, strconv.Itoa(to.Canary()))
}

// ready keeps a canary that is found at its size: which of its tasks a smaller
// scale would stop is ECS's to choose, and ECS waits for no caller.
func (d *discovered) ready(ctx context.Context) error {
	held, _, err := saved[int](ctx, d.Host, keyShareHeld)
	if err != nil || held == 0 || d.Stage.Scale == 0 {
		return err
	}
	live, err := d.observe(ctx)
	if err != nil || live.Desired == 0 {
		return err
	}
	canary, err := d.hosting.standing(ctx, sluice.Canary)
	if err != nil || canary == nil {
		return err
	}
	now := percentOf(live.Desired, canary.Desired)
	if set := int(canary.Scale); (live.Desired*set+99)/100 == canary.Desired {
		now = set
	}
	if now <= d.Stage.Scale {
		return nil
	}
	d.note("the canary keeps %s: callers find them, and a scale of %d%% would stop some", sluice.Plural(canary.Desired, "task"), d.Stage.Scale)
	d.Stage.Scale = now
	return d.sized(ctx, *canary, now)
}

// sized remembers that a canary has another scale than the plan's stage gave it, so
// that it is not taken for somebody else's doing.
func (d *discovered) sized(ctx context.Context, canary member, scale int) error {
	a, _, err := saved[accepted](ctx, d.Host, keyAccepted)
	if err != nil {
		return err
	}
	scales := map[string]float64{canary.ID: float64(scale)}
	for id, s := range a.Scales {
		if id != canary.ID {
			scales[id] = s
		}
	}
	a.Scales, d.expected = scales, nil
	return save(ctx, d.Host, keyAccepted, a)
}

// sends: the canary is found, or is to be, or some of the primary is not because of
// it.
func (d *discovered) sends(ctx context.Context) (bool, error) {
	if err := d.load(ctx); err != nil {
		return false, err
	}
	if err := d.lookAt(ctx); err != nil {
		return false, err
	}
	held, _, err := saved[int](ctx, d.Host, keyShareHeld)
	return held+d.names.Ours()+d.names.Out() > 0, err
}

// settle waits until nobody goes any more to what was taken out last: name servers
// follow, then the answers that callers keep run out. Nothing shows when.
func (d *discovered) settle(ctx context.Context) error {
	at, ok, err := saved[time.Time](ctx, d.Host, keyShifted)
	if err != nil || !ok || d.Abrupt {
		return err
	}
	forget, last := d.names.Registry.Forget(), d.Clock.Now().Add(settles*d.names.Registry.Forget())
	until := at.Add(forget)
	for told := false; d.Clock.Now().Before(until); told = true {
		if !told {
			d.Host.Emit(sluice.Waiting{For: "callers to forget the addresses", Detail: d.names.Registry.FullName(), Until: until})
		}
		if err := d.Run.tend(ctx); err != nil {
			return err
		}
		if err := d.sweepLate(ctx); err != nil {
			return err
		}
		if err := d.pause(ctx, min(lookAgain(time.Minute), until.Sub(d.Clock.Now()))); err != nil {
			return err
		}
		if at, _, err = saved[time.Time](ctx, d.Host, keyShifted); err != nil {
			return err
		}
		if until = at.Add(forget); until.After(last) {
			until = last
		}
	}
	return nil
}

// sweepLate takes records away that were put back while ECS told their tasks to stop: ECS
// had taken them out before. Where a share is held, [discovered.tend] does so.
func (d *discovered) sweepLate(ctx context.Context) error {
	held, _, err := saved[int](ctx, d.Host, keyShareHeld)
	if err != nil || held > 0 && !d.names.Lenient {
		return err
	}
	if err := d.load(ctx); err != nil {
		return err
	}
	return d.sweep(ctx)
}

// settles is how many times as long it is waited at most while tasks come, are found
// for a moment, and are taken out again.
const settles = 3

func (d *discovered) see(ctx context.Context, w *watched, o *verdict.Observation) error {
	if err := d.load(ctx); err != nil {
		return err
	}
	states, err := d.states(ctx, w.member)
	o.Targets = states
	return err
}

func (d *discovered) left(ctx context.Context, w *watched) (int, error) {
	found, err := d.foundOf(ctx, w.member)
	return len(found), err
}

func (d *discovered) reshape(context.Context) error { return nil }

// restore lets all of the primary be found again and the canary no more. The new
// primary, where it stands beside what served before, is not put back. If somebody
// else took out all that could be found of the primary, it is registered again: the
// name would be empty.
func (d *discovered) restore(ctx context.Context) error {
	if err := d.load(ctx); err != nil {
		return err
	}
	if err := d.sweep(ctx); err != nil {
		return err
	}
	sends, err := d.sends(ctx)
	if err != nil || !sends {
		return err
	}
	if d.names.Pool().Primary == 0 {
		return d.seize(ctx)
	}
	return d.shift(ctx, sluice.CanaryShare(0))
}

func (d *discovered) released(context.Context, member) error { return nil }
