package awssim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/fault"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Handler serves the AWS APIs and, under /_sluice/, the simulator's control API at one endpoint:
//
//	POST   /_sluice/reset          restores the state at start: the world file, no faults
//	GET    /_sluice/world          the state of the world, as JSON
//	GET    /_sluice/time           the world's ID and time, and how much faster than the machine's it runs, as JSON
//	GET    /_sluice/traffic        requests by listener, group, version and outcome
//	POST   /_sluice/traffic/reset  resets the counts
//	GET    /_sluice/faults         the faults, as JSON
//	POST   /_sluice/faults         injects faults, one per line; all or none
//	DELETE /_sluice/faults         ends all faults
//	POST   /_sluice/demand         "<cluster>/<service> <percent>" per line: the CPU that callers request, in percent of a task
//
// Requests with an Origin header are rejected: the simulator is not for web pages.
func (s *Sim) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /_sluice/reset", s.serveReset)
	mux.HandleFunc("GET /_sluice/world", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.View()) })
	mux.HandleFunc("GET /_sluice/time", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Time()) })
	mux.HandleFunc("GET /_sluice/traffic", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Traffic()) })
	mux.HandleFunc("POST /_sluice/traffic/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.ResetTraffic()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /_sluice/faults", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Faults()) })
	mux.HandleFunc("POST /_sluice/faults", s.serveInject)
	mux.HandleFunc("DELETE /_sluice/faults", func(w http.ResponseWriter, _ *http.Request) {
		s.ClearFaults()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /_sluice/demand", s.serveDemand)
	mux.HandleFunc("/_sluice/", refuseControl)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Origin") != "":
			refuse(w, "requests with an Origin header are refused: the simulator is not for web pages",
				http.StatusForbidden)
		case strings.HasPrefix(r.URL.Path, "/_sluice/"):
			mux.ServeHTTP(w, r)
		default:
			s.current.Load().server.ServeHTTP(w, r)
		}
	})
}

// controlPaths are the paths of the control API with their methods.
var controlPaths = [...][2]string{{"reset", "POST"}, {"world", "GET"}, {"time", "GET"}, {"traffic", "GET"},
	{"traffic/reset", "POST"},
	{"faults", "GET, POST, DELETE"}, {"demand", "POST"}}

// refuseControl answers a wrong request to the control API with the methods of its path, or with
// the existing paths.
func refuseControl(w http.ResponseWriter, r *http.Request) {
	all := make([]string, 0, len(controlPaths))
	for _, c := range controlPaths {
		if r.URL.Path == "/_sluice/"+c[0] {
			w.Header().Set("Allow", c[1])
			refuse(w, fmt.Sprintf("%s takes %s, not %s", r.URL.Path, c[1], r.Method), http.StatusMethodNotAllowed)
			return
		}
		all = append(all, c[0]+" ("+c[1]+")")
	}
	refuse(w, fmt.Sprintf("there is no %s %s; there are %s", r.Method, r.URL.Path, strings.Join(all, ", ")),
		http.StatusNotFound)
}

// refuse answers with an error text, without control characters of the request.
func refuse(w http.ResponseWriter, text string, status int) {
	http.Error(w, world.Printable(text), status)
}

// Limits of requests to the control API.
const (
	maxControlBody = 1 << 20
	maxLineBytes   = bufio.MaxScanTokenSize
)

// readControlBody returns the complete body of a request to the control API.
func readControlBody(w http.ResponseWriter, r *http.Request) (io.Reader, bool) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxControlBody))
	if err != nil {
		refuse(w, fmt.Sprintf("the body cannot be read, or has more than %d bytes", maxControlBody),
			http.StatusRequestEntityTooLarge)
		return nil, false
	}
	return bytes.NewReader(data), true
}

// lineError replaces the error for a line that is too long with a readable one.
func lineError(err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("a line has more than %d bytes", maxLineBytes)
	}
	return err
}

func (s *Sim) serveReset(w http.ResponseWriter, _ *http.Request) {
	if err := s.Reset(); err != nil {
		refuse(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Sim) serveInject(w http.ResponseWriter, r *http.Request) {
	body, ok := readControlBody(w, r)
	if !ok {
		return
	}
	e := s.current.Load()
	faults, err := e.readFaults(body)
	if err != nil {
		refuse(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, f := range faults {
		e.faults.Inject(f)
	}
	writeJSON(w, e.faults.List())
}

// serveDemand changes the CPU that the callers of services request, for all lines or none.
func (s *Sim) serveDemand(w http.ResponseWriter, r *http.Request) {
	body, ok := readControlBody(w, r)
	if !ok {
		return
	}
	e := s.current.Load()
	err := e.world.Do(world.Key{Account: e.account, Region: e.region}, func(tx *world.Tx) error {
		return setDemands(tx, body)
	})
	if err != nil {
		refuse(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func setDemands(tx *world.Tx, body io.Reader) error {
	type demand struct {
		of      *world.Service
		percent float64
	}
	var all []demand
	lines := bufio.NewScanner(body)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		id, value, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		svc, ok := tx.Services.Get(id)
		percent, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		switch {
		case !ok:
			return fmt.Errorf("line %d: there is no service %q; write <cluster>/<service> <percent>", n, id)
		case err != nil || !(percent >= 0 && percent <= 1e9):
			return fmt.Errorf("line %d: %q is not a percentage of a task's CPU", n, value)
		}
		all = append(all, demand{svc, percent})
	}
	if err := lines.Err(); err != nil {
		return lineError(err)
	}
	for _, d := range all {
		tx.SetDemand(d.of, d.percent)
	}
	return nil
}

// readFaults reads one fault per line; empty lines and lines that begin with # are ignored.
func (e *generation) readFaults(r io.Reader) (faults []fault.Fault, err error) {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f, err := e.parseFault(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		faults = append(faults, f)
	}
	return faults, lineError(lines.Err())
}

// writeJSON answers with JSON, in which also those control characters are escaped that JSON allows.
func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		refuse(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(append(world.PrintableJSON(text), '\n'))
}

// rejectOtherHosts rejects requests for a host other than the listening one. The owner of a web
// page may point a name at loopback; such a name must not reach the APIs.
func rejectOtherHosts(next http.Handler, bound net.Addr) http.Handler {
	own, _, _ := net.SplitHostPort(bound.String())
	if !isLoopback(own) {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		host = strings.TrimPrefix(strings.Trim(host, "[]"), "data-") // the SDK's prefix of DiscoverInstances
		if host != own && !isLoopback(host) && !strings.HasSuffix(host, ".localhost") {
			refuse(w, fmt.Sprintf("the host %q is not this simulator's; use %s", r.Host, bound),
				http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
