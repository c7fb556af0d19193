package dataplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// hostProgram is a container that runs as a program of the host.
//
// The variable PORT gives the port on 127.0.0.1 where it must listen: a free port, since many tasks
// share one machine. With several ports there is PORT_<containerPort> for each. Where the task's
// own address can be bound, it forwards to the program.
//
// The program also gets SLUICE_TASK, SLUICE_CONTAINER, SLUICE_SERVICE and SLUICE_ADDRESS, the
// task's address in the simulated network. Of the simulator's environment it gets only the
// variables that it needs to run: no credentials.
type hostProgram struct {
	plane *Plane
	start world.StartProcess
	cmd   *exec.Cmd
	ports map[int32]string // container port -> address where the program must listen
	ended chan struct{}

	mu           sync.Mutex
	relays       []*relay
	relaysClosed bool
}

// inheritedVariables are the variables of the simulator's environment that programs get.
var inheritedVariables = []string{"PATH", "HOME", "USER", "LANG", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "SystemRoot",
	"PATHEXT", "COMSPEC"}

// newHostProgram starts the program. If it cannot be started, the container exits with 127, as in a
// shell.
func newHostProgram(p *Plane, e world.StartProcess) *hostProgram {
	g := &hostProgram{plane: p, start: e, ports: map[int32]string{}, ended: make(chan struct{})}
	out := &lineWriter{writeLine: func(line string) { p.logLine(e, line) }}
	err := g.choosePorts()
	if err == nil {
		g.cmd = exec.Command(e.Behaviour.Command[0], e.Behaviour.Command[1:]...)
		g.cmd.Env, g.cmd.Stdout, g.cmd.Stderr, g.cmd.WaitDelay = g.programEnvironment(), out, out, time.Second
		ownGroup(g.cmd)
		err = g.cmd.Start()
	}
	// The next calls enter the world, so they run asynchronously: the plane may be in the middle of
	// a batch of effects.
	p.runAsync(func() {
		defer close(g.ended)
		defer g.closeRelays()
		if err != nil {
			p.logLine(e, "not started: "+err.Error())
			p.callbacks.Exited(e.Key, e.Task, e.Container, 127)
			return
		}
		g.waitForExit(out)
	})
	return g
}

func (g *hostProgram) waitForExit(out *lineWriter) {
	err := g.cmd.Wait()
	killGroup(g.cmd) // its remaining children
	out.flush()
	if g.plane.ctx.Err() == nil {
		g.plane.callbacks.Exited(g.start.Key, g.start.Task, g.start.Container, exitCode(err))
	}
}

// exitCode returns the exit code as ECS reports it: 128 plus the signal if a signal ended the
// program.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return 0
	case !errors.As(err, &exit):
		return 1
	}
	if n := signalOf(exit.ProcessState); n > 0 {
		return 128 + n
	}
	return exit.ExitCode()
}

func (g *hostProgram) choosePorts() error {
	for _, port := range g.start.Ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("find a free port: %w", err)
		}
		g.ports[port] = l.Addr().String()
		_ = l.Close()
	}
	return nil
}

func (g *hostProgram) programEnvironment() []string {
	var env []string
	for _, name := range inheritedVariables {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.start.Environment)) {
		env = append(env, name+"="+g.start.Environment[name])
	}
	for i, port := range g.start.Ports {
		_, n, _ := net.SplitHostPort(g.ports[port])
		if i == 0 {
			env = append(env, "PORT="+n)
		}
		env = append(env, "PORT_"+strconv.Itoa(int(g.start.OwnPort(i)))+"="+n)
	}
	return append(env, "SLUICE_TASK="+g.start.Task, "SLUICE_CONTAINER="+g.start.Container,
		"SLUICE_SERVICE="+g.start.Service, "SLUICE_ADDRESS="+g.start.Address.String())
}

func (g *hostProgram) dialPort(ctx context.Context, port int32) (net.Conn, error) {
	a := g.hostAddress(port)
	if a == "" {
		return nil, errRefused
	}
	return g.plane.dialer.DialContext(ctx, "tcp", a)
}

func (g *hostProgram) hostAddress(port int32) string { return g.ports[port] }

// openSockets forwards the task's own address to the program.
func (g *hostProgram) openSockets() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, port := range g.start.Ports {
		if g.relaysClosed {
			return
		}
		if r := newRelay(g, port); r != nil {
			g.relays = append(g.relays, r)
		}
	}
}

func (g *hostProgram) closeRelays() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.relaysClosed = true
	for _, r := range g.relays {
		r.closeRelay()
	}
	g.relays = nil
}

func (g *hostProgram) term() {
	if g.isRunning() {
		termGroup(g.cmd)
	}
}

func (g *hostProgram) kill() {
	if g.isRunning() {
		killGroup(g.cmd)
	}
}

func (g *hostProgram) endByItself(bool) { g.kill() }

func (g *hostProgram) isRunning() bool {
	select {
	case <-g.ended:
		return false
	default:
		return g.cmd != nil && g.cmd.Process != nil
	}
}

// logLine writes a line of a container to the world's log and to its log stream, if it has one.
func (p *Plane) logLine(e world.StartProcess, line string) {
	_ = p.world.Do(e.Key, func(tx *world.Tx) error {
		tx.Log("output", e.TaskID, "%s", line)
		if t, ok := tx.Tasks.Get(e.Task); ok {
			tx.Print(t, e.Container, line)
		}
		return nil
	})
}

// lineWriter splits its input into lines.
type lineWriter struct {
	writeLine func(string)
	mu        sync.Mutex
	rest      []byte
}

// maxLineBytes is the longest line; a longer one is split.
const maxLineBytes = 16 << 10

func (l *lineWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, b...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 && len(l.rest) > maxLineBytes {
			i = maxLineBytes
			l.rest = slices.Insert(l.rest, i, '\n')
		}
		if i < 0 {
			return len(b), nil
		}
		l.writeLine(string(bytes.TrimSuffix(l.rest[:i], []byte("\r"))))
		l.rest = l.rest[i+1:]
	}
}

func (l *lineWriter) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.writeLine(string(l.rest))
		l.rest = nil
	}
}
