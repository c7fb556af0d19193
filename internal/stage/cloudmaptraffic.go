package stage

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// cloudMapTraffic routes by a Cloud Map name: the share of a variant is its part of the registered
// tasks. Sluice registers canary tasks. ECS registers primary tasks, and sluice deregisters only as
// many of them as the share needs. The shift is in cloudmaptraffic_shift.go, the tasks are in
// cloudmaptraffic_tasks.go.
type cloudMapTraffic struct {
	*Run
	names          *cloudmap.Driver
	loaded         bool            // the saved values are in names
	seen           map[string]bool // instances of the primary that a poll has shown
	tasksReadAt    time.Time       // when tasks and name were read last
	stale          bool            // a write came after that read
	reassertCounts map[string]int  // by instance: how often it was registered again and deregistered
	returnedCount  int             // how many instances were registered again
	tasks          []ecs.Task      // of both variants, as of the last read
	formerChecks   []string        // containers of the former revision that have a health check; nil: not read
}

func (r *Run) openCloudMapTraffic() *cloudMapTraffic {
	d := &cloudMapTraffic{Run: r, seen: map[string]bool{}, reassertCounts: map[string]int{}}
	d.names = &cloudmap.Driver{Prefix: cloudmap.InstancePrefix(r.Deployment), Tasks: d.namedTasks,
		Stopped: d.stoppedTasks, SaveDeregistered: d.saveDeregistered, Deregistered: map[string]map[string]string{},
		SaveRegistered: d.saveRegistered, ResolveChange: d.applyRecordPolicy,
		Place: cloudmap.Place{Cluster: r.Plan.Cluster, Service: r.Plan.Service, Region: r.Plan.Region}}
	d.names.InstanceClient = cloudmap.InstanceClient{API: r.Account.CloudMap(), Registry: *r.Plan.Registry,
		Pause: r.pauseFor, Confirm: r.awaitSecondRead, Token: d.newToken}
	return d
}

// newToken returns another client token each time, because an instance may be registered,
// deregistered and registered again.
func (d *cloudMapTraffic) newToken(action string) string {
	return d.actionID(action + " at " + d.Clock.Now().UTC().Format(time.RFC3339Nano)).Token()
}

// removeStaleRecords deregisters records of canary tasks that stopped while no process ran.
func (d *cloudMapTraffic) removeStaleRecords(ctx context.Context) error {
	if err := d.loadSaved(ctx); err != nil {
		return err
	}
	err := d.deregisterDead(ctx)
	d.warnUnknownInstances()
	return err
}

// isNameDeleted reads whether the Cloud Map service is deleted. No caller can resolve the name then.
func (d *cloudMapTraffic) isNameDeleted(ctx context.Context) (bool, error) {
	_, err := d.names.ListInstances(ctx)
	if sluice.KindOf(err) == sluice.NotFound {
		return true, nil
	}
	return false, err
}

// isUnreachable returns false: whether callers can resolve the name takes a read.
func (d *cloudMapTraffic) isUnreachable() bool { return false }

// deregisterDead deregisters records of tasks that do not run any more.
func (d *cloudMapTraffic) deregisterDead(ctx context.Context) error {
	n, err := d.names.DeregisterDead(ctx, d.writeRecord)
	if n > 0 {
		d.emitNote("deregistered %s of tasks that no longer run", sluice.Plural(n, "instance"))
	}
	return err
}

// attachmentOf returns no registration by ECS for the canary: sluice registers its tasks. If the
// service also has a load balancer, the primary keeps its target group.
func (d *cloudMapTraffic) attachmentOf(v sluice.Variant) ecs.Attachment {
	if v == sluice.Canary {
		return ecs.Attachment{Unregistered: true}
	}
	if g := d.Plan.Primary; g != nil {
		return ecs.Attachment{TargetGroup: g.ARN, Container: g.Container, Port: g.Port}
	}
	return ecs.Attachment{}
}

func (d *cloudMapTraffic) savePlannedShift(ctx context.Context, to sluice.Weights) error {
	return d.savePercentages(ctx, to)
}

// prepareCanaryRoute keeps a registered canary at its size. ECS chooses which tasks to stop when it
// scales down, and it does not wait for callers.
func (d *cloudMapTraffic) prepareCanaryRoute(ctx context.Context) error {
	saved, err := d.memory.Names.Load(ctx)
	if err != nil || saved.MaintainedShare == 0 || d.Stage.Scale == 0 {
		return err
	}
	live, err := d.observeService(ctx)
	if err != nil || live.Desired == 0 {
		return err
	}
	canary, err := d.hosting.findVariant(ctx, sluice.Canary)
	if err != nil || canary == nil {
		return err
	}
	now := percentForCount(live.Desired, canary.Desired)
	if set := int(canary.Scale); (live.Desired*set+99)/100 == canary.Desired {
		now = set
	}
	if now <= d.Stage.Scale {
		return nil
	}
	d.emitNote("the canary keeps %s: they are registered, and a scale of %d%% would stop some",
		sluice.Plural(canary.Desired, "task"), d.Stage.Scale)
	d.Stage.Scale = now
	return d.saveCanaryScale(ctx, *canary, now)
}

// saveCanaryScale saves that a canary has another scale than the plan's stage gave it. Otherwise
// that scale would count as drift.
func (d *cloudMapTraffic) saveCanaryScale(ctx context.Context, canary member, scale int) error {
	a, err := d.memory.External.Load(ctx)
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
	return d.memory.External.Save(ctx, a)
}

// canaryGetsTraffic is true if canary tasks are registered or about to be, or if primary tasks are
// deregistered to make their share.
func (d *cloudMapTraffic) canaryGetsTraffic(ctx context.Context) (bool, error) {
	if err := d.loadSaved(ctx); err != nil {
		return false, err
	}
	if err := d.refreshTasks(ctx); err != nil {
		return false, err
	}
	saved, err := d.memory.Names.Load(ctx)
	return saved.MaintainedShare+d.names.CountRegistered()+d.names.CountDeregistered() > 0, err
}

// waitForPropagation waits for the name servers and then for the DNS TTL after the last
// deregistration. AWS reports neither.
func (d *cloudMapTraffic) waitForPropagation(ctx context.Context) error {
	at, ok, err := d.loadShiftTime(ctx)
	if err != nil || !ok {
		return err
	}
	forget, last := d.names.Registry.CacheExpiry(), d.Clock.Now().Add(maxWaitTTLs*d.names.Registry.CacheExpiry())
	until := at.Add(forget)
	for told := false; d.Clock.Now().Before(until); told = true {
		if !told {
			d.Host.Emit(sluice.Waiting{For: "DNS caches to expire", Detail: d.names.Registry.FullName(),
				Until: until})
		}
		if err := d.Run.checkDuringWait(ctx); err != nil {
			return err
		}
		if err := d.deregisterStopping(ctx); err != nil {
			return err
		}
		if err := d.pauseFor(ctx, min(verdict.NextRemovalPoll(time.Minute), until.Sub(d.Clock.Now()))); err != nil {
			return err
		}
		if at, _, err = d.loadShiftTime(ctx); err != nil {
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
func (d *cloudMapTraffic) deregisterStopping(ctx context.Context) error {
	saved, err := d.memory.Names.Load(ctx)
	if err != nil || saved.MaintainedShare > 0 && !d.names.IgnoresChanges {
		return err
	}
	if err := d.loadSaved(ctx); err != nil {
		return err
	}
	return d.deregisterDead(ctx)
}

// maxWaitTTLs bounds the wait as a multiple of the TTL. Tasks may be registered briefly and
// deregistered again during the wait, which restarts the TTL.
const maxWaitTTLs = 3

func (d *cloudMapTraffic) observeTargets(ctx context.Context, w *memberWatch, o *verdict.Observation) error {
	if err := d.loadSaved(ctx); err != nil {
		return err
	}
	states, err := d.targetStates(ctx, w.member)
	o.Targets = states
	return err
}

func (d *cloudMapTraffic) countDraining(ctx context.Context, w *memberWatch) (int, error) {
	found, err := d.registeredOf(ctx, w.member)
	return len(found), err
}

func (d *cloudMapTraffic) removeCanaryRoute(context.Context) error { return nil }

// restoreRoutes registers all primary tasks and deregisters the canary. It does not register a new
// primary that runs next to the former one. If another actor deregistered every primary task,
// restoreRoutes registers them again, so that the name has records.
func (d *cloudMapTraffic) restoreRoutes(ctx context.Context) error {
	if err := d.loadSaved(ctx); err != nil {
		return err
	}
	if err := d.deregisterDead(ctx); err != nil {
		return err
	}
	sends, err := d.canaryGetsTraffic(ctx)
	if err != nil || !sends {
		return err
	}
	if d.names.Pool().Primary == 0 {
		return d.routeAllToPrimary(ctx)
	}
	return d.setWeights(ctx, sluice.CanaryShare(0))
}

func (d *cloudMapTraffic) checkCanaryUnrouted(context.Context, member) error { return nil }
