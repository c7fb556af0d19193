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

// cloudMapTraffic routes by a Cloud Map name: the share of a variant is its part of the registered
// tasks. Sluice registers canary tasks. ECS registers primary tasks, and sluice deregisters only as
// many of them as the share needs. The shift is in discoveredshift.go, the tasks are in
// discoveredtasks.go.
type discovered struct {
	*Run
	names  *cloudmap.Driver
	loaded bool            // the saved values are in names
	seen   map[string]bool // instances of the primary that a poll has shown
	looked time.Time       // when tasks and name were read last
	stale  bool            // a write came after that read
	undone map[string]int  // by instance: how often it was registered again and deregistered
	back   int             // how many instances were registered again
	tasks  []ecs.Task      // of both variants, as of the last read
	before []string        // containers of the former revision that have a health check; nil: not read
}

func (r *Run) openDiscovered() *discovered {
	d := &discovered{Run: r, seen: map[string]bool{}, undone: map[string]int{}}
	d.names = &cloudmap.Driver{Own: cloudmap.Own(r.Deployment), Tasks: d.crowd, Stopped: d.stopped, Keep: d.keepTaken, Taken: map[string]map[string]string{},
		KeepIn: d.keepIn, Answer: d.answerRecords, Place: cloudmap.Place{Cluster: r.Plan.Cluster, Service: r.Plan.Service, Region: r.Plan.Region}}
	d.names.Names = cloudmap.Names{API: r.Account.CloudMap(), Registry: *r.Plan.Registry, Pause: r.pause, Confirm: r.secondLook, Token: d.token}
	return d
}

// newToken returns another client token each time, because an instance may be registered,
// deregistered and registered again.
func (d *discovered) token(action string) string {
	return d.action(action + " at " + d.Clock.Now().UTC().Format(time.RFC3339Nano)).Token()
}

// removeStaleRecords deregisters records of canary tasks that stopped while no process ran.
func (d *discovered) begin(ctx context.Context) error {
	if err := d.load(ctx); err != nil {
		return err
	}
	err := d.sweep(ctx)
	d.tellStrangers()
	return err
}

// deregisterDead deregisters records of tasks that do not run any more.
func (d *discovered) sweep(ctx context.Context) error {
	n, err := d.names.Sweep(ctx, d.write)
	if n > 0 {
		d.note("swept %s of tasks that run no more", sluice.Plural(n, "record"))
	}
	return err
}

// attachmentOf returns no registration by ECS for the canary: sluice registers its tasks. If the
// service also has a load balancer, the primary keeps its target group.
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

// prepareCanaryRoute keeps a registered canary at its size. ECS chooses which tasks to stop when it
// scales down, and it does not wait for callers.
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

// saveCanaryScale saves that a canary has another scale than the plan's stage gave it. Otherwise
// that scale would count as drift.
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

// canaryGetsTraffic is true if canary tasks are registered or about to be, or if primary tasks are
// deregistered to make their share.
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

// waitForPropagation waits for the name servers and then for the DNS TTL after the last
// deregistration. AWS reports neither.
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

// deregisterStopping deregisters instances that were registered again while ECS told their tasks to
// stop. ECS had deregistered them before and does not do it again. While a share is maintained,
// [cloudMapTraffic.maintainShare] does this.
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

// maxWaitTTLs bounds the wait as a multiple of the TTL. Tasks may be registered briefly and
// deregistered again during the wait, which restarts the TTL.
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

// restoreRoutes registers all primary tasks and deregisters the canary. It does not register a new
// primary that runs next to the former one. If another actor deregistered every primary task,
// restoreRoutes registers them again, so that the name has records.
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
