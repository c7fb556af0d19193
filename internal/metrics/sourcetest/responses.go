package sourcetest

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/metrics"
)

func serveCompressed(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			fmt.Fprint(w, body)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/json")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, body)
		z.Close()
	}
}

const page = "<html><head><title>502 Bad Gateway</title></head><body>token=" + Planted + "</body></html>"

// statusCases are responses that refuse.
func (p Provider) statusCases() []testCase {
	refusal := func(status int, kind sluice.Kind) testCase {
		body := fmt.Sprintf(`{"status":"error","error":"no \u001b[31m for %s","errors":["no %s"]}`, Planted, Planted)
		return testCase{name: fmt.Sprint(status), serve: serve(status, "application/json", body), fails: true,
			kind: kind, part: fmt.Sprintf("HTTP %d", status)}
	}
	return []testCase{
		refusal(http.StatusUnauthorized, sluice.Denied),
		refusal(http.StatusForbidden, sluice.Denied),
		refusal(http.StatusTooManyRequests, sluice.Throttled),
		refusal(http.StatusBadRequest, ""),
		refusal(http.StatusNotFound, ""),
		refusal(http.StatusUnprocessableEntity, ""),
		refusal(http.StatusInternalServerError, sluice.Unreachable),
		refusal(http.StatusServiceUnavailable, sluice.Unreachable),
		{name: "page of a gateway", serve: serve(http.StatusBadGateway, "text/html", page), fails: true,
			kind: sluice.Unreachable, part: "HTTP 502"},
	}
}

// bodyCases are responses with 200 that are no answer.
func (p Provider) bodyCases() []testCase {
	broken := func(name, kind, body, part string) testCase {
		return testCase{name: name, serve: serve(http.StatusOK, kind, body), fails: true, kind: sluice.Unreachable,
			part: part}
	}
	whole := p.Body([]metrics.Point{point(9, 1.5)})
	all := []testCase{
		broken("broken JSON", "application/json", whole[:len(whole)-1], "broken JSON"),
		broken("text after the JSON", "application/json", whole+"{}", "broken JSON"),
		broken("empty response", "application/json", "", "an empty response"),
		broken("login page", "text/html; charset=utf-8", page, "a page instead of JSON (text/html)"),
		broken("more than a megabyte", "application/json", `["`+strings.Repeat(Planted, 500_000)+`"]`,
			"more than 1000000 bytes"),
		{name: "more than a megabyte, compressed", serve: serveCompressed(strings.Repeat(" ", 10_000_000)), fails: true,
			kind: sluice.Unreachable, part: "more than 1000000 bytes"},
		{name: "cut off", serve: serveCutOff(whole), fails: true, kind: sluice.Unreachable, part: "EOF"},
	}
	for i, body := range p.Incomplete {
		all = append(all, broken(fmt.Sprintf("incomplete response %d", i), "application/json", body, ""))
	}
	return all
}

// serveCutOff ends the connection within the response.
func serveCutOff(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)+1))
		fmt.Fprint(w, body)
	}
}

// testSlow: the time of the query ends while the server has not responded.
func (p Provider) testSlow(t *testing.T) {
	p.endDuringQuery(t, context.DeadlineExceeded, testCase{fails: true, kind: sluice.Unreachable,
		part: "no response in time"})
}

// testStopped: a person stops the deployment during the query.
func (p Provider) testStopped(t *testing.T) {
	p.endDuringQuery(t, &sluice.Error{Op: "stop", Kind: sluice.Halted, Next: "run sluice resume"},
		testCase{fails: true, kind: sluice.Halted})
}

func (p Provider) endDuringQuery(t *testing.T, cause error, c testCase) {
	ctx, end := context.WithCancelCause(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		end(cause)
		<-r.Context().Done()
	}))
	defer server.Close()
	p.check(t, c, ctx, server.URL, server.Client())
}

func (p Provider) testNoServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	p.check(t, testCase{fails: true, kind: sluice.Unreachable, part: "refused"}, t.Context(), server.URL,
		server.Client())
}

func (p Provider) testUnknownCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(serveJSON(p.Body(nil)))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the client ends the handshake
	server.StartTLS()
	defer server.Close()
	p.check(t, testCase{fails: true, kind: sluice.Unreachable, part: "does not trust the certificate authority"},
		t.Context(), server.URL, &http.Client{Transport: &http.Transport{}})
}

func (p Provider) testNoTLS(t *testing.T) {
	server := httptest.NewServer(serveJSON(p.Body(nil)))
	defer server.Close()
	p.check(t, testCase{fails: true, kind: sluice.Unreachable, part: "TLS: the server does not use TLS"}, t.Context(),
		strings.Replace(server.URL, "http:", "https:", 1), server.Client())
}

// testRedirectAway: the other host must not get the credentials.
func (p Provider) testRedirectAway(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect to another host is followed")
	}))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL+"/login?next="+Planted, http.StatusFound))
	defer server.Close()
	p.check(t, testCase{fails: true, kind: sluice.Unreachable, part: "it redirects to " + other.URL}, t.Context(),
		server.URL, server.Client())
}

func (p Provider) testRedirectHere(t *testing.T) {
	one := []metrics.Point{point(9, 1.5)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if prefix := "/new"; !strings.HasPrefix(r.URL.Path, prefix) {
			http.Redirect(w, r, prefix+r.URL.RequestURI(), http.StatusTemporaryRedirect)
			return
		}
		serveJSON(p.Body(p.timed(one)))(w, r)
	}))
	defer server.Close()
	p.check(t, testCase{want: one}, t.Context(), server.URL, server.Client())
}
