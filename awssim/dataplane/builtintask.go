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
type builtInTask struct {
	plane  *Plane
	start  world.StartProcess
	server *http.Server
	pipe   *pipeListener
	signal atomic.Int64 // UnixNano of SIGTERM, 0 before

	mu      sync.Mutex
	sockets map[int32]string // address of each bound port
	ended   bool             // new connections are refused
}

func newBuiltInTask(p *Plane, e world.StartProcess) *builtInTask {
	s := &builtInTask{plane: p, start: e, sockets: map[int32]string{}}
	s.server = &http.Server{Handler: s, BaseContext: func(net.Listener) context.Context { return p.ctx },
		ErrorLog: silentLog}
	if at := e.Behaviour.CrashAfter; at > 0 {
		p.runAfter(at-p.clock.Now().Sub(e.At), s.kill)
	}
	return s
}

// silentLog drops the messages of net/http about broken connections, which the simulator breaks on
// purpose.
var silentLog = log.New(io.Discard, "", 0)

func (s *builtInTask) openSockets() {
	for _, port := range s.start.Ports {
		s.mu.Lock()
		if !s.ended {
			s.bindPort(port)
		}
		s.mu.Unlock()
	}
}

// bindPort opens the port's socket if the budget allows it. The caller holds s.mu.
func (s *builtInTask) bindPort(port int32) (address string, ok bool) {
	if a, ok := s.sockets[port]; ok {
		return a, true
	}
	if !s.plane.budget.hasCapacity() {
		return "", false
	}
	l, err := listenLoopback(netip.AddrPortFrom(s.start.Address, uint16(port)))
	if err != nil {
		return "", false
	}
	s.sockets[port] = l.Addr().String()
	s.serveOn(s.plane.budget.countListener(l))
	return l.Addr().String(), true
}

func (s *builtInTask) serveOn(l net.Listener) {
	s.plane.runAsync(func() { _ = s.server.Serve(l) })
}

func (s *builtInTask) dialPort(ctx context.Context, port int32) (net.Conn, error) {
	address, pipes, err := s.routeTo(port)
	switch {
	case err != nil:
		return nil, err
	case pipes != nil:
		return pipes.dialPipe(ctx)
	}
	return s.plane.dialer.DialContext(ctx, "tcp", address)
}

// routeTo returns how to reach the port: a socket's address, or a pipe if no socket can be opened.
func (s *builtInTask) routeTo(port int32) (string, *pipeListener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.start.Behaviour.RefusesConnections(s.currentMoment()) || !slices.Contains(s.start.Ports, port) {
		return "", nil, errRefused
	}
	if address, ok := s.bindPort(port); ok {
		return address, nil, nil
	}
	if s.pipe == nil {
		s.pipe = newPipeListener()
		s.serveOn(s.pipe)
	}
	return "", s.pipe, nil
}

// term starts the shutdown. The image serves for its configured time, then refuses new connections
// and finishes its open requests.
func (s *builtInTask) term() {
	if s.signal.CompareAndSwap(0, s.plane.clock.Now().UnixNano()) && !s.start.Behaviour.IgnoresTerm {
		s.plane.runAfter(s.start.Behaviour.ServesAfterTerm, s.finishRequests)
	}
}

func (s *builtInTask) finishRequests() {
	s.refuseNew()
	_ = s.server.Shutdown(s.plane.ctx)
}

func (s *builtInTask) endByItself(asked bool) {
	if asked {
		s.plane.runAsync(s.finishRequests)
		return
	}
	s.kill()
}

// kill closes every connection, as the end of a process does.
func (s *builtInTask) kill() {
	s.refuseNew()
	_ = s.server.Close()
}

func (s *builtInTask) refuseNew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.pipe != nil {
		_ = s.pipe.Close()
	}
}

// currentMoment returns the container's age and signal, by the clock.
func (s *builtInTask) currentMoment() image.Moment {
	now := s.plane.clock.Now()
	m := image.Moment{SinceStart: now.Sub(s.start.At)}
	if at := s.signal.Load(); at != 0 {
		m.Signalled, m.SinceSignal = true, now.Sub(time.Unix(0, at))
	}
	return m
}

// ServeHTTP answers as the image does at its current age.
func (s *builtInTask) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b := s.start.Behaviour
	w.Header().Set("X-Sim-Version", b.Version)
	w.Header().Set("X-Sim-Task", s.start.TaskID)
	if b.Handler != nil {
		b.Handler.ServeHTTP(w, r)
		return
	}
	if !s.waitLatency(w, r, s.drawLatency()) {
		return
	}
	moment := s.currentMoment()
	switch status := b.Answer(moment); {
	case status == http.StatusServiceUnavailable:
		http.Error(w, b.Version+" is not healthy", status)
	case s.draw(b.ErrorRateAt(moment.SinceStart)):
		http.Error(w, b.Version+" had an error", http.StatusInternalServerError)
	default:
		s.writeAnswer(w, r)
	}
}

// drawLatency returns the latency of one answer.
func (s *builtInTask) drawLatency() time.Duration {
	b := s.start.Behaviour
	if latency := b.LatencyAt(s.currentMoment().SinceStart); latency > 0 && s.draw(b.SlowShare()) {
		return latency
	}
	return 0
}

// draw returns true with a probability. It draws only if both results are possible.
func (s *builtInTask) draw(share float64) bool {
	return share > 0 && (share >= 1 || s.plane.nextRandom() < share)
}

// waitLatency waits for the latency by the clock. It returns false if the caller left.
func (s *builtInTask) waitLatency(w http.ResponseWriter, r *http.Request, latency time.Duration) bool {
	if r.URL.Path == "/_slow" {
		var ms int64
		fmt.Sscan(r.URL.Query().Get("ms"), &ms)
		latency += time.Duration(ms) * time.Millisecond
	}
	if latency <= 0 {
		return true
	}
	w.Header().Set(waitedHeader, latency.String())
	return s.plane.clock.Sleep(r.Context(), latency) == nil
}

func (s *builtInTask) writeAnswer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/json" {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "{\"version\":%q,\"task\":%q,\"container\":%q,\"service\":%q,\"address\":%q}\n",
			s.start.Behaviour.Version, s.start.TaskID, s.start.Container, s.start.Service, s.start.Address)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, s.start.Behaviour.Version+"\n")
}
