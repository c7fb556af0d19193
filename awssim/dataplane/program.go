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
type program struct {
	plane *Plane
	what  world.StartProcess
	cmd   *exec.Cmd
	ports map[int32]string // container port -> address where the program must listen
	ended chan struct{}

	mu     sync.Mutex
	relays []*relay
	over   bool
}

// inheritedVariables are the variables of the simulator's environment that programs get.
var inherited = []string{"PATH", "HOME", "USER", "LANG", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "SystemRoot", "PATHEXT", "COMSPEC"}

// newHostProgram starts the program. If it cannot be started, the container exits with 127, as in a
// shell.
func newProgram(p *Plane, e world.StartProcess) *program {
	g := &program{plane: p, what: e, ports: map[int32]string{}, ended: make(chan struct{})}
	out := &lines{to: func(line string) { p.log(e, line) }}
	err := g.choosePorts()
	if err == nil {
		g.cmd = exec.Command(e.Behaviour.Command[0], e.Behaviour.Command[1:]...)
		g.cmd.Env, g.cmd.Stdout, g.cmd.Stderr, g.cmd.WaitDelay = g.environment(), out, out, time.Second
		ownGroup(g.cmd)
		err = g.cmd.Start()
	}
	// The next calls enter the world, so they run asynchronously: the plane may be in the middle of
	// a batch of effects.
	p.run(func() {
		defer close(g.ended)
		defer g.closeRelays()
		if err != nil {
			p.log(e, "not started: "+err.Error())
			p.laws.Exited(e.Key, e.Task, e.Container, 127)
			return
		}
		g.wait(out)
	})
	return g
}

func (g *program) wait(out *lines) {
	err := g.cmd.Wait()
	killGroup(g.cmd) // its remaining children
	out.flush()
	if g.plane.ctx.Err() == nil {
		g.plane.laws.Exited(g.what.Key, g.what.Task, g.what.Container, exitCode(err))
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

func (g *program) choosePorts() error {
	for _, port := range g.what.Ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("find a free port: %w", err)
		}
		g.ports[port] = l.Addr().String()
		_ = l.Close()
	}
	return nil
}

func (g *program) environment() []string {
	var env []string
	for _, name := range inherited {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.what.Environment)) {
		env = append(env, name+"="+g.what.Environment[name])
	}
	for i, port := range g.what.Ports {
		_, n, _ := net.SplitHostPort(g.ports[port])
		if i == 0 {
			env = append(env, "PORT="+n)
		}
		env = append(env, "PORT_"+strconv.Itoa(int(port))+"="+n)
	}
	return append(env, "SLUICE_TASK="+g.what.Task, "SLUICE_CONTAINER="+g.what.Container,
		"SLUICE_SERVICE="+g.what.Service, "SLUICE_ADDRESS="+g.what.Address.String())
}

func (g *program) dial(ctx context.Context, port int32) (net.Conn, error) {
	a := g.address(port)
	if a == "" {
		return nil, errRefused
	}
	return g.plane.dialer.DialContext(ctx, "tcp", a)
}

func (g *program) address(port int32) string { return g.ports[port] }

// openSockets forwards the task's own address to the program.
func (g *program) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, port := range g.what.Ports {
		if g.over {
			return
		}
		if r := newRelay(g, port); r != nil {
			g.relays = append(g.relays, r)
		}
	}
}

func (g *program) closeRelays() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	for _, r := range g.relays {
		r.close()
	}
	g.relays = nil
}

func (g *program) term() {
	if g.running() {
		termGroup(g.cmd)
	}
}

func (g *program) kill() {
	if g.running() {
		killGroup(g.cmd)
	}
}

func (g *program) exit(bool) { g.kill() }

func (g *program) running() bool {
	select {
	case <-g.ended:
		return false
	default:
		return g.cmd != nil && g.cmd.Process != nil
	}
}

// logLine writes a line of a container to the world's log and to its log stream, if it has one.
func (p *Plane) log(e world.StartProcess, line string) {
	_ = p.world.Do(e.Key, func(tx *world.Tx) error {
		tx.Log("output", e.TaskID, "%s", line)
		if t, ok := tx.Tasks.Get(e.Task); ok {
			tx.Print(t, e.Container, line)
		}
		return nil
	})
}

// lineWriter splits its input into lines.
type lines struct {
	to   func(string)
	mu   sync.Mutex
	rest []byte
}

// maxLineBytes is the longest line; a longer one is split.
const longest = 16 << 10

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, b...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 && len(l.rest) > longest {
			i = longest
			l.rest = slices.Insert(l.rest, i, '\n')
		}
		if i < 0 {
			return len(b), nil
		}
		l.to(string(bytes.TrimSuffix(l.rest[:i], []byte("\r"))))
		l.rest = l.rest[i+1:]
	}
}

func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.to(string(l.rest))
		l.rest = nil
	}
}
