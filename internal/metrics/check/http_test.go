package check

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// A check passes by its status and its body. Everything that the service under test answers instead
// is a failed check and no error.
func TestHTTP(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect to another host is followed")
	}))
	defer other.Close()
	var last *http.Request
	mux := http.NewServeMux()
	serve := func(path string, status int, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			last = r
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		})
	}
	serve("/ok", 200, "ready")
	serve("/created", 201, "")
	serve("/error", 500, "token=hunter2hunter2 \x1b[31m")
	serve("/long", 200, strings.Repeat("x", 2_000_000))
	mux.Handle("/here", http.RedirectHandler("/ok", http.StatusFound))
	mux.Handle("/away", http.RedirectHandler(other.URL, http.StatusFound))
	mux.HandleFunc("/hangup", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	server := httptest.NewServer(mux)
	defer server.Close()
	type check = appfile.HTTPCheck
	for _, c := range []struct {
		path   string
		check  check
		failed string // empty: it passes
	}{
		{"/ok", check{Code: 200}, ""},
		{"/ok", check{Code: 200, Response: "ready"}, ""},
		{"/ok", check{Code: 201}, "HTTP 200, expected 201"},
		{"/ok", check{Code: 200, Response: "read"}, `HTTP 200 with "ready", expected "read"`},
		{"/created", check{Code: 201}, ""},
		{"/error", check{Code: 200}, "HTTP 500, expected 200"},
		{"/error", check{Code: 500}, ""},
		{"/error", check{Code: 500, Response: "x"}, `with "token=***`},
		{"/here", check{Code: 200}, ""},
		{"/away", check{Code: 302}, ""},
		{"/away", check{Code: 200}, "HTTP 302"},
		{"/hangup", check{Code: 200}, "EOF"},
		{"/long", check{Code: 200}, "more than 1000000 bytes"},
	} {
		c.check.URL, c.check.Method = server.URL+c.path+"?key=PLANTED", "GET"
		got, err := Request(t.Context(), server.Client(), c.check, nil)
		if err != nil || got.Passed != (c.failed == "") || !strings.Contains(got.Failed, c.failed) ||
			strings.ContainsAny(got.Failed, "\x1b\n") || strings.Contains(got.Failed, "PLANTED") {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	post := check{URL: server.URL + "/ok", Method: "POST", Code: 200}
	header := http.Header{"x-twice": {"a", "b"}, "Host": {"web.test"}}
	if got, err := Request(t.Context(), server.Client(), post, header); err != nil || !got.Passed || last.Method != "POST" ||
		strings.Join(last.Header.Values("X-Twice"), " ") != "a b" || last.Host != "web.test" {
		t.Errorf("%+v, %v: %s %s %v", got, err, last.Method, last.Host, last.Header)
	}
	server.Close()
	if got, err := Request(t.Context(), server.Client(), post, nil); err != nil || got.Passed ||
		!strings.Contains(got.Failed, "refused") {
		t.Errorf("without a server: %+v, %v", got, err)
	}
	if _, err := Request(t.Context(), http.DefaultClient, check{URL: "http://[::1", Method: "GET"}, nil); err == nil ||
		sluice.KindOf(err) == sluice.Unreachable {
		t.Errorf("a wrong URL is no failed check: %v", err)
	}
}
