package cloudmap

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route"
)

// Names that plans use for instances in writes.
const (
	CanaryInstances  = plan.CanaryInstances
	PrimaryInstances = plan.PrimaryInstances
)

// OwnPrefix begins the id of every instance that sluice registers.
const OwnPrefix = "slc-"

// InstancePrefix returns the prefix of the instance ids of one deployment.
func InstancePrefix(deployment string) string {
	sum := sha256.Sum256([]byte(deployment))
	return OwnPrefix + hex.EncodeToString(sum[:8]) + "-"
}

// Driver shifts the traffic of one Cloud Map name. It implements [route.Driver]: the name is its
// only route.
type Driver struct {
	Instances InstanceClient
	Place     Place
	Prefix    string // see [InstancePrefix]
	// Tasks reads the tasks of both variants, and the desired count of the service.
	Tasks func(ctx context.Context) (all []Task, desired int, err error)
	// Stopped returns which of the tasks are stopping or have stopped. If Stopped is nil, no
	// orphaned instance is deregistered.
	Stopped func(ctx context.Context, tasks []string) ([]string, error)
	// Deregistered are the deregistered instances of the primary, with the attributes for
	// registering them again. SaveDeregistered saves them before they are deregistered.
	Deregistered     map[string]map[string]string
	SaveDeregistered func(ctx context.Context, taken map[string]map[string]string) error

	// Registered are the canary instances that sluice registered. SaveRegistered saves them after
	// callers can resolve them, and before they are deregistered.
	Registered     map[string]bool
	SaveRegistered func(ctx context.Context) error
	// Unmanaged are instances whose state another actor set, registered or not. The driver keeps
	// that state.
	Unmanaged map[string]bool
	// ResolveChange decides about changes by other actors. It returns an error, or the driver
	// continues after [Driver.Reassert] was called or the instances are Unmanaged. If it is nil, a
	// change is an error.
	ResolveChange func(ctx context.Context, o OutsideChange) error

	// ExpectsCanary says that some canary instances must be registered. The driver reports one that
	// is not registered any more.
	ExpectsCanary bool
	// KeepsPrimary says that the canary is registered in addition to every task of the primary.
	KeepsPrimary bool
	// IgnoresChanges ignores changes by other actors: a rollback restores everything anyway.
	IgnoresChanges bool

	lastState                        NameState       // of the last read
	seenDeregistered, seenRegistered map[string]bool // instances, as reads have returned them
	notReturning                     map[string]bool // instances that must not be registered again
}

// CountRegistered returns how many instances any deployment of sluice has registered, as of the
// last read.
func (d *Driver) CountRegistered() int { return len(d.ownInstances()) }

// ownInstances returns the ids of the instances that any deployment of sluice has registered, as of the last read.
func (d *Driver) ownInstances() (ids []string) {
	for _, i := range d.lastState.all {
		if isSluiceInstance(i, d.Place) {
			ids = append(ids, i.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// RegisterAllPrimary registers every healthy task of the primary and deregisters every instance
// that sluice registered. It is for a lost journal: the deregistered instances are not known then.
// It returns how many instances it changed.
func (d *Driver) RegisterAllPrimary(ctx context.Context, act sluice.Act) (int, error) {
	s, err := d.observeState(ctx)
	if err != nil {
		return 0, err
	}
	var c change
	for _, m := range s.members {
		if m.Variant == sluice.Primary && m.Healthy && !m.registered {
			d.Deregistered[m.instance] = m.Attributes(d.Instances.Registry, d.Place)
			c.returnPrimary = append(c.returnPrimary, m)
		}
	}
	if err := d.registerMembers(ctx, act, c); err != nil {
		return 0, err
	}
	ours := d.ownInstances()
	if err := d.checkOthersRemain(ctx, ours); err != nil {
		return len(c.returnPrimary), err
	}
	return len(ours) + len(c.returnPrimary), d.DeregisterIDs(ctx, act, sluice.Canary, ours)
}

// IsDiscoverable reports whether callers can be sent to a task of the primary, as of the last read.
// The task is registered, or it is healthy and this deployment or another actor deregistered it. In
// a rollback a healthy task counts as well that another actor set UNHEALTHY: ECS does not set its
// instance HEALTHY again, so no wait would end.
func (d *Driver) IsDiscoverable(task string) bool {
	return slices.ContainsFunc(d.lastState.members, func(m member) bool {
		aside := m.Healthy && (m.unmanaged && !m.registered || d.IgnoresChanges && m.Age > registrationLimit)
		return m.Variant == sluice.Primary && m.ID == task && (m.isReady() || aside)
	})
}

// Observe reads tasks and instances, and returns the number of registered tasks.
func (d *Driver) Observe(ctx context.Context) (plan.Split, error) {
	_, err := d.observeState(ctx)
	return d.lastState.Split(), err
}

// DeregisterIDs deregisters instances of a variant. This driver does not register them again. A
// rollback may register those of the primary again.
func (d *Driver) DeregisterIDs(ctx context.Context, act sluice.Act, v sluice.Variant, ids []string) error {
	label := PrimaryInstances
	if v == sluice.Canary {
		label = CanaryInstances
	} else if err := d.saveAttributes(ctx, ids); err != nil {
		return err
	}
	if err := d.markRemoved(ctx, ids); err != nil {
		return err
	}
	return d.Instances.Deregister(ctx, act, label, ids)
}

// MarkStopping records that tasks of the primary are about to stop. The driver does not register
// them again, whether they are registered or not.
func (d *Driver) MarkStopping(tasks []string) {
	if d.notReturning == nil {
		d.notReturning = map[string]bool{}
	}
	for _, id := range tasks {
		d.notReturning[id] = true
	}
}

// Routes returns the name as the only route. Its weights are valid only if they need no change: no
// other split of the tasks is closer, and no unhealthy instance must be deregistered.
func (d *Driver) Routes(ctx context.Context) ([]route.Route, error) {
	s, err := d.observeState(ctx)
	if err != nil {
		return nil, err
	}
	found := idsAfter(s.members, change{})
	if len(found) == 0 && len(s.members) == 0 {
		return nil, &sluice.Error{Op: "read " + d.Instances.Registry.FullName(), Resource: d.Instances.Registry.ID,
			Kind: sluice.NotFound,
			Err:  errors.New("no task of the service runs, so no instance can be registered"),
			Next: "run sluice status to see the service"}
	}
	p := route.Route{ID: d.Instances.Registry.ARN, Name: d.Instances.Registry.FullName(),
		Fingerprint: fingerprintOf(found)}
	if n := splitOf(s.members); n.Total() > 0 && n.Canary*100%n.Total() == 0 {
		w := sluice.CanaryShare(n.Canary * 100 / n.Total())
		if planChange(s.members, s.desired, w, d.KeepsPrimary).isEmpty() {
			p.Weights = w
		}
	}
	return []route.Route{p}, nil
}

// FingerprintAfter returns the fingerprint of the registered instances at the weights.
func (d *Driver) FingerprintAfter(_ route.Route, to sluice.Weights) string {
	return fingerprintOf(idsAfter(d.lastState.members, d.changeTo(to)))
}

// changeTo computes the change to the weights, as of the last read.
func (d *Driver) changeTo(to sluice.Weights) change {
	return planChange(d.lastState.members, d.lastState.desired, to, d.KeepsPrimary)
}

func fingerprintOf(ids []string) string {
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
	return hex.EncodeToString(sum[:8])
}

// SetWeights changes the instances to match the weights. It first registers instances and waits
// until callers can resolve them, then it deregisters others, so the name is never empty. It saves
// the attributes of primary instances before it deregisters them. It registers no canary for a part
// of the requests if the primary has no task for the rest, see [Driver.lacksPrimary].
func (d *Driver) SetWeights(ctx context.Context, act sluice.Act, _ route.Route, to sluice.Weights) error {
	c := d.changeTo(to)
	pool := d.lastState.Pool()
	refusal := sluice.Error{Op: "register the canary under " + d.Instances.Registry.FullName(),
		Resource: d.Instances.Registry.ID, Kind: sluice.Conflict}
	switch {
	case to.Canary() > 0 && pool.Canary == 0:
		refusal.Err, refusal.Next = errors.New("no task of the canary is healthy"), "run sluice status to see the canary"
	case to.Canary() > 0 && to.Primary() > 0 && d.lacksPrimary():
		refusal.Err = fmt.Errorf("requested %s, %w 0 tasks of the primary: callers would get only the canary", to,
			route.ErrMismatch) // a stale read looks the same
		refusal.Next = "run sluice rollback: it registers the tasks of the primary again"
	default:
		return d.applyChange(ctx, act, c)
	}
	return &refusal
}

// lacksPrimary reports whether callers would get only the canary, as of the last read. A canary that takes no task of
// the primary away may be registered beside an unhealthy one, but not in place of healthy tasks that are not
// registered.
func (d *Driver) lacksPrimary() bool {
	if !d.KeepsPrimary {
		return d.lastState.Pool().Primary == 0
	}
	is := func(of func(member) bool) bool {
		return slices.ContainsFunc(d.lastState.members, func(m member) bool { return m.Variant == sluice.Primary && of(m) })
	}
	return is(func(m member) bool { return m.Healthy }) && !is(func(m member) bool { return m.registered })
}

func (d *Driver) applyChange(ctx context.Context, act sluice.Act, c change) error {
	if err := d.registerMembers(ctx, act, c); err != nil {
		return err
	}
	return d.deregisterMembers(ctx, act, c)
}

func (d *Driver) registerMembers(ctx context.Context, act sluice.Act, c change) error {
	var enter, back []Instance
	for _, m := range c.addCanary {
		delete(d.notReturning, m.instance)
		enter = append(enter, Instance{ID: m.instance, Attributes: m.Attributes(d.Instances.Registry, d.Place)})
	}
	for _, m := range c.returnPrimary {
		back = append(back, Instance{ID: m.instance, Attributes: d.Deregistered[m.instance]})
	}
	if err := d.Instances.Register(ctx, act, CanaryInstances, enter); err != nil {
		return err
	}
	if err := d.saveRegistered(ctx, enter); err != nil {
		return err
	}
	err := d.Instances.Register(ctx, act, PrimaryInstances, back)
	if err != nil && !errors.Is(err, route.ErrMismatch) {
		return err
	}
	// A task that stopped during the registration does not remove the other instances from the
	// saved list.
	return errors.Join(err, d.clearDeregistered(ctx, back))
}

// saveRegistered saves the canary instances that are registered now.
func (d *Driver) saveRegistered(ctx context.Context, all []Instance) error {
	if len(all) == 0 {
		return nil
	}
	if d.Registered == nil {
		d.Registered = map[string]bool{}
	}
	for _, i := range all {
		d.Registered[i.ID] = true
	}
	return d.persistRegistered(ctx)
}

func (d *Driver) persistRegistered(ctx context.Context) error {
	if d.SaveRegistered == nil {
		return nil
	}
	return d.SaveRegistered(ctx)
}

// clearDeregistered removes instances that are registered again from the saved deregistered ones.
func (d *Driver) clearDeregistered(ctx context.Context, back []Instance) error {
	if len(back) == 0 {
		return nil
	}
	for _, i := range back {
		delete(d.Deregistered, i.ID)
		delete(d.seenDeregistered, i.ID)
	}
	return d.SaveDeregistered(ctx, d.Deregistered)
}

// ForgetDeregistered removes from the deregistered instances those that are registered. A process that registered
// them again may have been killed before it saved that. A second read confirms it, because an outdated response from
// before the deregistration looks the same.
func (d *Driver) ForgetDeregistered(ctx context.Context) error { return d.forgetReturned(ctx, nil) }

// forgetReturned is ForgetDeregistered without the members that are about to be deregistered.
func (d *Driver) forgetReturned(ctx context.Context, leave []member) error {
	first := d.returnedInstances(leave)
	if len(first) == 0 {
		return nil
	}
	if err := d.Instances.Pause(ctx, readLag); err != nil {
		return err
	}
	if _, err := d.observeState(ctx); err != nil {
		return err
	}
	return d.clearDeregistered(ctx, slices.DeleteFunc(d.returnedInstances(leave),
		func(i Instance) bool {
			return !slices.ContainsFunc(first, func(f Instance) bool { return f.ID == i.ID })
		}))
}

// returnedInstances returns the deregistered instances that the last read shows as registered, except those whose
// tasks are about to stop.
func (d *Driver) returnedInstances(leave []member) (back []Instance) {
	for _, m := range d.lastState.members {
		if m.registered && m.deregistered && !d.notReturning[m.instance] &&
			!slices.ContainsFunc(leave, func(l member) bool { return l.instance == m.instance }) {
			back = append(back, Instance{ID: m.instance})
		}
	}
	return back
}

func (d *Driver) deregisterMembers(ctx context.Context, act sluice.Act, c change) error {
	var leave, out []string
	for _, m := range c.removeCanary {
		leave = append(leave, m.instance)
	}
	if err := d.markRemoved(ctx, leave); err != nil {
		return err
	}
	for _, m := range c.removePrimary {
		out = append(out, m.instance)
	}
	if err := d.saveAttributes(ctx, out); err != nil {
		return err
	}
	if err := d.Instances.Deregister(ctx, act, CanaryInstances, leave); err != nil {
		return err
	}
	err := d.Instances.Deregister(ctx, act, PrimaryInstances, out)
	if err == nil || errors.Is(err, route.ErrMismatch) {
		d.NoteDeregistered(out)
	}
	return err
}

// markRemoved records that this driver deregisters the instances, because a later read may still
// return them.
func (d *Driver) markRemoved(ctx context.Context, ids []string) error {
	d.MarkStopping(ids)
	n := len(d.Registered)
	for _, id := range ids {
		delete(d.seenRegistered, id)
		delete(d.Registered, id)
	}
	if len(d.Registered) == n {
		return nil
	}
	return d.persistRegistered(ctx)
}

// saveAttributes saves the attributes of instances that are about to be deregistered, as the last
// read returned them. It drops those of tasks that do not exist any more.
func (d *Driver) saveAttributes(ctx context.Context, out []string) error {
	if len(out) == 0 {
		return nil
	}
	stand := map[string]bool{}
	for _, m := range d.lastState.members {
		stand[m.instance] = true
	}
	maps.DeleteFunc(d.Deregistered, func(id string, _ map[string]string) bool { return !stand[id] })
	for _, id := range out {
		if i, ok := d.lastState.all[id]; ok {
			d.Deregistered[id] = i.Attributes
		}
	}
	return d.SaveDeregistered(ctx, d.Deregistered)
}
