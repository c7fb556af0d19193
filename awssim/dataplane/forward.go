package dataplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-ecs/sluice/awssim/balancer"
)

const (
	// connectTimeout is the time for which a load balancer tries to connect to a target. Loopback
	// answers at once or never.
	connectTimeout = 10 * time.Second
	// idleTimeout is the default of idle_timeout.timeout_seconds. A request without a byte in
	// either direction for that time, by the clock, is ended.
	idleTimeout = 60 * time.Second
	// statusClientGone is the status that a load balancer logs if the client left first.
	statusClientGone = 460
)

var (
	errIdle = errors.New("no byte from the target within the idle timeout")
	errGone = errors.New("the target was deregistered and its drain is over")
)

// inFlight is one request in flight to a target.
type flight struct {
	front  *front
	dec    balancer.Decision
	seat   *seat
	cancel context.CancelCauseFunc
	last   atomic.Int64 // UnixNano of the last byte
	shard  int
	told   cell // the cell in which the request was counted
}

type flightKey struct{}

func flightOf(ctx context.Context) *flight { return ctx.Value(flightKey{}).(*flight) }

// forwardRequest sends a request to its target and the answer back. It tries no other target.
func (f *front) forward(w http.ResponseWriter, r *http.Request, dec balancer.Decision) {
	ctx, cancel := context.WithCancelCause(r.Context())
	fs := f.plane.fronts
	fl := &flight{front: f, dec: dec, seat: fs.seats.of(f.plane, dec), cancel: cancel}
	fl.touch()
	fl.seat.load.Add(1)
	fs.flights.add(fl)
	whole := false
	defer func() {
		fs.flights.remove(fl)
		fl.seat.load.Add(-1)
		if !whole { // the answer broke off after its header
			fl.retell(r.Context())
		}
		cancel(nil)
	}()
	fs.proxy.ServeHTTP(w, r.WithContext(context.WithValue(ctx, flightKey{}, fl)))
	whole = true
}

func (fl *flight) touch() { fl.last.Store(fl.front.plane.clock.Now().UnixNano()) }

// countOutcome counts the request. It runs before the client gets the answer, so that a client that
// is done finds all of its requests counted.
func (fl *flight) tell(outcome string, status int) {
	fl.told = fl.front.count(fl.dec, outcome, status)
}

// recountCut changes the request's outcome to cut, or to client gone.
func (fl *flight) retell(client context.Context) {
	if fl.told != (cell{}) {
		fl.front.plane.traffic.add(fl.told, -1)
	}
	if client.Err() != nil {
		fl.tell("client gone", statusClientGone)
		return
	}
	fl.tell("cut", fl.told.status)
}

// newProxy returns the reverse proxy of all listeners.
func newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: rewrite, Transport: bySeat{}, ModifyResponse: answered, ErrorHandler: broken,
		ErrorLog: silent, BufferPool: &buffers{}, FlushInterval: -1,
	}
}

// targetTransport sends a request over the connections of its target.
type bySeat struct{}

func (bySeat) RoundTrip(r *http.Request) (*http.Response, error) {
	return flightOf(r.Context()).seat.transport.RoundTrip(r)
}

type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(p []byte) { b.pool.Put(&p) }

// rewriteRequest builds the request for the target.
func rewrite(r *httputil.ProxyRequest) {
	fl := flightOf(r.In.Context())
	r.Out.URL.Scheme, r.Out.URL.Host = "http", fl.seat.host
	r.Out.Host, r.Out.URL.RawQuery = r.In.Host, r.In.URL.RawQuery
	client, _, _ := net.SplitHostPort(r.In.RemoteAddr)
	if before := strings.Join(r.In.Header["X-Forwarded-For"], ", "); before != "" {
		client = before + ", " + client
	}
	h := r.Out.Header
	h["X-Forwarded-For"] = []string{client}
	h["X-Forwarded-Proto"] = []string{"http"}
	h["X-Forwarded-Port"] = []string{strconv.Itoa(int(fl.front.port))}
	h["X-Amzn-Trace-Id"] = []string{fl.front.plane.trace(r.In.Header.Get("X-Amzn-Trace-Id"))}
	if r.Out.Body != nil && r.Out.Body != http.NoBody {
		r.Out.Body = &watched{r.Out.Body, fl}
	}
}

// newTraceID returns the X-Amzn-Trace-Id for the target: a new root, or the caller's with a Self
// before it.
func (p *Plane) trace(given string) string {
	id := fmt.Sprintf("1-%08x-%012x%012x", uint32(p.clock.Now().Unix()), uint64(p.draw()*(1<<48)), uint64(p.draw()*(1<<48)))
	if strings.Contains(given, "Root=") {
		return "Self=" + id + ";" + given
	}
	return "Root=" + id
}

// handleResponse counts the target's answer when its header arrives, and adds the cookies.
func answered(r *http.Response) error {
	fl := flightOf(r.Request.Context())
	fl.touch()
	if r.StatusCode == http.StatusSwitchingProtocols {
		fl.tell("upgraded", r.StatusCode)
		fl.front.plane.fronts.flights.remove(fl) // an open socket may be idle
		return nil
	}
	fl.tell("answered", r.StatusCode)
	for _, c := range fl.dec.Cookies {
		r.Header.Add("Set-Cookie", c.String())
	}
	r.Body = &watched{r.Body, fl}
	return nil
}

// handleProxyError answers for a target that sent no answer.
func broken(w http.ResponseWriter, r *http.Request, err error) {
	fl := flightOf(r.Context())
	outcome, status := "bad gateway", http.StatusBadGateway
	switch cause := context.Cause(r.Context()); {
	case errors.Is(cause, errIdle), isTimeout(err):
		outcome, status = "timeout", http.StatusGatewayTimeout
	case cause != nil && !errors.Is(cause, errGone):
		outcome, status = "client gone", statusClientGone
	case refused(err):
		outcome = "refused by target"
	}
	fl.tell(outcome, status)
	writePage(w, status)
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// watchedBody records the time of each read byte.
type watched struct {
	io.ReadCloser
	flight *flight
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.flight.touch()
	}
	return n, err
}
