package dataplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Lookup resolves a name to addresses. keep is the time for which the caller may use them.
type Lookup func(ctx context.Context) (found []netip.AddrPort, keep time.Duration, err error)

// ByDNS queries a name server for the A records of a name, whose tasks listen on port. With port 0
// it queries the SRV records. The lookup takes real time.
func ByDNS(server, name string, port int32) Lookup {
	kind := dns.TypeA
	if port == 0 {
		kind = dns.TypeSRV
	}
	return func(ctx context.Context) ([]netip.AddrPort, time.Duration, error) {
		q := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
		q.SetEdns0(4096, false)
		m, _, err := new(dns.Client).ExchangeContext(ctx, q, server)
		if err != nil {
			return nil, 0, fmt.Errorf("look up %s at %s: %w", name, server, err)
		}
		return readAnswer(m, port)
	}
}

func readAnswer(m *dns.Msg, port int32) (found []netip.AddrPort, keep time.Duration, err error) {
	if len(m.Answer) == 0 {
		return nil, 0, fmt.Errorf("%s has no record: %s", m.Question[0].Name, dns.RcodeToString[m.Rcode])
	}
	at := map[string]netip.Addr{}
	for _, rr := range m.Extra {
		if a, ok := rr.(*dns.A); ok {
			at[a.Hdr.Name], _ = netip.AddrFromSlice(a.A.To4())
		}
	}
	keep = time.Duration(m.Answer[0].Header().Ttl) * time.Second
	for _, rr := range m.Answer {
		switch r := rr.(type) {
		case *dns.A:
			a, _ := netip.AddrFromSlice(r.A.To4())
			found = append(found, netip.AddrPortFrom(a, uint16(port)))
		case *dns.SRV:
			found = append(found, netip.AddrPortFrom(at[r.Target], r.Port))
		}
	}
	return found, keep, nil
}

// CallerOptions configure a caller. Lookup, Dial and Clock are required.
type CallerOptions struct {
	Lookup Lookup
	Dial   func(ctx context.Context, to netip.AddrPort) (net.Conn, error) // [Plane.Dial]
	Clock  world.Clock
	// KeepAlive is the time for which a connection is kept and used again; 0: none is kept.
	KeepAlive time.Duration
	// Retry tries the next address of the answer once if the first refuses.
	Retry bool
}

// Caller calls a service by its name over sockets, as clients do. It keeps an answer for its TTL
// and uses the first address. It is safe for concurrent use.
type Caller struct {
	o         CallerOptions
	transport *http.Transport

	mu    sync.Mutex
	found []netip.AddrPort
	till  time.Time // end of the time for which the answer may be kept
	kept  netip.AddrPort
	close time.Time // when the kept connection is dropped
}

// NewCaller creates a caller. Close ends its connections.
func NewCaller(o CallerOptions) *Caller {
	c := &Caller{o: o}
	c.transport = &http.Transport{
		DisableKeepAlives: o.KeepAlive == 0, MaxIdleConnsPerHost: idleConns,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			to, err := netip.ParseAddrPort(addr)
			if err != nil {
				return nil, err
			}
			return o.Dial(ctx, to)
		},
	}
	return c
}

// Close ends the connections that are kept.
func (c *Caller) Close() { c.transport.CloseIdleConnections() }

// Do sends a request without a body; scheme and host are set by the caller. The
// error is that of the lookup, or of the last address that was tried.
func (c *Caller) Do(r *http.Request) (*http.Response, error) {
	to, err := c.chooseAddresses(r.Context())
	if err != nil {
		return nil, err
	}
	res, err := c.sendTo(r, to[0])
	if err == nil || !isRefusedOrClosed(err) {
		return res, err
	}
	if c.dropKept(to[0]) { // the connection outlived its answer: look up again
		if to, err = c.chooseAddresses(r.Context()); err != nil {
			return nil, err
		}
		return c.sendTo(r, to[0])
	}
	if c.o.Retry && len(to) > 1 {
		return c.sendTo(r, to[1])
	}
	return nil, err
}

func isRefusedOrClosed(err error) bool {
	return isRefused(err) || errors.Is(err, errRefused) || errors.Is(err, net.ErrClosed)
}

func (c *Caller) sendTo(r *http.Request, to netip.AddrPort) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", to.String()
	return c.transport.RoundTrip(r)
}

// chooseAddresses returns the addresses for the next request: the kept connection first, otherwise
// the addresses of a kept or new answer.
func (c *Caller) chooseAddresses(ctx context.Context) ([]netip.AddrPort, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.o.Clock.Now()
	if c.kept.IsValid() && now.Before(c.close) {
		return append([]netip.AddrPort{c.kept}, addressesExcept(c.found, c.kept)...), nil
	}
	if !now.Before(c.till) {
		found, keep, err := c.o.Lookup(ctx)
		if err == nil && len(found) == 0 {
			err = errors.New("the name has no record")
		}
		if err != nil {
			return nil, err
		}
		c.found, c.till = found, now.Add(keep)
	}
	if c.o.KeepAlive > 0 {
		c.kept, c.close = c.found[0], now.Add(c.o.KeepAlive)
	}
	return c.found, nil
}

func addressesExcept(all []netip.AddrPort, but netip.AddrPort) (out []netip.AddrPort) {
	for _, a := range all {
		if a != but {
			out = append(out, a)
		}
	}
	return out
}

// dropKept drops a kept address. It reports whether the answer with that address has expired.
func (c *Caller) dropKept(a netip.AddrPort) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == a {
		c.kept = netip.AddrPort{}
	}
	return !c.o.Clock.Now().Before(c.till)
}

// Dial connects to an address of the simulated network, wherever its socket is.
func (p *Plane) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return p.dialAddress(ctx, to)
}
