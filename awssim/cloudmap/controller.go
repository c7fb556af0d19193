package cloudmap

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Controller runs Cloud Map in a world. Create one per world, before its first step.
type Controller struct {
	tables   atomic.Pointer[[]*Table] // of every Region, in the order of creation
	failFunc func(tx *world.Tx, call string) bool
}

// New adds the controller to a world.
func New(w *world.World) *Controller {
	l := &Controller{}
	l.tables.Store(&[]*Table{})
	w.Watch(l.noteChange)
	w.OnStepEnd(l.publishChanges)
	w.OnNewRegion(func(tx *world.Tx) { l.dropTables(tx.Key) })
	for _, c := range invariants() {
		w.AddInvariant(c)
	}
	return l
}

// Tables returns all namespaces as callers see them now. It takes no lock of the world.
func (l *Controller) Tables() []*Table { return *l.tables.Load() }

// Table returns the namespace of that name as callers see it now, or nil. It takes no lock of the
// world.
func (l *Controller) Table(key world.Key, namespace string) *Table {
	for _, t := range l.Tables() {
		if t.Key == key && strings.EqualFold(t.Name, namespace) {
			return t
		}
	}
	return nil
}

// LookUp returns the namespace, the service and the instance that a DNS name names. Each is nil or
// "" if it does not exist. If two Regions have the name, the first one answers.
func (l *Controller) LookUp(name string) (t *Table, e *Entry, instance string) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	for _, x := range l.Tables() {
		if x.HasDNS() && isWithin(name, x.Name) && (t == nil || len(x.Name) > len(t.Name)) {
			t = x
		}
	}
	if t == nil {
		return nil, nil, ""
	}
	rest := strings.TrimSuffix(strings.TrimSuffix(name, strings.ToLower(t.Name)), ".")
	if e = t.Entry(rest); e != nil {
		return t, e, ""
	}
	instance, rest, _ = strings.Cut(rest, ".")
	if e = t.Entry(rest); e == nil {
		return t, nil, ""
	}
	return t, e, instance
}

func isWithin(name, namespace string) bool {
	namespace = strings.ToLower(namespace)
	return name == namespace || strings.HasSuffix(name, "."+namespace)
}

// Follower receives, within the step, the changes that modelled callers need.
type Follower interface {
	// TablePublished reports that callers see the namespace as t from now on; nil means that it was
	// deleted.
	TablePublished(tx *world.Tx, t *Table)
	// TaskChanged reports a change of a task.
	TaskChanged(tx *world.Tx, t *world.Task)
}

// AddFollower reports every later change of the namespace, and of every task, to f. Followers are
// called in the order in which they were added.
func (l *Controller) AddFollower(tx *world.Tx, namespace string, f Follower) {
	s := stateOf(tx)
	s.followers = append(s.followers, follower{strings.ToLower(namespace), f})
}

type follower struct {
	namespace string
	Follower
}

// state is the private state of the controller in a Region.
type state struct {
	served        map[string]*servedNames // by registry ARN
	written       queue[*world.Registry]
	publish       queue[*world.Namespace]
	tasks         queue[*world.Task]
	followers     []follower
	operations    world.Ordered[*Operation]
	pending       map[string]*Operation // by resource
	pendingHealth map[*world.Instance]pendingHealth
}

// servedNames are the records of a registry at the name servers.
type servedNames struct {
	writes, reachedWrite int
	served               []*View
}

func stateOf(tx *world.Tx) *state {
	s := world.PrivateState[state](tx.Region, "law registry")
	if s.served == nil {
		s.served, s.pending, s.pendingHealth = map[string]*servedNames{}, map[string]*Operation{},
			map[*world.Instance]pendingHealth{}
	}
	return s
}

func (s *state) servedOf(r *world.Registry) *servedNames {
	n := s.served[r.ARN]
	if n == nil {
		n = &servedNames{}
		s.served[r.ARN] = n
	}
	return n
}

func (l *Controller) noteChange(tx *world.Tx, c world.Change) {
	s := stateOf(tx)
	switch o := c.Object.(type) {
	case *world.Task:
		if len(s.followers) > 0 {
			s.tasks.add(o)
		}
	case *world.Instance:
		s.written.add(o.Registry)
		s.publish.add(o.Registry.Namespace)
	case *world.Registry:
		if o.Deleted {
			delete(s.served, o.ARN)
		}
		s.publish.add(o.Namespace)
	case *world.Namespace:
		s.publish.add(o)
	}
}

// publishChanges publishes the changes of the step. It changes no resource.
func (l *Controller) publishChanges(tx *world.Tx) {
	s := stateOf(tx)
	for _, r := range s.written.takeAll() {
		l.sendInstances(tx, s, r)
	}
	for _, n := range s.publish.takeAll() {
		l.publishTable(tx, s, n)
	}
	for _, t := range s.tasks.takeAll() {
		for _, f := range s.followers {
			f.TaskChanged(tx, t)
		}
	}
}

// sendInstances sends a registry's instances to the name servers, which serve them after a random
// delay. The newest write wins, whatever the order of arrival.
func (l *Controller) sendInstances(tx *world.Tx, s *state, r *world.Registry) {
	if r.Deleted {
		return
	}
	n, k := s.servedOf(r), tx.Settings().DNSPropagation
	n.writes++
	number, views := n.writes, viewsOf(r)
	delay := tx.RandomBetween(k.Min, k.Max, "dns propagation", r.ARN, number)
	if delay == 0 {
		n.reachedWrite, n.served = number, views
		return
	}
	tx.After(delay, func(tx *world.Tx) {
		if number > n.reachedWrite && !r.Deleted {
			n.reachedWrite, n.served = number, views
			tx.Changed(world.NamesChanged, r)
		}
	})
}

func viewsOf(r *world.Registry) []*View {
	var all []*View
	for _, i := range r.Instances.All() {
		all = append(all, viewOf(i))
	}
	return all
}

func viewOf(i *world.Instance) *View {
	v := &View{ID: i.ID, CNAME: i.Attributes[world.AttributeCNAME], Healthy: i.Health == "HEALTHY",
		Attributes: i.Attributes}
	v.Address, _ = netip.ParseAddr(i.Attributes[world.AttributeIPv4])
	v.V6, _ = netip.ParseAddr(i.Attributes[world.AttributeIPv6])
	port, _ := strconv.ParseUint(i.Attributes[world.AttributePort], 10, 16)
	v.Port = int32(port)
	return v
}

// publishTable publishes the current state of a namespace to callers.
func (l *Controller) publishTable(tx *world.Tx, s *state, n *world.Namespace) {
	var t *Table
	if !n.Deleted {
		t = tableOf(tx, s, n)
	}
	l.storeTable(tx.Key, n.ID, t)
	for _, f := range s.followers {
		if f.namespace == strings.ToLower(n.Name) {
			f.TablePublished(tx, t)
		}
	}
}

func tableOf(tx *world.Tx, s *state, n *world.Namespace) *Table {
	t := &Table{Key: tx.Key, ID: n.ID, Name: n.Name, Kind: n.Kind, At: tx.Now()}
	for _, r := range n.Registries.All() {
		t.entries = append(t.entries, &Entry{
			ID: r.ID, ARN: r.ARN, Name: r.Name, Namespace: n.Name, Records: slices.Clone(r.Records),
			Weighted:        r.Weighted,
			HasCustomHealth: r.HasCustomHealth, Revision: r.Revision, registered: viewsOf(r),
			served: s.servedOf(r).served,
		})
	}
	slices.SortStableFunc(t.entries, func(a, b *Entry) int { return cmp.Compare(a.Name, b.Name) })
	return t
}

// storeTable replaces a namespace's table; nil removes it.
func (l *Controller) storeTable(key world.Key, id string, t *Table) {
	list := slices.Clone(l.Tables())
	i := slices.IndexFunc(list, func(x *Table) bool { return x.Key == key && x.ID == id })
	switch {
	case i >= 0 && t == nil:
		list = slices.Delete(list, i, i+1)
	case i >= 0:
		list[i] = t
	case t != nil:
		list = append(list, t)
	}
	l.tables.Store(&list)
}

// dropTables drops the tables of a Region that is created again.
func (l *Controller) dropTables(key world.Key) {
	list := slices.DeleteFunc(slices.Clone(l.Tables()), func(t *Table) bool { return t.Key == key })
	l.tables.Store(&list)
}

// queue holds each value once, in the order in which they were first added.
type queue[T comparable] struct {
	in   map[T]bool
	list []T
}

func (q *queue[T]) add(x T) {
	if q.in == nil {
		q.in = map[T]bool{}
	}
	if !q.in[x] {
		q.in[x] = true
		q.list = append(q.list, x)
	}
}

func (q *queue[T]) takeAll() []T {
	list := q.list
	q.list = nil
	clear(q.in)
	return list
}
