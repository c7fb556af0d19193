package check

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
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
	for _, c := range []struct {
		path   string
		check  HTTP
		passes bool
		text   string
	}{
		{"/ok", HTTP{}, true, "HTTP 200"},
		{"/ok", HTTP{ExpectedCode: 200, ExpectedResponse: "ready"}, true, "HTTP 200"},
		{"/ok", HTTP{ExpectedCode: 201}, false, "HTTP 200, expected 201"},
		{"/ok", HTTP{ExpectedResponse: "read"}, false, `HTTP 200 with "ready", expected "read"`},
		{"/created", HTTP{}, true, "HTTP 201"},
		{"/error", HTTP{}, false, "HTTP 500, expected 200 to 299"},
		{"/error", HTTP{ExpectedCode: 500}, true, "HTTP 500"},
		{"/error", HTTP{ExpectedCode: 500, ExpectedResponse: "x"}, false, `with "token=***`},
		{"/here", HTTP{ExpectedCode: 200}, true, "HTTP 200"},
		{"/away", HTTP{ExpectedCode: 302}, true, "HTTP 302"},
		{"/away", HTTP{}, false, "HTTP 302"},
		{"/hangup", HTTP{}, false, "EOF"},
		{"/long", HTTP{}, false, "more than 1000000 bytes"},
	} {
		c.check.URL = server.URL + c.path + "?key=PLANTED"
		got, err := c.check.Run(t.Context(), server.Client())
		if err != nil || got.Passed != c.passes || !strings.Contains(got.Text, c.text) ||
			strings.ContainsAny(got.Text, "\x1b\n") || strings.Contains(got.Text, "PLANTED") {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	h := HTTP{URL: server.URL + "/ok", Method: "POST", Header: http.Header{"x-twice": {"a", "b"}, "Host": {"web.test"}}}
	if got, err := h.Run(t.Context(), server.Client()); err != nil || !got.Passed || last.Method != "POST" ||
		strings.Join(last.Header.Values("X-Twice"), " ") != "a b" || last.Host != "web.test" {
		t.Errorf("%+v, %v: %s %s %v", got, err, last.Method, last.Host, last.Header)
	}
	server.Close()
	if got, err := h.Run(t.Context(), server.Client()); err != nil || got.Passed ||
		!strings.Contains(got.Text, "refused") {
		t.Errorf("without a server: %+v, %v", got, err)
	}
}

func TestHTTPIsCheckedBeforehand(t *testing.T) {
	for want, h := range map[string]HTTP{
		"":                      {URL: "https://web.test/smoke", Method: "GET", ExpectedCode: 204},
		"needs http://":         {URL: "web.test/smoke"},
		"the method":            {URL: "https://web.test", Method: "G T"},
		"is no status":          {URL: "https://web.test", ExpectedCode: 20},
		"the url is not a URL":  {URL: "http://[::1"},
		"http:// or https://":   {URL: "ftp://web.test"},
		"and a host: https:///": {URL: "https:///x"},
	} {
		if err := h.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", h, err, want)
		}
	}
	if _, err := (HTTP{URL: "http://[::1"}).Run(t.Context(), http.DefaultClient); err == nil ||
		sluice.KindOf(err) == sluice.Unreachable {
		t.Errorf("a wrong URL is no failed check: %v", err)
	}
}
