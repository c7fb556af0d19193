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

// errRefused is the error of a connection to a port without a listening process.
var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}

// process is a running container: simulated in this process ([builtInTask]), or a program of the
// host ([hostProgram]).
type process interface {
	// dialPort connects to one of its ports.
	dialPort(ctx context.Context, port int32) (net.Conn, error)
	// openSockets opens its sockets before the first request, if it has any.
	openSockets()
	// term sends SIGTERM, kill sends SIGKILL.
	term()
	kill()
	// endByItself handles an end that the world reports; asked means that it came after SIGTERM.
	endByItself(asked bool)
}

// processes holds the running containers, by task and by address.
type processes struct {
	mu        sync.RWMutex
	byTask    map[string]map[string]process // task ARN, container name
	byAddress map[netip.AddrPort]process
	addresses map[string][]netip.AddrPort // of a task
}

func newProcesses() *processes {
	return &processes{
		byTask: map[string]map[string]process{}, byAddress: map[netip.AddrPort]process{},
		addresses: map[string][]netip.AddrPort{},
	}
}

// addContainer adds a container unless it is there already.
func (ps *processes) addContainer(e world.StartProcess, start func() process) process {
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
		ps.addresses[e.Task] = append(ps.addresses[e.Task], at)
	}
	return p
}

func (ps *processes) processesOf(task string) []process {
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	var all []process
	for _, p := range ps.byTask[task] {
		all = append(all, p)
	}
	return all
}

// processOf returns a container of a task, or nil.
func (ps *processes) processOf(task, container string) process {
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	return ps.byTask[task][container]
}

func (ps *processes) processAt(a netip.AddrPort) process {
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	return ps.byAddress[a]
}

// removeTask removes a task. Its address may belong to another task by now.
func (ps *processes) removeTask(task string) []process {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var all []process
	mine := map[process]bool{}
	for _, p := range ps.byTask[task] {
		all = append(all, p)
		mine[p] = true
	}
	for _, at := range ps.addresses[task] {
		if mine[ps.byAddress[at]] {
			delete(ps.byAddress, at)
		}
	}
	delete(ps.byTask, task)
	delete(ps.addresses, task)
	return all
}

func (ps *processes) taskARNs() []string {
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	all := make([]string, 0, len(ps.byTask))
	for task := range ps.byTask {
		all = append(all, task)
	}
	return all
}

// dialAddress connects to the container at an address of the simulated network, wherever its socket
// is. A loopback address without a container is dialled directly: a target may be a server of the
// user.
//
// The world may be ahead of the plane: it shows a running task before its effect is carried out. A
// refusal is therefore accepted only after all effects so far are carried out.
func (p *Plane) dialAddress(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	before := p.processes.processAt(to)
	conn, err := p.dialOnce(ctx, before, to)
	if !isRefused(err) || p.Flush(ctx) != nil {
		return conn, err
	}
	if now := p.processes.processAt(to); now != before {
		return p.dialOnce(ctx, now, to)
	}
	return conn, err
}

func (p *Plane) dialOnce(ctx context.Context, c process, to netip.AddrPort) (net.Conn, error) {
	if c != nil {
		return c.dialPort(ctx, int32(to.Port()))
	}
	if p.isTaskAddress(to.Addr()) || !to.Addr().IsLoopback() {
		return nil, errRefused
	}
	return p.dialer.DialContext(ctx, "tcp", to.String())
}

// isTaskAddress reports whether an address lies in a Region's default network, which only tasks
// use. A process of the machine must not answer there in place of a stopped task.
func (p *Plane) isTaskAddress(a netip.Addr) bool {
	if !a.Is4() {
		return false
	}
	b := a.As4()
	n := int(b[1]) - int(world.DefaultNetwork(0).Addr().As4()[1])
	return n >= 0 && n < 200 && world.DefaultNetwork(n).Contains(a)
}

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
