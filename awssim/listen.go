package awssim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/dataplane"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Listening is a simulator that serves sockets.
type Listening struct {
	sim           *Sim
	listener      net.Listener
	server        *http.Server
	ctx           context.Context
	cancel        context.CancelFunc
	wg            sync.WaitGroup
	closeOnce     sync.Once
	stopAfterFunc func() bool // stops ctx's AfterFunc
	pump          *pump
	dns           *dataplane.DNS
}

// ErrRemote is wrapped by the error for an address outside loopback, unless [Options.AllowRemote]
// is set.
var ErrRemote = errors.New(
	"only loopback addresses such as 127.0.0.1:4566, because the simulator has no authentication")

// Listen serves the APIs and /_sluice/ at addr ("127.0.0.1:0" chooses a port). From then on the
// world follows the clock by itself, and the sockets of load balancers and tasks are open. It ends
// at Close or with ctx. An address outside loopback is rejected unless [Options.AllowRemote] is
// set.
func (s *Sim) Listen(ctx context.Context, addr string) (*Listening, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listening != nil {
		return nil, fmt.Errorf("listen at %s: the simulator listens at %s already; close that first", addr,
			s.listening.Addr())
	}
	named := cmp.Or(s.options.DNS, "127.0.0.1:0")
	if err := cmp.Or(s.checkAddress(addr), s.checkAddress(named)); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", addr, err)
	}
	names, err := dataplane.ListenDNS(named, s.lookUpName, s.options.Seed)
	if err == nil {
		if err = s.rebuildForSockets(); err != nil {
			names.Close()
		}
	}
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	at := &Listening{sim: s, listener: l, dns: names}
	at.ctx, at.cancel = context.WithCancel(context.Background())
	at.server = &http.Server{
		Handler: rejectOtherHosts(s.Handler(), l.Addr()), ReadHeaderTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return at.ctx },
	}
	s.listening = at
	address := names.Addr()
	s.dns.Store(&address)
	at.startGeneration(s.current.Load())
	at.wg.Go(func() { _ = at.server.Serve(l) })
	at.stopAfterFunc = context.AfterFunc(ctx, at.Close)
	return at, nil
}

// rebuildForSockets builds the world of the file again if it has images that are not modelled:
// without sockets they counted as healthy.
func (s *Sim) rebuildForSockets() error {
	if s.file == nil || !s.hasUnmodelledImages(s.file) {
		return nil
	}
	e, err := s.buildWorld(s.file, true)
	if err != nil {
		return err
	}
	s.current.Store(e)
	return nil
}

// checkAddress rejects an address outside loopback, unless AllowRemote is set.
func (s *Sim) checkAddress(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen at %q: %w", addr, err)
	}
	if s.options.AllowRemote || isLoopback(host) {
		return nil
	}
	return fmt.Errorf("listen at %q: %w", addr, ErrRemote)
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// Addr returns the address of the APIs, as "host:port".
func (l *Listening) Addr() string { return l.listener.Addr().String() }

// DNS returns the address of the name server for Cloud Map's namespaces, over UDP and TCP, as
// "host:port". It stays the same through [Sim.Load] and [Sim.Reset].
func (l *Listening) DNS() string { return l.dns.Addr() }

// Dial connects to an address of a task. The task's socket may be at another address.
func (l *Listening) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	if p := l.sim.current.Load().dataPlane.Load(); p != nil {
		return p.Dial(ctx, to)
	}
	return nil, net.ErrClosed
}

// Flush waits until sockets and programs match the present state of the world. A test that controls
// the clock can wait for it, so that on a busy machine the world does not run ahead of them.
func (l *Listening) Flush(ctx context.Context) error {
	if p := l.sim.current.Load().dataPlane.Load(); p != nil {
		return p.Flush(ctx)
	}
	return net.ErrClosed
}

func (s *Sim) lookUpName(name string) (*cloudmap.Table, *cloudmap.Entry, string) {
	return s.current.Load().cloudMap.LookUp(name)
}

// URL returns the endpoint for clients.
func (l *Listening) URL() string { return "http://" + l.Addr() }

// Close ends every socket, program and goroutine of the simulator. The world stays unchanged;
// [Sim.Listen] may be called again.
func (l *Listening) Close() {
	l.closeOnce.Do(func() {
		_ = l.server.Close()
		l.cancel()
		l.dns.Close()
		l.sim.mu.Lock()
		defer l.sim.mu.Unlock()
		l.stopAfterFunc()
		l.stopGeneration(l.sim.current.Load())
		l.wg.Wait()
		l.sim.listening = nil
		l.sim.dns.Store(nil)
	})
}

// startGeneration opens the sockets of a world and starts its pump. The sockets are open when it
// returns.
func (l *Listening) startGeneration(e *generation) {
	e.dataPlane.Store(dataplane.Start(dataplane.Options{World: e.world, Clock: e.clock, Seed: l.sim.options.Seed,
		Speed:     l.sim.options.Speed,
		Callbacks: e.planeCallbacks()}))
	l.pump = startPump(e.world, e.clock)
	_ = e.dataPlane.Load().Flush(l.ctx)
}

// stopGeneration undoes startGeneration.
func (l *Listening) stopGeneration(e *generation) {
	l.pump.stop()
	if p := e.dataPlane.Swap(nil); p != nil {
		p.Close()
	}
}

// planeCallbacks returns the calls from the data plane into the world.
func (e *generation) planeCallbacks() dataplane.Callbacks {
	step := func(key world.Key, f func(tx *world.Tx)) {
		_ = e.world.Do(key, func(tx *world.Tx) error { f(tx); return nil })
	}
	return dataplane.Callbacks{
		Table: e.lbController.Table,
		Bound: func(key world.Key, lb string, port int32, address string) {
			step(key, func(tx *world.Tx) { e.lbController.SetBound(tx, lb, port, address) })
		},
		Probed: func(p world.ProbeTarget, status int, err error) {
			step(p.Key, func(tx *world.Tx) { e.lbController.RecordProbe(tx, p, status, err) })
		},
		Exited: func(key world.Key, task, container string, code int) {
			step(key, func(tx *world.Tx) { e.ecs.Scheduler().ProcessExited(tx, task, container, code) })
		},
	}
}

// pump runs events when they are due.
type pump struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func startPump(w *world.World, clock world.Clock) *pump {
	ctx, cancel := context.WithCancel(context.Background())
	p := &pump{cancel, make(chan struct{})}
	go func() {
		defer close(p.done)
		for ctx.Err() == nil {
			w.Advance()
			sleepUntilDue(ctx, w, clock)
		}
	}()
	return p
}

func (p *pump) stop() {
	p.cancel()
	<-p.done
}

var errEarlierEvent = errors.New("an event was scheduled before the others")

// sleepUntilDue sleeps until the next event is due, or until an earlier one is scheduled.
func sleepUntilDue(ctx context.Context, w *world.World, clock world.Clock) {
	ctx, cancel := context.WithCancelCause(ctx)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		select {
		case <-w.Nudged():
			cancel(errEarlierEvent)
		case <-ctx.Done():
		}
	}()
	d := time.Hour
	if at, ok := w.NextDue(); ok {
		d = at.Sub(clock.Now())
	}
	if d > 0 {
		_ = clock.Sleep(ctx, d)
	}
	cancel(nil)
	<-heard
}
