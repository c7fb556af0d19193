package dataplane

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// builtInTask is a container that this process simulates: a modelled image, or a Go handler of the
// library's user.
type served struct {
	plane  *Plane
	what   world.StartProcess
	server *http.Server
	pipes  *pipes
	signal atomic.Int64 // UnixNano of SIGTERM, 0 before

	mu      sync.Mutex
	sockets map[int32]string // address of each bound port
	ended   bool             // new connections are refused
}

func newServed(p *Plane, e world.StartProcess) *served {
	s := &served{plane: p, what: e, sockets: map[int32]string{}}
	s.server = &http.Server{Handler: s, BaseContext: func(net.Listener) context.Context { return p.ctx }, ErrorLog: silent}
	if at := e.Behaviour.CrashAfter; at > 0 {
		p.after(at-p.clock.Now().Sub(e.At), s.kill)
	}
	return s
}

// silentLog drops the messages of net/http about broken connections, which the simulator breaks on
// purpose.
var silent = log.New(io.Discard, "", 0)

func (s *served) open() {
	for _, port := range s.what.Ports {
		s.mu.Lock()
		if !s.ended {
			s.bind(port)
		}
		s.mu.Unlock()
	}
}

// bindPort opens the port's socket if the budget allows it. The caller holds s.mu.
func (s *served) bind(port int32) (address string, ok bool) {
	if a, ok := s.sockets[port]; ok {
		return a, true
	}
	if !s.plane.budget.room() {
		return "", false
	}
	l, err := listen(netip.AddrPortFrom(s.what.Address, uint16(port)))
	if err != nil {
		return "", false
	}
	s.sockets[port] = l.Addr().String()
	s.serve(s.plane.budget.count(l))
	return l.Addr().String(), true
}

func (s *served) serve(l net.Listener) {
	s.plane.run(func() { _ = s.server.Serve(l) })
}

func (s *served) dial(ctx context.Context, port int32) (net.Conn, error) {
	address, pipes, err := s.way(port)
	switch {
	case err != nil:
		return nil, err
	case pipes != nil:
		return pipes.dial(ctx)
	}
	return s.plane.dialer.DialContext(ctx, "tcp", address)
}

// routeTo returns how to reach the port: a socket's address, or a pipe if no socket can be opened.
func (s *served) way(port int32) (string, *pipes, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.what.Behaviour.Refuses(s.moment()) || !slices.Contains(s.what.Ports, port) {
		return "", nil, errRefused
	}
	if address, ok := s.bind(port); ok {
		return address, nil, nil
	}
	if s.pipes == nil {
		s.pipes = newPipes()
		s.serve(s.pipes)
	}
	return "", s.pipes, nil
}

// term starts the shutdown. The image serves for its configured time, then refuses new connections
// and finishes its open requests.
func (s *served) term() {
	if s.signal.CompareAndSwap(0, s.plane.clock.Now().UnixNano()) && !s.what.Behaviour.IgnoresTerm {
		s.plane.after(s.what.Behaviour.ServesAfterTerm, s.finish)
	}
}

func (s *served) finish() {
	s.end()
	_ = s.server.Shutdown(s.plane.ctx)
}

func (s *served) exit(asked bool) {
	if asked {
		s.plane.run(s.finish)
		return
	}
	s.kill()
}

// kill closes every connection, as the end of a process does.
func (s *served) kill() {
	s.end()
	_ = s.server.Close()
}

func (s *served) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.pipes != nil {
		_ = s.pipes.Close()
	}
}

// currentMoment returns the container's age and signal, by the clock.
func (s *served) moment() image.Moment {
	now := s.plane.clock.Now()
	m := image.Moment{SinceStart: now.Sub(s.what.At)}
	if at := s.signal.Load(); at != 0 {
		m.Signalled, m.SinceSignal = true, now.Sub(time.Unix(0, at))
	}
	return m
}

// ServeHTTP answers as the image does at its current age.
func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b := s.what.Behaviour
	w.Header().Set("X-Sim-Version", b.Version)
	w.Header().Set("X-Sim-Task", s.what.TaskID)
	if b.Handler != nil {
		b.Handler.ServeHTTP(w, r)
		return
	}
	if !s.pass(r, b.Latency) {
		return
	}
	switch status := b.Answer(s.moment()); {
	case status == http.StatusServiceUnavailable:
		http.Error(w, b.Version+" is not healthy", status)
	case b.ErrorRate > 0 && s.plane.draw() < b.ErrorRate:
		http.Error(w, b.Version+" had an error", http.StatusInternalServerError)
	default:
		s.answer(w, r)
	}
}

// waitLatency waits for the latency by the clock. It returns false if the caller left.
func (s *served) pass(r *http.Request, latency time.Duration) bool {
	if r.URL.Path == "/_slow" {
		var ms int64
		fmt.Sscan(r.URL.Query().Get("ms"), &ms)
		latency += time.Duration(ms) * time.Millisecond
	}
	return latency <= 0 || s.plane.clock.Sleep(r.Context(), latency) == nil
}

func (s *served) answer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/json" {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "{\"version\":%q,\"task\":%q,\"container\":%q,\"service\":%q,\"address\":%q}\n",
			s.what.Behaviour.Version, s.what.TaskID, s.what.Container, s.what.Service, s.what.Address)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, s.what.Behaviour.Version+"\n")
}
