package dataplane

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-ecs/sluice/awssim/balancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Callbacks connect the data plane to the world's controllers. All of them are required.
type Laws struct {
	// Table returns the current routing of a load balancer; nil means that it was deleted. It is
	// called for every request and takes no lock.
	Table func(key world.Key, balancer string) *balancer.Table
	// Bound reports where a listener's socket is; "" means that it has none. Port 0 names no
	// listener: the load balancer has a data plane now.
	Bound func(key world.Key, balancer string, port int32, address string)
	// Probed reports the result of a health check: the status, or 0 and an error.
	Probed func(e world.ProbeTarget, status int, err error)
	// Exited reports that a program of the host has ended.
	Exited func(key world.Key, task, container string, code int)
}

// Options configure a plane.
type Options struct {
	World *world.World
	Clock world.Clock
	Seed  uint64
	Laws  Laws
}

// Plane carries out the effects of one world.
type Plane struct {
	world     *world.World
	clock     world.Clock
	laws      Laws
	seed      uint64
	drawn     atomic.Uint64
	todo      *queue[any] // world.Effect, ending and func(), in the world's order
	processes *processes
	fronts    *fronts
	budget    *budget
	traffic   *traffic
	dialer    net.Dialer

	ctx        context.Context
	cancel     context.CancelFunc
	dispatched chan struct{} // closed when no more effects are carried out
	mu         sync.Mutex    // guards closed, so that no goroutine starts after Close
	closed     bool
	wg         sync.WaitGroup
}

// Start creates a plane, takes over the existing resources of the world, and begins to carry out
// effects. Until Close it is the world's sink.
func Start(o Options) *Plane {
	p := &Plane{
		world: o.World, clock: o.Clock, laws: o.Laws, seed: o.Seed, todo: newQueue[any](),
		processes: newProcesses(), budget: newBudget(fileLimit()), traffic: &traffic{},
		dialer: net.Dialer{Timeout: connectTimeout}, dispatched: make(chan struct{}),
	}
	p.fronts = newFronts(p)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	o.World.Sink(func(e world.Effect) { p.todo.put(e) })
	o.World.Each(p.adopt)
	p.run(p.dispatch)
	p.run(p.fronts.sweep)
	return p
}

// Close stops carrying out effects, closes every socket, ends every program of
// the host and waits for all of it.
func (p *Plane) Close() {
	p.world.Sink(nil)
	p.cancel()
	<-p.dispatched // from here on no socket is opened
	p.fronts.close()
	p.killAll(p.processes.tasks())
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.wg.Wait()
}

// Flush waits until all effects that the world has emitted so far are carried out.
func (p *Plane) Flush(ctx context.Context) error {
	done := make(chan struct{})
	p.todo.put(func() { close(done) })
	select {
	case <-done:
		return nil
	case <-p.ctx.Done():
		return net.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// runAsync runs f in a goroutine; Close waits for it. After Close it starts no goroutine.
func (p *Plane) run(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.wg.Add(1)
	go func() {
		defer p.wg.Done()
		f()
	}()
}

// runAfter runs f after d by the clock, unless the plane is closed.
func (p *Plane) after(d time.Duration, f func()) {
	till := p.clock.Now().Add(d)
	p.run(func() {
		if p.clock.Sleep(p.ctx, till.Sub(p.clock.Now())) == nil {
			f()
		}
	})
}

// nextRandom returns the next number of a seeded sequence in [0,1). Concurrent requests get their
// numbers in any order, as with any real load balancer.
func (p *Plane) draw() float64 {
	x := p.seed + p.drawn.Add(1)*0x9e3779b97f4a7c15
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return float64(x>>11) / (1 << 53)
}

func (p *Plane) dispatch() {
	defer close(p.dispatched)
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.todo.ready:
		}
		for _, e := range p.todo.take() {
			if p.ctx.Err() != nil {
				return
			}
			p.carryOut(e)
		}
	}
}

func (p *Plane) carryOut(e any) {
	switch e := e.(type) {
	case func():
		e()
	case ending:
		p.end(e)
	case world.StartProcess:
		p.startProcess(e)
	case world.SignalProcess:
		p.signal(e)
	case world.ProbeTarget:
		p.run(func() { p.probe(e) })
	case world.ListenersChanged:
		p.fronts.follow(e)
	case world.TargetGone:
		p.fronts.gone(e)
	case world.Vanished:
		p.vanish(e.Key)
	}
}

// Watch handles tasks that end by themselves, for which the world emits no effect. The owner of the
// world registers it with [world.World.Watch] before the first step.
func (p *Plane) Watch(_ *world.Tx, c world.Change) {
	t, ok := c.Object.(*world.Task)
	if !ok {
		return
	}
	if t.LastStatus == "STOPPED" {
		p.todo.put(ending{task: t.ARN})
		return
	}
	for _, c := range t.Containers {
		if c.Status == "STOPPED" {
			p.todo.put(ending{t.ARN, c.Spec.Name, !t.SignalledAt.IsZero()})
		}
	}
}

// containerEnd is a container or a whole task that ended.
type ending struct {
	task, container string
	asked           bool // ended after SIGTERM: open requests are finished
}

func (p *Plane) end(e ending) {
	if e.container == "" {
		p.killAll([]string{e.task})
		return
	}
	if c := p.processes.one(e.task, e.container); c != nil {
		c.exit(e.asked)
	}
}

func (p *Plane) startProcess(e world.StartProcess) {
	c := p.processes.add(e, func() process {
		if len(e.Behaviour.Command) > 0 {
			return newProgram(p, e)
		}
		return newServed(p, e)
	})
	if c != nil && p.budget.roomForEager() {
		c.open()
	}
}

func (p *Plane) signal(e world.SignalProcess) {
	if e.Kill {
		p.killAll([]string{e.Task})
		return
	}
	for _, c := range p.processes.of(e.Task) {
		c.term()
	}
}

func (p *Plane) killAll(tasks []string) {
	for _, task := range tasks {
		for _, c := range p.processes.forget(task) {
			c.kill()
		}
	}
}

// dropRegion ends all processes and sockets of a Region.
func (p *Plane) vanish(key world.Key) {
	var gone []string
	for _, task := range p.processes.tasks() {
		if regionOf(task) == key {
			gone = append(gone, task)
		}
	}
	p.killAll(gone)
	p.fronts.vanish(key)
}

// takeOverWorld takes over the resources that exist before the data plane. It queues the effects
// that would have created them.
func (p *Plane) adopt(tx *world.Tx) {
	for _, lb := range tx.LoadBalancers.All() {
		e := world.ListenersChanged{Key: tx.Key, Balancer: lb.ARN, Address: lb.Address, Ports: map[int32]string{}}
		if lb.State == "active" && lb.Type != "network" {
			for _, l := range lb.Listeners {
				e.Ports[l.Port] = l.ARN
			}
		}
		// Its DNS name was Amazon's, which must not be looked up from here.
		p.todo.put(func() { p.laws.Bound(e.Key, e.Balancer, 0, "") })
		p.todo.put(e)
	}
	for _, t := range tx.Tasks.All() {
		p.adoptTask(tx, t)
	}
}

func (p *Plane) adoptTask(tx *world.Tx, t *world.Task) {
	for _, c := range t.Containers {
		if c.Status == "RUNNING" {
			p.todo.put(startOf(tx, t, c))
		}
	}
	if !t.SignalledAt.IsZero() && t.LastStatus != "STOPPED" {
		p.todo.put(world.SignalProcess{Key: tx.Key, Task: t.ARN})
	}
}

func startOf(tx *world.Tx, t *world.Task, c *world.Container) world.StartProcess {
	e := world.StartProcess{
		Key: tx.Key, Task: t.ARN, TaskID: t.ID, Container: c.Spec.Name, Address: t.Address, Behaviour: c.Behaviour,
		Environment: c.Spec.Environment, StopTimeout: c.Spec.StopTimeout, At: t.StartedAt,
	}
	if t.Service != nil {
		e.Service = t.Service.Name
	}
	for _, port := range c.Spec.Ports {
		if c.Behaviour.Listens(port.Container) {
			e.Ports = append(e.Ports, port.Container)
		}
	}
	return e
}

// SocketAddress returns the real address of a container's port as "host:port". It returns "" if no
// container has that address of the simulated network, or its socket is not open.
func (p *Plane) Address(at netip.AddrPort) string {
	switch c := p.processes.at(at).(type) {
	case *served:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.sockets[int32(at.Port())]
	case *program:
		return c.address(int32(at.Port()))
	}
	return ""
}

// OpenRequests returns the number of requests in flight to targets.
func (p *Plane) Open() int { return p.fronts.flights.len() }
