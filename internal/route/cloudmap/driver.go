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

// Labels under which a plan lists the writes to instances.
const (
	CanaryInstances  = plan.CanaryInstances
	PrimaryInstances = plan.PrimaryInstances
)

// OwnPrefix begins the id of every instance that sluice registers.
const OwnPrefix = "slc-"

// Own begins the ids of the instances of one deployment.
func Own(deployment string) string {
	sum := sha256.Sum256([]byte(deployment))
	return OwnPrefix + hex.EncodeToString(sum[:8]) + "-"
}

// Driver steers one name. It implements [route.Driver]: the name is its only path.
type Driver struct {
	Names
	Place Place
	Own   string // see [Own]
	// Tasks reads the tasks of both variants, and the service's desired count.
	Tasks func(ctx context.Context) (all []Task, desired int, err error)
	// Stopped tells which of those tasks are to stop, or have; nil: nobody does.
	Stopped func(ctx context.Context, tasks []string) ([]string, error)
	// Taken are the primary's instances that are taken out, with the attributes
	// under which they are put back. Keep saves it before they are.
	Taken map[string]map[string]string
	Keep  func(ctx context.Context, taken map[string]map[string]string) error

	// In are the canary's instances that we registered. KeepIn saves them: once they
	// are found, and before they are taken out.
	In     map[string]bool
	KeepIn func(ctx context.Context) error
	// Theirs are instances that are as somebody else wants them and stay so, found or
	// not.
	Theirs map[string]bool
	// Answer says what follows from what others did: an error, or the driver goes on
	// once [Driver.Reassert] was called or the instances are Theirs. Nil: an error.
	Answer func(ctx context.Context, o Outside) error

	// Holds: some of the canary are to be found; that one is not any more is told.
	Holds bool
	// Lenient lets be what others did: a rollback brings everything back anyway.
	Lenient bool

	live            scene           // of the last look
	seenOut, seenIn map[string]bool // instances, as looks have shown them
	left            map[string]bool // that are not to come back
}

// Now is who was found at the last look, and Pool who could be.
func (d *Driver) Now() plan.Split { return now(d.live.members) }

// Pool is who could be found at the last look.
func (d *Driver) Pool() plan.Pool { return pool(d.live.members, d.live.desired) }

// Foreign are the instances, as of the last look, that are neither ECS's nor ours.
func (d *Driver) Foreign() []string { return d.live.foreign }

// Found are the ids of a variant's instances at the last look, well or not.
func (d *Driver) Found(v sluice.Variant) (ids []string) {
	for _, m := range d.live.members {
		if m.Variant == v && m.in {
			ids = append(ids, m.instance)
		}
	}
	return ids
}

// Out is how many tasks of the primary run and are taken out, as of the last look.
func (d *Driver) Out() (n int) {
	for _, m := range d.live.members {
		if m.taken && !m.in {
			n++
		}
	}
	return n
}

// Ours is how many instances any sluice has registered, as of the last look.
func (d *Driver) Ours() (n int) {
	for _, i := range d.live.all {
		if isOwn(i, d.Place) {
			n++
		}
	}
	return n
}

// Seize lets every well task of the primary be found, and nothing that sluice has
// registered, where nobody knows what was taken out. It returns how many instances
// it changed.
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

// IsReady reports whether callers can be sent to a task of the primary, as of the
// last look: it is found, or it was taken out, by whomever, and is well.
func (d *Driver) IsReady(task string) bool {
	return slices.ContainsFunc(d.live.members, func(m member) bool {
		aside := !m.in && m.Well && (m.theirs || d.Lenient && m.Age > enrolled)
		return m.Variant == sluice.Primary && m.ID == task && (m.ready() || aside)
	})
}

// IsSick reports whether a task of the canary is found, as of the last look, and its
// record says UNHEALTHY: somebody said so, since we registered it HEALTHY.
func (d *Driver) IsSick(task string) bool {
	return slices.ContainsFunc(d.live.members, func(m member) bool {
		return m.Variant == sluice.Canary && m.ID == task && m.in && !m.healthy
	})
}

// InstancesOf are the ids under which a task is registered, as of the last look.
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

// Beside reports whether callers find others than the instances, as of the last look,
// whichever tasks ECS stops.
func (d *Driver) Beside(ids []string) bool {
	in := map[string]bool{}
	for _, m := range d.live.members {
		in[m.instance] = m.in && !slices.Contains(ids, m.instance)
	}
	return remaining(d.live.members, in) > 0
}

// Look reads tasks and instances, and returns how many are found.
func (d *Driver) Look(ctx context.Context) (plan.Split, error) {
	_, err := d.look(ctx)
	return d.Now(), err
}

// Leave takes instances of a variant out that are not to come back while this
// driver works; one that returns to what was can put those of the primary back.
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

// Part remembers that tasks of the primary are about to stop: none of them is put
// back any more, found or not.
func (d *Driver) Part(tasks []string) {
	if d.left == nil {
		d.left = map[string]bool{}
	}
	for _, id := range tasks {
		d.left[id] = true
	}
}

// Paths is the name. Its weights are valid only if nothing need be done for them: no
// other split of the tasks would come nearer, and nobody who is not well is to leave.
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

// Intent is the fingerprint of who is found at the weights.
func (d *Driver) Intent(_ route.Path, to sluice.Weights) string {
	return printOf(after(d.live.members, decide(d.live.members, d.live.desired, to)))
}

func printOf(ids []string) string {
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
	return hex.EncodeToString(sum[:8])
}

// Set brings the name to the weights: what enters is registered and answered,
// then what leaves is deregistered, so that the name is never empty. That
// instances of the primary are taken out is saved before it is done.
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
	// A task that ended meanwhile does not make the others come back by themselves.
	return errors.Join(err, d.forget(ctx, back))
}

// entered saves which instances of the canary are found by now.
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

// forget drops from what is taken out what is found again.
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

// Returned forgets of what was taken out those that the last look has found: a process
// that put them back may have been killed before it forgot them.
func (d *Driver) Returned(ctx context.Context) error { return d.returned(ctx, nil) }

// returned leaves aside those that are about to be taken out.
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

// leaves remembers that it is us who take instances out: a look may still show
// them afterwards.
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

// intend saves the attributes of instances that are about to be taken out, as the
// look showed them that found them, and drops those of tasks that are gone.
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
