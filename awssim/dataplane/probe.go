package dataplane

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// probeTarget runs one health check and reports its result.
func (p *Plane) probeTarget(e world.ProbeTarget) {
	status, err := p.checkTarget(e)
	if p.ctx.Err() == nil {
		p.callbacks.Probed(e, status, err)
	}
}

func (p *Plane) checkTarget(e world.ProbeTarget) (int, error) {
	ctx, cancel := context.WithCancelCause(p.ctx)
	defer cancel(nil)
	p.runAsync(func() {
		if p.clock.Sleep(ctx, e.Timeout) == nil {
			cancel(context.DeadlineExceeded)
		}
	})
	to := netip.AddrPortFrom(e.Address, uint16(e.Check))
	if e.TCP {
		return 0, p.connectOnce(ctx, to)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(e.Address.String(),
		strconv.Itoa(int(e.Check)))+e.Path, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("User-Agent", "ELB-HealthChecker/2.0")
	once := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return p.dialAddress(ctx, to)
	}}
	answer, err := once.RoundTrip(r)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return 0, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	return answer.StatusCode, answer.Body.Close()
}

// connectOnce connects and closes the connection, as a TCP health check does.
func (p *Plane) connectOnce(ctx context.Context, to netip.AddrPort) error {
	c, err := p.dialAddress(ctx, to)
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return c.Close()
}
