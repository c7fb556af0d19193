package dataplane

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strconv"
	"sync"

	"github.com/sluice-ecs/sluice/awssim/balancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// listenerSockets holds the sockets of all load balancers.
type fronts struct {
	plane *Plane
	mu    sync.Mutex
	open  map[frontKey]*front
	proxy *httputil.ReverseProxy

	seats   seats
	flights flights
}

type frontKey struct {
	key      world.Key
	balancer string // ARN
	port     int32
}

// listenerSocket is the socket of one listener.
type front struct {
	frontKey
	plane    *Plane
	listener string // ARN
	server   *http.Server
	address  string
}

func newFronts(p *Plane) *fronts {
	return &fronts{plane: p, open: map[frontKey]*front{}, proxy: newProxy()}
}

// syncListeners opens and closes sockets so that each listener has one.
func (fs *fronts) follow(e world.ListenersChanged) {
	fs.mu.Lock()
	var gone []*front
	for k, f := range fs.open {
		if k.key == e.Key && k.balancer == e.Balancer && e.Ports[k.port] != f.listener {
			gone = append(gone, f)
			delete(fs.open, k)
		}
	}
	var missing []frontKey
	for _, port := range slices.Sorted(maps.Keys(e.Ports)) {
		if k := (frontKey{e.Key, e.Balancer, port}); fs.open[k] == nil {
			missing = append(missing, k)
		}
	}
	fs.mu.Unlock()
	for _, f := range gone {
		f.close()
	}
	for _, k := range missing {
		fs.start(k, e.Ports[k.port], e.Address)
	}
}

func (fs *fronts) start(k frontKey, listener, address string) {
	want, _ := netip.ParseAddr(address)
	l, err := listen(netip.AddrPortFrom(want, uint16(k.port)))
	if err != nil {
		fs.plane.laws.Bound(k.key, k.balancer, k.port, "")
		return
	}
	f := &front{frontKey: k, plane: fs.plane, listener: listener, address: l.Addr().String()}
	f.server = &http.Server{Handler: f, ErrorLog: silent, BaseContext: func(net.Listener) context.Context { return fs.plane.ctx }}
	fs.mu.Lock()
	fs.open[k] = f
	fs.mu.Unlock()
	fs.plane.run(func() { _ = f.server.Serve(l) })
	fs.plane.laws.Bound(k.key, k.balancer, k.port, f.address)
}

func (f *front) close() { _ = f.server.Close() }

func (fs *fronts) vanish(key world.Key) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for k, f := range fs.open {
		if k.key == key {
			f.close()
			delete(fs.open, k)
		}
	}
	fs.seats.drop(func(s seatKey) bool { return regionOf(s.group) == key })
}

func (fs *fronts) close() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.open {
		f.close()
	}
	clear(fs.open)
	fs.seats.drop(func(seatKey) bool { return true })
}

// closeTarget closes the open connections to a target whose drain has ended.
func (fs *fronts) gone(e world.TargetGone) { fs.seats.remove(seatKey{e.Group, e.ID, e.Port}) }

// ServeHTTP routes one request as the load balancer does.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	dec := f.decide(r)
	switch dec.Kind {
	case balancer.Refuse:
		f.count(dec, "refused", 0)
		cut(w)
	case balancer.Forward:
		f.forward(w, r, dec)
	case balancer.Redirect:
		w.Header().Set("Location", dec.Location)
		f.reply(w, dec, dec.Status, "redirect")
	case balancer.Fixed:
		f.fixed(w, dec)
	case balancer.Unavailable:
		f.reply(w, dec, dec.Status, "unavailable")
	}
}

func (f *front) decide(r *http.Request) balancer.Decision {
	table := f.plane.laws.Table(f.key, f.balancer)
	if table == nil {
		return balancer.Decision{Kind: balancer.Refuse, Listener: f.listener}
	}
	draw := balancer.Draw{Group: f.plane.draw(), Target: balancer.InTurn, Outstanding: f.plane.fronts.seats.outstanding}
	return table.Decide(f.port, balancer.RequestOf(r, f.plane.clock.Now()), draw)
}

func (f *front) fixed(w http.ResponseWriter, dec balancer.Decision) {
	if dec.ContentType != "" {
		w.Header().Set("Content-Type", dec.ContentType)
	}
	f.count(dec, "fixed", dec.Status)
	w.Header().Set("Server", serverName)
	w.Header().Set("Content-Length", strconv.Itoa(len(dec.Body)))
	w.WriteHeader(dec.Status)
	_, _ = w.Write([]byte(dec.Body))
}

const serverName = "awselb/2.0"

// writeOwnAnswer writes an answer of the load balancer itself, with its page.
func (f *front) reply(w http.ResponseWriter, dec balancer.Decision, status int, outcome string) {
	f.count(dec, outcome, status)
	writePage(w, status)
}

func writePage(w http.ResponseWriter, status int) {
	title := strconv.Itoa(status) + " " + http.StatusText(status)
	if status == statusClientGone {
		title = "460"
	}
	h := w.Header()
	h.Set("Server", serverName)
	h.Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = w.Write([]byte("<html>\r\n<head><title>" + title + "</title></head>\r\n<body>\r\n<center><h1>" + title +
		"</h1></center>\r\n</body>\r\n</html>\r\n"))
}

// cutConnection closes the connection without an answer.
func cut(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

func (f *front) count(dec balancer.Decision, outcome string, status int) cell {
	c := cell{listener: f.listener, group: dec.Group, outcome: outcome, status: status}
	if dec.Target != nil {
		c.version = dec.Target.Behaviour.Version
	}
	f.plane.traffic.add(c, 1)
	return c
}
