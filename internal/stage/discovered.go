package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// discovered is the access by a name of Cloud Map: shares are how many tasks of
// each variant are found. The canary is registered by us; the primary by ECS, and
// taken out only as far as a share demands it. Who its tasks are stands in
// discoveredtasks.go.
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
	d.names.Names = cloudmap.Names{API: r.Account.CloudMap(), Registry: *r.Plan.Registry, Pause: r.pause, Token: d.token}
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

// shift brings the counts to the weights. That they are moving is saved first;
// from then on they are held while tasks come and go.
func (d *discovered) shift(ctx context.Context, to sluice.Weights) error {
	if err := d.load(ctx); err != nil {
		return err
	}
	if err := d.enough(ctx, to); err != nil {
		return err
	}
	if err := save(ctx, d.Host, keyShareHeld, to.Canary()); err != nil {
		return err
	}
	if err := d.ours(ctx); err != nil {
		return err
	}
	d.names.Holds = to.Canary() > 0
	done, err := d.move(ctx, to)
	if err == nil {
		err = cmp.Or(d.staysOut(ctx, to), d.reached(to))
	}
	if err != nil {
		return err
	}
	d.Host.Emit(sluice.TrafficShifted{FromPrimary: done.From.Primary(), FromCanary: done.From.Canary(),
		ToPrimary: to.Primary(), ToCanary: to.Canary(), Rules: []string{d.names.Registry.ARN}})
	now := d.names.Now()
	d.note("%s finds %s, %d of canary: %.3g%%", d.names.Registry.FullName(), sluice.Plural(now.All(), "task"), now.Canary, now.Percent())
	return nil
}

// staysOut watches, before the first shift that takes instances of ECS's out is
// claimed, whether ECS puts them back: AWS does not say. Its scheduler comes round
// within seconds.
func (d *discovered) staysOut(ctx context.Context, to sluice.Weights) error {
	stay, _, err := saved[bool](ctx, d.Host, keyStaysOut)
	if err != nil || stay || d.names.Out() == 0 {
		return err
	}
	again := d.back
	for until := d.Clock.Now().Add(watchOut); d.names.Out() > 0 && d.Clock.Now().Before(until); {
		if err := d.pause(ctx, guardEvery); err != nil {
			return err
		}
		if err := d.keepTo(ctx, to); err != nil {
			return err
		}
		if d.back > again {
			again, until = d.back, d.Clock.Now().Add(watchOut)
		}
	}
	return save(ctx, d.Host, keyStaysOut, true)
}

// watchOut is how long it is watched whether ECS undoes what was taken out.
const watchOut = 30 * time.Second

// moves is how often a shift is begun anew because tasks came or went meanwhile.
const moves = 5

func (d *discovered) move(ctx context.Context, to sluice.Weights) (route.Shift, error) {
	for n := 1; ; n++ {
		if err := d.moving(ctx); err != nil {
			return route.Shift{}, err
		}
		done, err := route.Router{Driver: d.names}.Shift(ctx, d.write, to)
		if err == nil {
			err = d.reached(to)
		}
		if saving := d.moving(ctx); err == nil && saving != nil && len(done.Written) > 0 {
			return done, saving
		}
		if !errors.Is(err, route.ErrOtherwise) || n == moves {
			return done, err
		}
		if err := d.pause(ctx, lag); err != nil { // the look may have been of the past
			return done, err
		}
	}
}

// moving saves when counts were changed last, before and after: killed in between,
// nobody would know that callers may still have old answers.
func (d *discovered) moving(ctx context.Context) error {
	return save(ctx, d.Host, keyShifted, d.Clock.Now())
}

// seize lets every task of the primary that runs be found, whoever took it out,
// and nothing that any sluice registered.
func (d *discovered) seize(ctx context.Context) error {
	if err := d.load(ctx); err != nil {
		return err
	}
	if err := d.moving(ctx); err != nil {
		return err
	}
	n, err := d.names.Seize(ctx, d.write)
	if err == nil && n > 0 {
		d.note("%s under %s changed: all of the primary is found, and it alone", sluice.Plural(n, "record"), d.names.Registry.FullName())
		err = d.moving(ctx)
	}
	return err
}

// reached refuses a shift that is as near as the tasks allow and yet not what was
// asked: with nobody else to be found, the other variant stays.
func (d *discovered) reached(to sluice.Weights) error {
	now := d.names.Now()
	if (now.Canary > 0) == (to.Canary() > 0) && (now.Primary > 0) == (to.Primary() > 0) {
		return nil
	}
	return &sluice.Error{Op: "shift what is found under " + d.names.Registry.FullName(), Resource: d.names.Registry.ID, Kind: sluice.Conflict,
		Err:  fmt.Errorf("asked for %s, %w %s of the primary and %s of the canary", to, route.ErrOtherwise, sluice.Plural(now.Primary, "task"), sluice.Plural(now.Canary, "task")),
		Next: "the others are not well: see them with sluice status, then run sluice resume or sluice rollback"}
}

// enough starts the canary tasks that the exact share takes, where that is asked.
func (d *discovered) enough(ctx context.Context, to sluice.Weights) error {
	asked := d.Stage.Weights != nil && *d.Stage.Weights == to
	if !asked || !d.Stage.Exact && to.Primary() > 0 {
		return nil
	}
	if _, err := d.names.Paths(ctx); err != nil {
		return err
	}
	pool := d.names.Pool()
	want, ok := pool.Exactly(to)
	switch {
	case want.Canary <= pool.Canary:
		return nil
	case !d.Stage.Exact:
		return &sluice.Error{Op: "let the canary alone be found under " + d.names.Registry.FullName(), Resource: d.names.Registry.ID, Kind: sluice.Conflict,
			Err:  fmt.Errorf("%s of it can be found, and the service has %d by now", sluice.Plural(pool.Canary, "task"), pool.Desired),
			Next: "roll the canary out again with scale: 100, or give exact: true"}
	case !ok:
		d.warn("exactly %d%% takes %d primary tasks, and there are %d by now", to.Canary(), want.Primary, pool.Primary)
		return nil
	}
	rev, err := d.revision(ctx)
	if err != nil {
		return err
	}
	standing, err := d.hosting.standing(ctx, sluice.Canary)
	if err != nil || standing == nil {
		return err
	}
	scale := percentOf(pool.Desired, want.Canary)
	if err := d.sized(ctx, *standing, scale); err != nil {
		return err
	}
	canary, err := d.hosting.ensureCanary(ctx, rev, scale)
	if err != nil {
		return err
	}
	return d.awaitNew(ctx, canary, want.Canary)
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
