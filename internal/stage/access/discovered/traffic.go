package discovered

import (
	"context"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// traffic routes by a Cloud Map name: the share of a variant is its part of the registered
// tasks. Sluice registers canary tasks. ECS registers primary tasks, and sluice deregisters only as
// many of them as the share needs. The shift is in shift.go, the tasks are in tasks.go.
type traffic struct {
	step           *step.Step
	names          *cloudmap.Driver
	loaded         bool            // the saved values are in names
	seen           map[string]bool // instances of the primary that a poll has shown
	tasksReadAt    time.Time       // when tasks and name were read last
	stale          bool            // a write came after that read
	reassertCounts map[string]int  // by instance: how often it was registered again and deregistered
	returnedCount  int             // how many instances were registered again
	tasks          []ecs.Task      // of both variants, as of the last read
	primaryTasks   int             // how many of them, the first ones, are of the primary
	formerChecks   []string        // containers of the former revision that have a health check; nil: not read
}

var _ step.TaskRecords = (*traffic)(nil)

// Open returns the access of a step. It makes no call to AWS.
func Open(s *step.Step) step.Access {
	d := &traffic{step: s, seen: map[string]bool{}, reassertCounts: map[string]int{}}
	d.names = &cloudmap.Driver{Prefix: cloudmap.InstancePrefix(s.Deployment), Tasks: d.namedTasks,
		Stopped: d.stoppedTasks, SaveDeregistered: d.saveDeregistered, Deregistered: map[string]map[string]string{},
		SaveRegistered: d.saveRegistered, ResolveChange: d.applyRecordPolicy,
		KeepsPrimary: s.Plan.CanaryServesAtOnce(),
		Place:        cloudmap.Place{Cluster: s.Plan.Cluster, Service: s.Plan.Service, Region: s.Plan.Region}}
	d.names.Instances = cloudmap.InstanceClient{API: s.Account.CloudMap(), Registry: *s.Plan.Registry,
		Pause: s.PauseFor, Confirm: s.AwaitSecondRead, Token: d.newToken}
	return d
}

// newToken returns another client token each time, because an instance may be registered,
// deregistered and registered again.
func (d *traffic) newToken(action string) string {
	return d.step.ActionID(action + " at " + d.step.Clock.Now().UTC().Format(time.RFC3339Nano)).Token()
}

// RemoveStaleRecords deregisters records of canary tasks that stopped while no process ran.
func (d *traffic) RemoveStaleRecords(ctx context.Context) error {
	err := deregisterDead(ctx, d)
	warnUnknownInstances(d)
	return err
}

// IsNameDeleted reads whether the Cloud Map service is deleted. No caller can resolve the name then.
func (d *traffic) IsNameDeleted(ctx context.Context) (bool, error) {
	_, err := d.names.Instances.ListInstances(ctx)
	if sluice.KindOf(err) == sluice.NotFound {
		return true, nil
	}
	return false, err
}

// IsUnreachable returns false: whether callers can resolve the name takes a read.
func (d *traffic) IsUnreachable() bool { return false }

// deregisterDead deregisters records of tasks that do not run any more.
func deregisterDead(ctx context.Context, d *traffic) error {
	n, err := d.names.DeregisterDead(ctx, d.writeRecord)
	if n > 0 {
		d.step.EmitNote("deregistered %s of tasks that no longer run", sluice.Plural(n, "instance"))
	}
	return err
}

// AttachmentOf returns no registration by ECS for the canary: sluice registers its tasks. If the
// service also has a load balancer, the primary keeps its target group.
func (d *traffic) AttachmentOf(v sluice.Variant) ecs.Attachment {
	if v == sluice.Canary {
		return ecs.Attachment{Unregistered: true}
	}
	if g := d.step.Plan.Primary; g != nil {
		return ecs.Attachment{TargetGroup: g.ARN, Container: g.Container, Port: g.Port}
	}
	return ecs.Attachment{}
}

func (d *traffic) SavePlannedShift(ctx context.Context, to sluice.Weights) error {
	return step.SavePercentages(ctx, d.step, to)
}

// PrepareCanaryRoute keeps a registered canary at its size. ECS chooses which tasks to stop when it
// scales down, and it does not wait for callers.
func (d *traffic) PrepareCanaryRoute(ctx context.Context) error {
	saved, err := d.step.Memory.Names.Load(ctx)
	if err != nil || saved.MaintainedShare == 0 || d.step.Stage.Scale == 0 {
		return err
	}
	live, err := d.step.ObserveService(ctx)
	if err != nil || live.Desired == 0 {
		return err
	}
	canary, err := step.FindVariant(ctx, d.step, sluice.Canary)
	if err != nil || canary == nil {
		return err
	}
	now := step.PercentForCount(live.Desired, canary.Desired)
	if set := int(canary.Scale); (live.Desired*set+99)/100 == canary.Desired {
		now = set
	}
	if now <= d.step.Stage.Scale {
		return nil
	}
	d.step.EmitNote("the canary keeps %s: they are registered, and a scale of %d%% would stop some",
		sluice.Plural(canary.Desired, "task"), d.step.Stage.Scale)
	d.step.Stage.Scale = now
	return saveCanaryScale(ctx, d, *canary, now)
}

// saveCanaryScale saves that a canary has another scale than the plan's stage gave it. Otherwise
// that scale would count as drift.
func saveCanaryScale(ctx context.Context, d *traffic, canary step.Member, scale int) error {
	d.step.Expected = nil
	return d.step.Memory.External.Update(ctx, func(e *memory.External) { *e = e.WithScale(canary.ID, float64(scale)) })
}

// CanaryGetsTraffic is true if canary tasks are registered or about to be, or if primary tasks are
// deregistered to make their share.
func (d *traffic) CanaryGetsTraffic(ctx context.Context) (bool, error) {
	if err := refreshTasks(ctx, d); err != nil {
		return false, err
	}
	saved, err := d.step.Memory.Names.Load(ctx)
	return saved.MaintainedShare+d.names.CountRegistered()+d.names.LastRead().CountDeregistered() > 0, err
}

// WaitForPropagation waits for the name servers and then for the DNS TTL after the last
// deregistration. AWS reports neither.
func (d *traffic) WaitForPropagation(ctx context.Context) error {
	if _, ok, err := step.LoadShiftTime(ctx, d.step); err != nil || !ok {
		return err
	}
	forget := d.names.Instances.Registry.CacheExpiry()
	last := d.step.Clock.Now().Add(maxWaitTTLs * forget)
	return capacity.AwaitTime(ctx, d.step, capacity.TimedWait{For: "DNS caches to expire",
		Detail: d.names.Instances.Registry.FullName(),
		Until: func() (time.Time, error) {
			at, _, err := step.LoadShiftTime(ctx, d.step)
			if until := at.Add(forget); until.Before(last) {
				return until, err
			}
			return last, err
		}, Check: func(ctx context.Context) error { return deregisterStopping(ctx, d) },
		Interval: verdict.NextRemovalPoll(time.Minute)})
}

// deregisterStopping deregisters instances that were registered again while ECS told their tasks to
// stop. ECS had deregistered them before and does not do it again. While a share is maintained,
// [traffic.MaintainShare] does this.
func deregisterStopping(ctx context.Context, d *traffic) error {
	saved, err := d.step.Memory.Names.Load(ctx)
	if err != nil || saved.MaintainedShare > 0 && !d.names.IgnoresChanges {
		return err
	}
	return deregisterDead(ctx, d)
}

// maxWaitTTLs bounds the wait as a multiple of the TTL. Tasks may be registered briefly and
// deregistered again during the wait, which restarts the TTL.
const maxWaitTTLs = 3

func (d *traffic) ObserveTargets(ctx context.Context, w *step.MemberWatch, o *verdict.Observation) (err error) {
	o.Targets, err = targetStates(ctx, d, w.Member)
	return err
}

func (d *traffic) CountDraining(ctx context.Context, w *step.MemberWatch) (int, error) {
	found, err := registeredOf(ctx, d, w.Member)
	return len(found), err
}

// RestoreRoutes registers all primary tasks and deregisters the canary. It does not register a new
// primary that runs next to the former one. If another actor deregistered every primary task, also
// before any shift, RestoreRoutes registers them again, so that the name has records.
func (d *traffic) RestoreRoutes(ctx context.Context) error {
	if err := deregisterDead(ctx, d); err != nil {
		return err
	}
	sends, err := d.CanaryGetsTraffic(ctx)
	if err != nil {
		return err
	}
	warnSetUnhealthy(d)
	if sends && !d.step.HasAwaitedReadLag() { // a stage that was interrupted has just changed the name
		if err := d.step.AwaitReadLag(ctx); err != nil {
			return err
		}
		if err := refreshTasks(ctx, d); err != nil {
			return err
		}
	}
	switch {
	case d.names.LastRead().Pool().Primary == 0:
		return d.RouteAllToPrimary(ctx)
	case sends:
		return d.SetWeights(ctx, sluice.CanaryShare(0))
	}
	return nil
}

// warnSetUnhealthy names the primary's instances that another actor set UNHEALTHY, as of the last read.
func warnSetUnhealthy(d *traffic) {
	if ids := d.names.LastRead().SetUnhealthy(); len(ids) > 0 {
		d.step.EmitWarning("external change: %s of the primary under %s set UNHEALTHY (%s), although ECS reports "+
			"its tasks healthy. Callers are not sent to it. Set the status HEALTHY again, or stop the task, which ECS "+
			"replaces", sluice.Plural(len(ids), "instance"), d.names.Instances.Registry.FullName(),
			strings.Join(ids, ", "))
	}
}

// WeightOf is the share that the stages so far have given the variant.
func (d *traffic) WeightOf(v sluice.Variant) (share int, watched bool) {
	return step.PlannedWeight(d.step, v)
}
