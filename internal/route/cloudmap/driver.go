package cloudmap

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
func Own(deployment string) string {
	sum := sha256.Sum256([]byte(deployment))
	return OwnPrefix + hex.EncodeToString(sum[:8]) + "-"
}

// Driver shifts the traffic of one Cloud Map name. It implements [route.Driver]: the name is its
// only route.
type Driver struct {
	Names
	Place Place
	Own   string // see [InstancePrefix]
	// Tasks reads the tasks of both variants, and the desired count of the service.
	Tasks func(ctx context.Context) (all []Task, desired int, err error)
	// Stopped returns which of the tasks are stopping or have stopped. If Stopped is nil, no
	// orphaned instance is deregistered.
	Stopped func(ctx context.Context, tasks []string) ([]string, error)
	// Deregistered are the deregistered instances of the primary, with the attributes for
	// registering them again. SaveDeregistered saves them before they are deregistered.
	Taken map[string]map[string]string
	Keep  func(ctx context.Context, taken map[string]map[string]string) error

	// Registered are the canary instances that sluice registered. SaveRegistered saves them after
	// callers can resolve them, and before they are deregistered.
	In     map[string]bool
	KeepIn func(ctx context.Context) error
	// Unmanaged are instances whose state another actor set, registered or not. The driver keeps
	// that state.
	Theirs map[string]bool
	// ResolveChange decides about changes by other actors. It returns an error, or the driver
	// continues after [Driver.Reassert] was called or the instances are Unmanaged. If it is nil, a
	// change is an error.
	Answer func(ctx context.Context, o Outside) error

	// ExpectsCanary says that some canary instances must be registered. The driver reports one that
	// is not registered any more.
	Holds bool
	// IgnoresChanges ignores changes by other actors: a rollback restores everything anyway.
	Lenient bool

	live            scene           // of the last read
	seenOut, seenIn map[string]bool // instances, as reads have returned them
	left            map[string]bool // instances that must not be registered again
}

// CurrentSplit returns the number of registered, ready tasks of each variant in the last read.
func (d *Driver) Now() plan.Split { return now(d.live.members) }

// Pool returns the number of tasks that could be registered, as of the last read.
func (d *Driver) Pool() plan.Pool { return pool(d.live.members, d.live.desired) }

// UnknownInstances returns the instances of the last read that neither ECS nor sluice registered.
func (d *Driver) Foreign() []string { return d.live.foreign }

// RegisteredIDs returns the ids of a variant's registered instances in the last read, healthy or
// not.
func (d *Driver) Found(v sluice.Variant) (ids []string) {
	for _, m := range d.live.members {
		if m.Variant == v && m.in {
			ids = append(ids, m.instance)
		}
	}
	return ids
}

// CountDeregistered returns how many running tasks of the primary are deregistered, as of the last
// read.
func (d *Driver) Out() (n int) {
	for _, m := range d.live.members {
		if m.taken && !m.in {
			n++
		}
	}
	return n
}

// CountRegistered returns how many instances any deployment of sluice has registered, as of the
// last read.
func (d *Driver) Ours() (n int) {
	for _, i := range d.live.all {
		if isOwn(i, d.Place) {
			n++
		}
	}
	return n
}

// RegisterAllPrimary registers every healthy task of the primary and deregisters every instance
// that sluice registered. It is for a lost journal: the deregistered instances are not known then.
// It returns how many instances it changed.
func (d *Driver) Seize(ctx context.Context, act sluice.Act) (int, error) {
	s, err := d.look(ctx)
	if err != nil {
		return 0, err
	}
	var c change
	for _, m := range s.members {
		if m.Variant == sluice.Primary && m.Well && !m.in {
			d.Taken[m.instance] = m.Attributes(d.Registry, d.Place)
			c.back = append(c.back, m)
		}
	}
	if err := d.putIn(ctx, act, c); err != nil {
		return 0, err
	}
	var ours []string
	for _, i := range s.all {
		if isOwn(i, d.Place) {
			ours = append(ours, i.ID)
		}
	}
	slices.Sort(ours)
	if err := d.awaitOthers(ctx, ours); err != nil {
		return len(c.back), err
	}
	return len(ours) + len(c.back), d.Leave(ctx, act, sluice.Canary, ours)
}

// IsDiscoverable reports whether callers can be sent to a task of the primary, as of the last read.
// The task is registered, or it is healthy and this deployment or another actor deregistered it.
func (d *Driver) IsReady(task string) bool {
	return slices.ContainsFunc(d.live.members, func(m member) bool {
		aside := !m.in && m.Well && (m.theirs || d.Lenient && m.Age > enrolled)
		return m.Variant == sluice.Primary && m.ID == task && (m.ready() || aside)
	})
}

// IsUnhealthy reports whether a task of the canary is registered with status UNHEALTHY, as of the
// last read. sluice registered it HEALTHY, so another actor changed the status.
func (d *Driver) IsSick(task string) bool {
	return slices.ContainsFunc(d.live.members, func(m member) bool {
		return m.Variant == sluice.Canary && m.ID == task && m.in && !m.healthy
	})
}

// InstancesOf returns the ids under which a task is registered, as of the last read.
func (d *Driver) InstancesOf(task string) []string {
	var ids []string
	for id := range d.live.all {
		if id == task || strings.HasPrefix(id, OwnPrefix) && strings.HasSuffix(id, "-"+task) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// HasOthers reports whether instances other than ids remain registered, as of the last read,
// whichever tasks ECS stops.
func (d *Driver) Beside(ids []string) bool {
	in := map[string]bool{}
	for _, m := range d.live.members {
		in[m.instance] = m.in && !slices.Contains(ids, m.instance)
	}
	return remaining(d.live.members, in) > 0
}

// Observe reads tasks and instances, and returns the number of registered tasks.
func (d *Driver) Look(ctx context.Context) (plan.Split, error) {
	_, err := d.look(ctx)
	return d.Now(), err
}

// DeregisterIDs deregisters instances of a variant. This driver does not register them again. A
// rollback may register those of the primary again.
func (d *Driver) Leave(ctx context.Context, act sluice.Act, v sluice.Variant, ids []string) error {
	label := PrimaryInstances
	if v == sluice.Canary {
		label = CanaryInstances
	} else if err := d.intend(ctx, ids); err != nil {
		return err
	}
	if err := d.leaves(ctx, ids); err != nil {
		return err
	}
	return d.Deregister(ctx, act, label, ids)
}

// MarkStopping records that tasks of the primary are about to stop. The driver does not register
// them again, whether they are registered or not.
func (d *Driver) Part(tasks []string) {
	if d.left == nil {
		d.left = map[string]bool{}
	}
	for _, id := range tasks {
		d.left[id] = true
	}
}

// Routes returns the name as the only route. Its weights are valid only if they need no change: no
// other split of the tasks is closer, and no unhealthy instance must be deregistered.
func (d *Driver) Paths(ctx context.Context) ([]route.Path, error) {
	s, err := d.look(ctx)
	if err != nil {
		return nil, err
	}
	found := after(s.members, change{})
	if len(found) == 0 && len(s.members) == 0 {
		return nil, &sluice.Error{Op: "look at " + d.Registry.FullName(), Resource: d.Registry.ID, Kind: sluice.NotFound,
			Err: errors.New("no task of the service runs, so that nobody can be found"), Next: "see the service: sluice status"}
	}
	p := route.Path{ID: d.Registry.ARN, Name: d.Registry.FullName(), Print: printOf(found)}
	if n := now(s.members); n.All() > 0 && n.Canary*100%n.All() == 0 {
		if w := sluice.CanaryShare(n.Canary * 100 / n.All()); decide(s.members, s.desired, w).none() {
			p.Weights = w
		}
	}
	return []route.Path{p}, nil
}

// FingerprintAfter returns the fingerprint of the registered instances at the weights.
func (d *Driver) Intent(_ route.Path, to sluice.Weights) string {
	return printOf(after(d.live.members, decide(d.live.members, d.live.desired, to)))
}

func printOf(ids []string) string {
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
	return hex.EncodeToString(sum[:8])
}

// SetWeights changes the instances to match the weights. It first registers instances and waits
// until callers can resolve them, then it deregisters others, so the name is never empty. It saves
// the attributes of primary instances before it deregisters them.
func (d *Driver) Set(ctx context.Context, act sluice.Act, _ route.Path, to sluice.Weights) error {
	c := decide(d.live.members, d.live.desired, to)
	if to.Canary() > 0 && pool(d.live.members, d.live.desired).Canary == 0 {
		return &sluice.Error{Op: "let the canary be found under " + d.Registry.FullName(), Resource: d.Registry.ID, Kind: sluice.Conflict,
			Err: errors.New("no task of the canary is well"), Next: "see the canary: sluice status"}
	}
	return d.apply(ctx, act, c)
}

func (d *Driver) apply(ctx context.Context, act sluice.Act, c change) error {
	if err := d.putIn(ctx, act, c); err != nil {
		return err
	}
	return d.takeOut(ctx, act, c)
}

func (d *Driver) putIn(ctx context.Context, act sluice.Act, c change) error {
	var enter, back []Instance
	for _, m := range c.enter {
		delete(d.left, m.instance)
		enter = append(enter, Instance{ID: m.instance, Attributes: m.Attributes(d.Registry, d.Place)})
	}
	for _, m := range c.back {
		back = append(back, Instance{ID: m.instance, Attributes: d.Taken[m.instance]})
	}
	if err := d.Register(ctx, act, CanaryInstances, enter); err != nil {
		return err
	}
	if err := d.entered(ctx, enter); err != nil {
		return err
	}
	err := d.Register(ctx, act, PrimaryInstances, back)
	if err != nil && !errors.Is(err, route.ErrOtherwise) {
		return err
	}
	// A task that stopped during the registration does not remove the other instances from the
	// saved list.
	return errors.Join(err, d.forget(ctx, back))
}

// saveRegistered saves the canary instances that are registered now.
func (d *Driver) entered(ctx context.Context, all []Instance) error {
	if len(all) == 0 {
		return nil
	}
	if d.In == nil {
		d.In = map[string]bool{}
	}
	for _, i := range all {
		d.In[i.ID] = true
	}
	return d.keepIn(ctx)
}

func (d *Driver) keepIn(ctx context.Context) error {
	if d.KeepIn == nil {
		return nil
	}
	return d.KeepIn(ctx)
}

// clearDeregistered removes instances that are registered again from the saved deregistered ones.
func (d *Driver) forget(ctx context.Context, back []Instance) error {
	if len(back) == 0 {
		return nil
	}
	for _, i := range back {
		delete(d.Taken, i.ID)
		delete(d.seenOut, i.ID)
	}
	return d.Keep(ctx, d.Taken)
}

// ForgetDeregistered removes from the deregistered instances those that are registered in the last
// read. A process that registered them again may have been killed before it saved that.
func (d *Driver) Returned(ctx context.Context) error { return d.returned(ctx, nil) }

// forgetReturned is ForgetDeregistered without the members that are about to be deregistered.
func (d *Driver) returned(ctx context.Context, leave []member) error {
	var back []Instance
	for _, m := range d.live.members {
		if m.in && m.out && !slices.ContainsFunc(leave, func(l member) bool { return l.instance == m.instance }) {
			back = append(back, Instance{ID: m.instance})
		}
	}
	return d.forget(ctx, back)
}

func (d *Driver) takeOut(ctx context.Context, act sluice.Act, c change) error {
	var leave, out []string
	for _, m := range c.leave {
		leave = append(leave, m.instance)
	}
	if err := d.leaves(ctx, leave); err != nil {
		return err
	}
	for _, m := range c.takeOut {
		out = append(out, m.instance)
	}
	if err := d.intend(ctx, out); err != nil {
		return err
	}
	if err := d.Deregister(ctx, act, CanaryInstances, leave); err != nil {
		return err
	}
	err := d.Deregister(ctx, act, PrimaryInstances, out)
	if err == nil || errors.Is(err, route.ErrOtherwise) {
		d.WereOut(out)
	}
	return err
}

// markRemoved records that this driver deregisters the instances, because a later read may still
// return them.
func (d *Driver) leaves(ctx context.Context, ids []string) error {
	if d.left == nil {
		d.left = map[string]bool{}
	}
	n := len(d.In)
	for _, id := range ids {
		d.left[id] = true
		delete(d.seenIn, id)
		delete(d.In, id)
	}
	if len(d.In) == n {
		return nil
	}
	return d.keepIn(ctx)
}

// saveAttributes saves the attributes of instances that are about to be deregistered, as the last
// read returned them. It drops those of tasks that do not exist any more.
func (d *Driver) intend(ctx context.Context, out []string) error {
	if len(out) == 0 {
		return nil
	}
	stand := map[string]bool{}
	for _, m := range d.live.members {
		stand[m.instance] = true
	}
	maps.DeleteFunc(d.Taken, func(id string, _ map[string]string) bool { return !stand[id] })
	for _, id := range out {
		if i, ok := d.live.all[id]; ok {
			d.Taken[id] = i.Attributes
		}
	}
	return d.Keep(ctx, d.Taken)
}
