package check

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/metrics/httpread"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// Result is the result of a check.
type Result struct {
	Passed bool
	Text   string // what the check found, for users: one printable line
}

// HTTP is a request and the response that it must have: the `https` of PipeCD's ANALYSIS stage.
type HTTP struct {
	URL              string
	Method           string // "": GET
	Header           http.Header
	ExpectedCode     int    // 0: any from 200 to 299
	ExpectedResponse string // the exact body; "": any
}

// Run sends the request. A request without a response fails the check: the service under test does
// not answer. ctx limits its time. A redirect on the host is followed; a redirect to another host is
// the response, because the headers may have credentials.
func (h HTTP) Run(ctx context.Context, client *http.Client) (Result, error) {
	reader := httpread.Reader{Op: "check", Name: secret.URL(h.URL), Client: client, ReturnsRedirects: true}
	method := h.Method
	if method == "" {
		method = http.MethodGet
	}
	got, err := reader.Read(ctx, method, h.URL, h.Header, "")
	switch {
	case err == nil:
		return h.judge(reader, got), nil
	case sluice.KindOf(err) == sluice.Unreachable:
		return Result{Text: err.Error()}, nil
	}
	return Result{}, err
}

func (h HTTP) judge(reader httpread.Reader, got *httpread.Response) Result {
	text := fmt.Sprintf("%s: HTTP %d", reader.Name, got.Status)
	switch {
	case h.ExpectedCode == 0 && got.Status/100 != 2:
		return Result{Text: text + ", expected 200 to 299"}
	case h.ExpectedCode != 0 && got.Status != h.ExpectedCode:
		return Result{Text: fmt.Sprintf("%s, expected %d", text, h.ExpectedCode)}
	case h.ExpectedResponse != "" && string(got.Body) != h.ExpectedResponse:
		return Result{Text: fmt.Sprintf("%s with %q, expected %q", text, reader.Mask(string(got.Body)),
			reader.Mask(h.ExpectedResponse))}
	}
	return Result{Passed: true, Text: text}
}

// Check returns why the request cannot be sent; nil if it can.
func (h HTTP) Check() error {
	r, err := http.NewRequest(h.Method, h.URL, nil)
	switch {
	case err != nil && h.Method != "" && !isToken(h.Method):
		return fmt.Errorf("the method %q is not one of HTTP", h.Method)
	case err != nil:
		return errors.New("the url is not a URL")
	case r.URL.Scheme != "http" && r.URL.Scheme != "https", r.URL.Host == "":
		return fmt.Errorf("the url needs http:// or https:// and a host: %s", secret.URL(h.URL))
	case h.ExpectedCode != 0 && (h.ExpectedCode < 100 || h.ExpectedCode > 599):
		return fmt.Errorf("expectedCode %d is no status of HTTP", h.ExpectedCode)
	}
	return nil
}

func isToken(method string) bool {
	for _, c := range method {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return true
}
