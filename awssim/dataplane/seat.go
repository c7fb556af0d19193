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

	"github.com/sluice-ecs/sluice/awssim/balancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// targetPool holds the targets that got requests, each with its own connections. When a target's
// drain ends, only its connections are closed.
type seats struct {
	at    sync.Map // seatKey -> *seat
	loads sync.Map // netip.AddrPort -> *atomic.Int64: open requests
}

type seatKey struct {
	group, id string
	port      int32
}

type seat struct {
	host      string // for the request's URL
	load      *atomic.Int64
	transport *http.Transport

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	gone  bool
}

func (s *seats) of(p *Plane, dec balancer.Decision) *seat {
	key := seatKey{dec.Group, dec.Target.ID, dec.Target.Port}
	if v, ok := s.at.Load(key); ok {
		return v.(*seat)
	}
	v, _ := s.at.LoadOrStore(key, newSeat(p, dec.Target, s.loadOf(dec.Target)))
	return v.(*seat)
}

func (s *seats) loadOf(t *balancer.TargetView) *atomic.Int64 {
	key := addressOf(t)
	if v, ok := s.loads.Load(key); ok {
		return v.(*atomic.Int64)
	}
	v, _ := s.loads.LoadOrStore(key, new(atomic.Int64))
	return v.(*atomic.Int64)
}

// outstandingOf returns the number of open requests of a target.
func (s *seats) outstanding(t *balancer.TargetView) int {
	if v, ok := s.loads.Load(addressOf(t)); ok {
		return int(v.(*atomic.Int64).Load())
	}
	return 0
}

func (s *seats) remove(key seatKey) {
	if v, ok := s.at.LoadAndDelete(key); ok {
		v.(*seat).close()
	}
}

func (s *seats) drop(which func(seatKey) bool) {
	s.at.Range(func(key, _ any) bool {
		if which(key.(seatKey)) {
			s.remove(key.(seatKey))
		}
		return true
	})
}

func addressOf(t *balancer.TargetView) netip.AddrPort {
	return netip.AddrPortFrom(t.Address, uint16(t.Port))
}

// idleConns is the number of connections to a target that are kept for later requests.
const idleConns = 256

func newSeat(p *Plane, t *balancer.TargetView, load *atomic.Int64) *seat {
	s := &seat{host: net.JoinHostPort(t.ID, strconv.Itoa(int(t.Port))), load: load, conns: map[net.Conn]struct{}{}}
	to := addressOf(t)
	s.transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := p.dial(ctx, to)
			if err != nil {
				return nil, err
			}
			return s.keep(c), nil
		},
		MaxIdleConnsPerHost: idleConns, IdleConnTimeout: time.Minute, DisableCompression: true,
	}
	return s
}

// trackConn tracks a connection for as long as it is open.
func (s *seat) keep(c net.Conn) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		_ = c.Close()
	}
	s.conns[c] = struct{}{}
	return &kept{Conn: c, seat: s}
}

func (s *seat) close() {
	s.mu.Lock()
	s.gone = true
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

type kept struct {
	net.Conn
	seat *seat
}

func (k *kept) Close() error {
	k.seat.mu.Lock()
	delete(k.seat.conns, k.Conn)
	k.seat.mu.Unlock()
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
