package dataplane

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// errRefused is what a connection to a port gets behind which nothing listens.
var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}

// process is a running container: answered for in here ([served]), or a program
// of the host ([program]).
type process interface {
	// dial connects to one of its ports.
	dial(ctx context.Context, port int32) (net.Conn, error)
	// open opens its sockets before anybody asks, if it has any to open.
	open()
	// term is SIGTERM, kill is SIGKILL.
	term()
	kill()
	// exit: the world says that it has ended by itself; asked, after SIGTERM.
	exit(asked bool)
}

// processes are the running containers, by task and by address.
type processes struct {
	mu        sync.RWMutex
	byTask    map[string]map[string]process // task ARN, container name
	byAddress map[netip.AddrPort]process
	places    map[string][]netip.AddrPort // of a task
}

func newProcesses() *processes {
	return &processes{
		byTask: map[string]map[string]process{}, byAddress: map[netip.AddrPort]process{}, places: map[string][]netip.AddrPort{},
	}
}

// add notes a container unless it is known already.
func (ps *processes) add(e world.StartProcess, start func() process) process {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.byTask[e.Task][e.Container] != nil {
		return nil
	}
	p := start()
	if ps.byTask[e.Task] == nil {
		ps.byTask[e.Task] = map[string]process{}
	}
	ps.byTask[e.Task][e.Container] = p
	for _, port := range e.Ports {
		at := netip.AddrPortFrom(e.Address, uint16(port))
		ps.byAddress[at] = p
		ps.places[e.Task] = append(ps.places[e.Task], at)
	}
	return p
}

func (ps *processes) of(task string) []process {
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	var all []process
	for _, p := range ps.byTask[task] {
		all = append(all, p)
	}
	return all
}

// one is a container of a task, or nil.
func (ps *processes) one(task, container string) process {
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	return ps.byTask[task][container]
}

func (ps *processes) at(a netip.AddrPort) process {
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	return ps.byAddress[a]
}

// forget drops a task. Its address may belong to another one by now.
func (ps *processes) forget(task string) []process {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var all []process
	mine := map[process]bool{}
	for _, p := range ps.byTask[task] {
		all = append(all, p)
		mine[p] = true
	}
	for _, at := range ps.places[task] {
		if mine[ps.byAddress[at]] {
			delete(ps.byAddress, at)
		}
	}
	delete(ps.byTask, task)
	delete(ps.places, task)
	return all
}

func (ps *processes) tasks() []string {
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	all := make([]string, 0, len(ps.byTask))
	for task := range ps.byTask {
		all = append(all, task)
	}
	return all
}

// dial connects to an address of the simulated network: to the container behind
// it, wherever its socket is. An address that is no container's is connected to
// as it is, if it is a loopback one: a target may be a server of the user's own.
//
// The world may be ahead: it says that a task runs, and effects are carried out one
// after the other. A refusal is believed once all effects until now are carried out.
func (p *Plane) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	before := p.processes.at(to)
	conn, err := p.dialOnce(ctx, before, to)
	if !refused(err) || p.Flush(ctx) != nil {
		return conn, err
	}
	if now := p.processes.at(to); now != before {
		return p.dialOnce(ctx, now, to)
	}
	return conn, err
}

func (p *Plane) dialOnce(ctx context.Context, c process, to netip.AddrPort) (net.Conn, error) {
	if c != nil {
		return c.dial(ctx, int32(to.Port()))
	}
	if p.taskAddress(to.Addr()) || !to.Addr().IsLoopback() {
		return nil, errRefused
	}
	return p.dialer.DialContext(ctx, "tcp", to.String())
}

// taskAddress reports whether an address lies in a Region's default network,
// where only tasks live: nothing of the machine's may answer there in the place
// of a task that is gone.
func (p *Plane) taskAddress(a netip.Addr) bool {
	if !a.Is4() {
		return false
	}
	b := a.As4()
	n := int(b[1]) - int(world.DefaultNetwork(0).Addr().As4()[1])
	return n >= 0 && n < 200 && world.DefaultNetwork(n).Contains(a)
}

func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
