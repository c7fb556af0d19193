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

	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/world"
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
	errIdle         = errors.New("no byte from the target within the idle timeout")
	errDeregistered = errors.New("the target was deregistered and its drain is over")
)

// inFlight is one request in flight to a target.
type inFlight struct {
	socket  *listenerSocket
	dec     loadbalancer.Decision
	target  *targetConns
	cancel  context.CancelCauseFunc
	sent    time.Time
	last    atomic.Int64 // UnixNano of the last byte
	shard   int
	counted trafficCell // the cell in which the request was counted
}

type inFlightKey struct{}

func inFlightOf(ctx context.Context) *inFlight { return ctx.Value(inFlightKey{}).(*inFlight) }

// forwardRequest sends a request to its target and the answer back. It tries no other target.
func (f *listenerSocket) forwardRequest(w http.ResponseWriter, r *http.Request, dec loadbalancer.Decision) {
	ctx, cancel := context.WithCancelCause(r.Context())
	fs := f.plane.sockets
	fl := &inFlight{socket: f, dec: dec, target: fs.targets.connsOf(f.plane, dec), cancel: cancel,
		sent: f.plane.clock.Now()}
	fl.noteBytes()
	fl.target.load.Add(1)
	fs.inFlight.addRequest(fl)
	whole := false
	defer func() {
		fs.inFlight.removeRequest(fl)
		fl.target.load.Add(-1)
		if !whole { // the answer broke off after its header
			fl.recountCut(r.Context())
		}
		cancel(nil)
	}()
	fs.proxy.ServeHTTP(w, r.WithContext(context.WithValue(ctx, inFlightKey{}, fl)))
	whole = true
}

func (fl *inFlight) noteBytes() { fl.last.Store(fl.socket.plane.clock.Now().UnixNano()) }

// countOutcome counts the request. It runs before the client gets the answer, so that a client that
// is done finds all of its requests counted.
func (fl *inFlight) countOutcome(outcome string, status int) {
	fl.counted = fl.socket.countRequest(fl.dec, outcome, status)
}

// countForMetrics counts the request for the load balancer's metrics. status is the target's; 0: it
// did not answer. took is how long the answer took.
func (fl *inFlight) countForMetrics(status int, took time.Duration) {
	f := fl.socket
	now := f.plane.clock.Now().UTC()
	f.plane.world.CountRequests(world.RequestSample{Key: f.key, Balancer: f.balancer, Group: fl.dec.Group,
		From: now, To: now, Status: status, Took: took, Count: 1})
}

// recountCut changes the request's outcome to cut, or to client gone.
func (fl *inFlight) recountCut(client context.Context) {
	if fl.counted != (trafficCell{}) {
		fl.socket.plane.traffic.addRequests(fl.counted, -1)
	}
	if client.Err() != nil {
		fl.countOutcome("client gone", statusClientGone)
		return
	}
	fl.countOutcome("cut", fl.counted.status)
}

// newProxy returns the reverse proxy of all listeners.
func newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: rewriteRequest, Transport: targetTransport{}, ModifyResponse: handleResponse,
		ErrorHandler: handleProxyError,
		ErrorLog:     silentLog, BufferPool: &bufferPool{}, FlushInterval: -1,
	}
}

// targetTransport sends a request over the connections of its target.
type targetTransport struct{}

func (targetTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return inFlightOf(r.Context()).target.transport.RoundTrip(r)
}

type bufferPool struct{ pool sync.Pool }

func (b *bufferPool) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}

func (b *bufferPool) Put(p []byte) { b.pool.Put(&p) }

// rewriteRequest builds the request for the target.
func rewriteRequest(r *httputil.ProxyRequest) {
	fl := inFlightOf(r.In.Context())
	r.Out.URL.Scheme, r.Out.URL.Host = "http", fl.target.host
	r.Out.Host, r.Out.URL.RawQuery = r.In.Host, r.In.URL.RawQuery
	client, _, _ := net.SplitHostPort(r.In.RemoteAddr)
	if before := strings.Join(r.In.Header["X-Forwarded-For"], ", "); before != "" {
		client = before + ", " + client
	}
	h := r.Out.Header
	h["X-Forwarded-For"] = []string{client}
	h["X-Forwarded-Proto"] = []string{"http"}
	h["X-Forwarded-Port"] = []string{strconv.Itoa(int(fl.socket.port))}
	h["X-Amzn-Trace-Id"] = []string{fl.socket.plane.newTraceID(r.In.Header.Get("X-Amzn-Trace-Id"))}
	if r.Out.Body != nil && r.Out.Body != http.NoBody {
		r.Out.Body = &watchedBody{r.Out.Body, fl}
	}
}

// newTraceID returns the X-Amzn-Trace-Id for the target: a new root, or the caller's with a Self
// before it.
func (p *Plane) newTraceID(given string) string {
	id := fmt.Sprintf("1-%08x-%012x%012x", uint32(p.clock.Now().Unix()), uint64(p.nextRandom()*(1<<48)),
		uint64(p.nextRandom()*(1<<48)))
	if strings.Contains(given, "Root=") {
		return "Self=" + id + ";" + given
	}
	return "Root=" + id
}

// handleResponse counts the target's answer when its header arrives, and adds the cookies.
func handleResponse(r *http.Response) error {
	fl := inFlightOf(r.Request.Context())
	fl.noteBytes()
	fl.countForMetrics(r.StatusCode, fl.responseTime(r))
	if r.StatusCode == http.StatusSwitchingProtocols {
		fl.countOutcome("upgraded", r.StatusCode)
		fl.socket.plane.sockets.inFlight.removeRequest(fl) // an open socket may be idle
		return nil
	}
	fl.countOutcome("answered", r.StatusCode)
	for _, c := range fl.dec.Cookies {
		r.Header.Add("Set-Cookie", c.String())
	}
	r.Body = &watchedBody{r.Body, fl}
	return nil
}

// handleProxyError answers for a target that sent no answer.
func handleProxyError(w http.ResponseWriter, r *http.Request, err error) {
	fl := inFlightOf(r.Context())
	outcome, status := "bad gateway", http.StatusBadGateway
	switch cause := context.Cause(r.Context()); {
	case errors.Is(cause, errIdle), isTimeout(err):
		outcome, status = "timeout", http.StatusGatewayTimeout
	case cause != nil && !errors.Is(cause, errDeregistered):
		outcome, status = "client gone", statusClientGone
	case isRefused(err):
		outcome = "refused by target"
	}
	fl.countOutcome(outcome, status)
	fl.countForMetrics(0, 0)
	writePage(w, status)
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// watchedBody records the time of each read byte.
type watchedBody struct {
	io.ReadCloser
	request *inFlight
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.request.noteBytes()
	}
	return n, err
}
