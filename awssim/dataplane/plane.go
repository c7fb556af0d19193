package dataplane

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Callbacks connect the data plane to the world's controllers. All of them are required.
type Callbacks struct {
	// Table returns the current routing of a load balancer; nil means that it was deleted. It is
	// called for every request and takes no lock.
	Table func(key world.Key, balancer string) *loadbalancer.Table
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
	World     *world.World
	Clock     world.Clock
	Seed      uint64
	Speed     float64 // of the clock, times the machine's; 0 is 1
	Callbacks Callbacks
}

// Plane carries out the effects of one world.
type Plane struct {
	world       *world.World
	clock       world.Clock
	callbacks   Callbacks
	seed        uint64
	speed       float64
	randomCount atomic.Uint64
	todo        *queue[any] // world.Effect, ending and func(), in the world's order
	processes   *processes
	sockets     *listenerSockets
	budget      *socketBudget
	traffic     *trafficCounts
	dialer      net.Dialer

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
		world: o.World, clock: o.Clock, callbacks: o.Callbacks, seed: o.Seed,
		speed: cmp.Or(o.Speed, 1), todo: newQueue[any](),
		processes: newProcesses(), budget: newBudget(fileLimit()), traffic: &trafficCounts{},
		dialer: net.Dialer{Timeout: connectTimeout}, dispatched: make(chan struct{}),
	}
	p.sockets = newListenerSockets(p)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	o.World.SetSink(func(e world.Effect) { p.todo.put(e) })
	o.World.Each(p.takeOverWorld)
	p.runAsync(p.dispatchEffects)
	p.runAsync(p.sockets.sweepIdle)
	return p
}

// Close stops carrying out effects, closes every socket, ends every program of
// the host and waits for all of it.
func (p *Plane) Close() {
	p.world.SetSink(nil)
	p.cancel()
	<-p.dispatched // from here on no socket is opened
	p.sockets.closeAll()
	p.killAll(p.processes.taskARNs())
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
func (p *Plane) runAsync(f func()) {
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
func (p *Plane) runAfter(d time.Duration, f func()) {
	till := p.clock.Now().Add(d)
	p.runAsync(func() {
		if p.clock.Sleep(p.ctx, till.Sub(p.clock.Now())) == nil {
			f()
		}
	})
}

// nextRandom returns the next number of a seeded sequence in [0,1). Concurrent requests get their
// numbers in any order, as with any real load balancer.
func (p *Plane) nextRandom() float64 {
	x := p.seed + p.randomCount.Add(1)*0x9e3779b97f4a7c15
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return float64(x>>11) / (1 << 53)
}

func (p *Plane) dispatchEffects() {
	defer close(p.dispatched)
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.todo.ready:
		}
		for _, e := range p.todo.takeAll() {
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
	case containerEnd:
		p.endContainer(e)
	case world.StartProcess:
		p.startProcess(e)
	case world.SignalProcess:
		p.signalTask(e)
	case world.ProbeTarget:
		p.runAsync(func() { p.probeTarget(e) })
	case world.ListenersChanged:
		p.sockets.syncListeners(e)
	case world.TargetGone:
		p.sockets.closeTarget(e)
	case world.ConnectionsClosed:
		p.sockets.closeGroup(e)
	case world.RegionReset:
		p.dropRegion(e.Key)
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
		p.todo.put(containerEnd{task: t.ARN})
		return
	}
	for _, c := range t.Containers {
		if c.Status == "STOPPED" {
			p.todo.put(containerEnd{t.ARN, c.Spec.Name, !t.SignalledAt.IsZero()})
		}
	}
}

// containerEnd is a container or a whole task that ended.
type containerEnd struct {
	task, container string
	afterTerm       bool // ended after SIGTERM: open requests are finished
}

func (p *Plane) endContainer(e containerEnd) {
	if e.container == "" {
		p.killAll([]string{e.task})
		return
	}
	if c := p.processes.processOf(e.task, e.container); c != nil {
		c.endByItself(e.afterTerm)
	}
}

func (p *Plane) startProcess(e world.StartProcess) {
	c := p.processes.addContainer(e, func() process {
		if len(e.Behaviour.Command) > 0 {
			return newHostProgram(p, e)
		}
		return newBuiltInTask(p, e)
	})
	if c != nil && p.budget.allowsEager() {
		c.openSockets()
	}
}

func (p *Plane) signalTask(e world.SignalProcess) {
	if e.Kill {
		p.killAll([]string{e.Task})
		return
	}
	for _, c := range p.processes.processesOf(e.Task) {
		c.term()
	}
}

func (p *Plane) killAll(tasks []string) {
	for _, task := range tasks {
		for _, c := range p.processes.removeTask(task) {
			c.kill()
		}
	}
}

// dropRegion ends all processes and sockets of a Region.
func (p *Plane) dropRegion(key world.Key) {
	var gone []string
	for _, task := range p.processes.taskARNs() {
		if regionOf(task) == key {
			gone = append(gone, task)
		}
	}
	p.killAll(gone)
	p.sockets.closeRegion(key)
}

// takeOverWorld takes over the resources that exist before the data plane. It queues the effects
// that would have created them.
func (p *Plane) takeOverWorld(tx *world.Tx) {
	for _, lb := range tx.LoadBalancers.All() {
		e := world.ListenersChanged{Key: tx.Key, Balancer: lb.ARN, Network: lb.Type == "network", Address: lb.Address,
			Ports: map[int32]string{}}
		if lb.State == "active" {
			for _, l := range lb.Listeners {
				e.Ports[l.Port] = l.ARN
			}
		}
		// Its DNS name was Amazon's, which must not be looked up from here.
		p.todo.put(func() { p.callbacks.Bound(e.Key, e.Balancer, 0, "") })
		p.todo.put(e)
	}
	for _, t := range tx.Tasks.All() {
		p.takeOverTask(tx, t)
	}
}

func (p *Plane) takeOverTask(tx *world.Tx, t *world.Task) {
	for _, c := range t.Containers {
		if c.Status == "RUNNING" {
			p.todo.put(startEffectOf(tx, t, c))
		}
	}
	if !t.SignalledAt.IsZero() && t.LastStatus != "STOPPED" {
		p.todo.put(world.SignalProcess{Key: tx.Key, Task: t.ARN})
	}
}

func startEffectOf(tx *world.Tx, t *world.Task, c *world.Container) world.StartProcess {
	e := world.StartProcess{
		Key: tx.Key, Task: t.ARN, TaskID: t.ID, Container: c.Spec.Name, Address: t.Address, Behaviour: c.Behaviour,
		Environment: c.Spec.Environment, StopTimeout: c.Spec.StopTimeout, At: c.StartedAt,
	}
	if t.Service != nil {
		e.Service = t.Service.Name
	}
	e.Ports, e.OwnPorts = c.ListeningPorts()
	return e
}

// SocketAddress returns the real address of a container's port as "host:port". It returns "" if no
// container has that address of the simulated network, or its socket is not open.
func (p *Plane) SocketAddress(at netip.AddrPort) string {
	switch c := p.processes.processAt(at).(type) {
	case *builtInTask:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.sockets[int32(at.Port())]
	case *hostProgram:
		return c.hostAddress(int32(at.Port()))
	}
	return ""
}

// OpenRequests returns the number of requests in flight to targets.
func (p *Plane) OpenRequests() int { return p.sockets.inFlight.len() }
