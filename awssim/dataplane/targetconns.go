package dataplane

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// targetPool holds the targets that got requests, each with its own connections. When a target's
// drain ends, only its connections are closed.
type targetPool struct {
	conns sync.Map // seatKey -> *seat
	loads sync.Map // netip.AddrPort -> *atomic.Int64: open requests
}

type targetKey struct {
	group, id string
	port      int32
}

type targetConns struct {
	host      string // for the request's URL
	load      *atomic.Int64
	transport *http.Transport

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

func (s *targetPool) connsOf(p *Plane, dec loadbalancer.Decision) *targetConns {
	key := targetKey{dec.Group, dec.Target.ID, dec.Target.Port}
	if v, ok := s.conns.Load(key); ok {
		return v.(*targetConns)
	}
	v, _ := s.conns.LoadOrStore(key, newTargetConns(p, dec.Target, s.loadOf(dec.Target)))
	return v.(*targetConns)
}

func (s *targetPool) loadOf(t *loadbalancer.TargetView) *atomic.Int64 {
	key := addressOf(t)
	if v, ok := s.loads.Load(key); ok {
		return v.(*atomic.Int64)
	}
	v, _ := s.loads.LoadOrStore(key, new(atomic.Int64))
	return v.(*atomic.Int64)
}

// outstandingOf returns the number of open requests of a target.
func (s *targetPool) outstandingOf(t *loadbalancer.TargetView) int {
	if v, ok := s.loads.Load(addressOf(t)); ok {
		return int(v.(*atomic.Int64).Load())
	}
	return 0
}

func (s *targetPool) closeTarget(key targetKey) {
	if v, ok := s.conns.LoadAndDelete(key); ok {
		v.(*targetConns).closeConns()
	}
}

func (s *targetPool) closeMatching(which func(targetKey) bool) {
	s.conns.Range(func(key, _ any) bool {
		if which(key.(targetKey)) {
			s.closeTarget(key.(targetKey))
		}
		return true
	})
}

func addressOf(t *loadbalancer.TargetView) netip.AddrPort {
	return netip.AddrPortFrom(t.Address, uint16(t.Port))
}

// idleConns is the number of connections to a target that are kept for later requests.
const idleConns = 256

func newTargetConns(p *Plane, t *loadbalancer.TargetView, load *atomic.Int64) *targetConns {
	s := &targetConns{host: net.JoinHostPort(t.ID, strconv.Itoa(int(t.Port))), load: load,
		conns: map[net.Conn]struct{}{}}
	to := addressOf(t)
	s.transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := p.dialAddress(ctx, to)
			if err != nil {
				return nil, err
			}
			return s.trackConn(c), nil
		},
		MaxIdleConnsPerHost: idleConns, IdleConnTimeout: time.Minute, DisableCompression: true,
	}
	return s
}

// trackConn tracks a connection for as long as it is open.
func (s *targetConns) trackConn(c net.Conn) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
	}
	s.conns[c] = struct{}{}
	return &trackedConn{Conn: c, owner: s}
}

func (s *targetConns) closeConns() {
	s.mu.Lock()
	s.closed = true
	var open []net.Conn
	for c := range s.conns {
		open = append(open, c)
	}
	s.mu.Unlock()
	s.transport.CloseIdleConnections()
	for _, c := range open {
		_ = c.Close()
	}
}

type trackedConn struct {
	net.Conn
	owner *targetConns
}

func (k *trackedConn) Close() error {
	k.owner.mu.Lock()
	delete(k.owner.conns, k.Conn)
	k.owner.mu.Unlock()
	return k.Conn.Close()
}

// regionOf returns the account and Region of an ARN.
func regionOf(arn string) world.Key {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return world.Key{}
	}
	return world.Key{Region: parts[3], Account: parts[4]}
}
