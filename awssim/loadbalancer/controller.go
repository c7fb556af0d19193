package loadbalancer

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Controller runs the load balancers of a world. Create one per world, before its first step.
type Controller struct {
	w      *world.World
	tables sync.Map // tableKey -> *atomic.Pointer[Table]
}

type tableKey struct {
	key world.Key
	arn string
}

// New adds the controller to a world.
func New(w *world.World) *Controller {
	l := &Controller{w: w}
	w.Watch(l.noteChange)
	w.OnStepEnd(l.publishChanges)
	w.OnNewRegion(func(tx *world.Tx) { l.dropTables(tx.Key) })
	for _, c := range invariants() {
		w.AddInvariant(c)
	}
	return l
}

// Table returns the current routing of a load balancer, or nil if the load balancer does not exist.
// It takes no lock of the world.
func (l *Controller) Table(key world.Key, loadBalancerARN string) *Table {
	if p, ok := l.tables.Load(tableKey{key, loadBalancerARN}); ok {
		return p.(*atomic.Pointer[Table]).Load()
	}
	return nil
}

func (l *Controller) storeTable(key world.Key, arn string, t *Table) {
	k := tableKey{key, arn}
	if t == nil {
		l.tables.Delete(k)
		return
	}
	p, _ := l.tables.LoadOrStore(k, new(atomic.Pointer[Table]))
	p.(*atomic.Pointer[Table]).Store(t)
}

// dropTables drops the tables of a Region that is created again.
func (l *Controller) dropTables(key world.Key) {
	l.tables.Range(func(k, _ any) bool {
		if k.(tableKey).key == key {
			l.tables.Delete(k)
		}
		return true
	})
}

// Follower receives, within the step, the changes that modelled callers need.
type Follower interface {
	// TablePublished reports that the load balancer routes by t from now on; nil means that it was
	// deleted.
	TablePublished(tx *world.Tx, t *Table)
	// ConnectionsClosed reports that a node of a Network Load Balancer closed its open connections
	// to a group, because the group's weight is 0.
	ConnectionsClosed(tx *world.Tx, group string, node int)
	// TaskChanged reports a change of a task behind one of its targets.
	TaskChanged(tx *world.Tx, t *world.Task)
}

// AddFollower reports every later change of a load balancer to f. Followers are called in the order
// in which they were added.
func (l *Controller) AddFollower(tx *world.Tx, loadBalancerARN string, f Follower) {
	s := stateOf(tx)
	s.followers[loadBalancerARN] = append(s.followers[loadBalancerARN], f)
}

// state is the private state of the controller in a Region.
type state struct {
	balancers map[string]*nodeState      // by ARN
	groups    map[string]*groupNote      // by ARN
	targets   map[string][]*world.Target // by target id, and by the task's ARN
	followers map[string][]Follower      // by load balancer ARN

	listeners queue[*world.Listener] // written, not yet sent to the nodes
	views     queue[*groupNote]      // to be built again
	publish   queue[*nodeState]
	tasks     queue[*world.Task]

	freeIndexes []int // indexes of released addresses
	addresses   int
}

func stateOf(tx *world.Tx) *state {
	s := world.PrivateState[state](tx.Region, "law balancer")
	if s.balancers == nil {
		s.balancers, s.groups = map[string]*nodeState{}, map[string]*groupNote{}
		s.targets, s.followers = map[string][]*world.Target{}, map[string][]Follower{}
	}
	return s
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

func (q *queue[T]) drop(x T) {
	delete(q.in, x)
	q.list = slices.DeleteFunc(q.list, func(y T) bool { return y == x })
}

func (q *queue[T]) takeAll() []T {
	list := q.list
	q.list = nil
	clear(q.in)
	return list
}

func (l *Controller) noteChange(tx *world.Tx, c world.Change) {
	s := stateOf(tx)
	switch o := c.Object.(type) {
	case *world.Target:
		l.targetChanged(tx, s, o)
	case *world.Task:
		l.taskChanged(tx, s, o)
	case *world.TargetGroup:
		l.groupChanged(tx, s, o)
	case *world.Listener:
		l.listenerChanged(tx, s, c.Kind, o)
	case *world.LoadBalancer:
		l.balancerChanged(tx, s, o)
	}
}

// publishChanges publishes the changes of the step. It changes no resource.
func (l *Controller) publishChanges(tx *world.Tx) {
	s := stateOf(tx)
	for _, n := range s.views.takeAll() {
		for _, b := range n.usedBy {
			b.updateGroupView(tx, n)
			s.publish.add(b)
		}
	}
	for _, b := range s.publish.takeAll() {
		l.publishTable(tx, s, b)
	}
	for _, t := range s.tasks.takeAll() {
		l.notifyTask(tx, s, t)
	}
}

func (l *Controller) publishTable(tx *world.Tx, s *state, b *nodeState) {
	var t *Table
	if !b.deleted {
		t = b.newTable(tx)
	}
	l.storeTable(tx.Key, b.lb.ARN, t)
	for _, f := range s.followers[b.lb.ARN] {
		f.TablePublished(tx, t)
	}
}

func (l *Controller) notifyTask(tx *world.Tx, s *state, t *world.Task) {
	var told []*nodeState
	for _, target := range s.targetsOfTask(t) {
		for _, b := range s.groupOf(target.Group).usedBy {
			if slices.Contains(told, b) {
				continue
			}
			told = append(told, b)
			for _, f := range s.followers[b.lb.ARN] {
				f.TaskChanged(tx, t)
			}
		}
	}
}
