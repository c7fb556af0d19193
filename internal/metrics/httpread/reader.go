package httpread

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxBody is how many bytes of a response are read.
const maxBody = 1_000_000

// maxRedirects is how many redirects on one host are followed.
const maxRedirects = 3

// Reader sends the requests of one provider.
type Reader struct {
	Op   string // of errors: "query Prometheus"
	Name string // of the provider, for errors
	// Client sends the requests. Its own rule for redirects is not used.
	Client *http.Client
	// Authorize adds credentials to a request, after all other headers are set. nil adds none.
	Authorize func(ctx context.Context, r *http.Request, body string) error
	// ReturnsRedirects is whether a redirect to another host is the response. Otherwise it is an error.
	ReturnsRedirects bool
	// Secrets never appear in an error, even if the provider returns them.
	Secrets []string
}

// Response is what a provider returned.
type Response struct {
	Status int
	Type   string // Content-Type, without its parameters
	Body   []byte
}

// Read sends a request and returns its response, whatever its status. Every error is a
// *sluice.Error. body is the body of the request.
func (r Reader) Read(ctx context.Context, method, address string, header http.Header, body string) (*Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, r.WrongQuery(errors.New("the address is not a URL"), "correct the address of the provider")
	}
	for name, values := range header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	if r.Authorize != nil {
		if err := r.Authorize(ctx, request, body); err != nil {
			return nil, err
		}
	}
	response, err := r.newClient().Do(request)
	if err != nil {
		return nil, r.sendError(ctx, request, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, r.sendError(ctx, request, err)
	case len(text) > maxBody:
		return nil, r.noAnswer(fmt.Errorf("HTTP %d with more than %d bytes", response.StatusCode, maxBody),
			"reduce what the query returns, or name the address of the API")
	}
	return &Response{Status: response.StatusCode, Type: contentType(response.Header), Body: text}, nil
}

// newClient returns the client with the rule for redirects. A redirect to another host could get the
// credentials of the request.
func (r Reader) newClient() *http.Client {
	c := *r.Client
	c.CheckRedirect = func(to *http.Request, via []*http.Request) error {
		first := via[0].URL
		if to.URL.Host != first.Host || to.URL.Scheme != first.Scheme {
			if r.ReturnsRedirects {
				return http.ErrUseLastResponse
			}
			return redirectError{to.URL.Scheme + "://" + to.URL.Host}
		}
		if len(via) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		return nil
	}
	return &c
}

// redirectError is a redirect to another host.
type redirectError struct{ to string }

func (e redirectError) Error() string { return "it redirects to " + e.to }

func contentType(h http.Header) string {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
