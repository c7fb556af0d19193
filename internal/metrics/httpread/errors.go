package httpread

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/printable"
	"github.com/sluice-ecs/sluice/internal/secret"
)

const (
	// maxExcerpt is how many characters of a response an error contains.
	maxExcerpt = 200
	// minSecret is how long a credential is at least: shorter ones are parts of words.
	minSecret = 4
	// maxMasked is how many bytes of a response are searched for secrets.
	maxMasked = 8_000
)

// StatusError returns the error of a response whose status is not 2xx. message is what the provider
// says in it; empty: an excerpt of the body.
func (r Reader) StatusError(address string, got *Response, message string) error {
	if message == "" {
		message = r.excerpt(got)
	}
	text := fmt.Sprintf("HTTP %d", got.Status)
	if message = r.Mask(message); message != "" {
		text += ": " + message
	}
	e := &sluice.Error{Op: r.Op, Resource: r.Name, Err: errors.New(text)}
	switch {
	case got.Status == http.StatusUnauthorized, got.Status == http.StatusForbidden:
		e.Kind, e.Next = sluice.Denied, "check the credentials of the provider, and what they may read"
	case got.Status == http.StatusTooManyRequests:
		e.Kind, e.Next = sluice.Throttled, "use a longer interval, or raise the limit of the provider"
	case got.Status >= 500:
		e.Kind, e.Next = sluice.Unreachable, "check that "+secret.URL(address)+" responds"
	case got.Status == http.StatusNotFound:
		e.Next = "check that " + secret.URL(address) + " is the address of the API"
	default:
		e.Next = "correct the query"
	}
	return e
}

// NotJSON returns the error of a response that cannot be read as JSON.
func (r Reader) NotJSON(address string, got *Response, err error) error {
	what := "broken JSON: " + err.Error()
	switch {
	case len(got.Body) == 0:
		what = "an empty response"
	case got.Body[0] == '<':
		what = "a page instead of JSON"
	}
	if got.Type != "" && !strings.HasSuffix(got.Type, "json") {
		what += " (" + got.Type + ")"
	}
	return r.noAnswer(fmt.Errorf("HTTP %d with %s", got.Status, r.Mask(what)),
		"check that "+secret.URL(address)+" is the address of the API, and not of a login page or a proxy")
}

// WrongQuery returns the error of a request that cannot be right, or of a query that the provider does not answer with one
// number.
func (r Reader) WrongQuery(err error, next string) error {
	return &sluice.Error{Op: r.Op, Resource: r.Name, Err: err, Next: next}
}

// SeriesError returns the error of a query with several series. how reduces them to one.
func (r Reader) SeriesError(n int, how string) error {
	return r.WrongQuery(fmt.Errorf("the query has %d series, and a gate needs one", n), "reduce them to one with "+how)
}

// Mask returns a text of the provider for an error: one short line without secrets.
func (r Reader) Mask(text string) string {
	for _, s := range r.Secrets {
		if len(s) >= minSecret {
			text = strings.ReplaceAll(text, s, secret.Stars)
		}
	}
	return printable.Clip(printable.Line(strings.ToValidUTF8(text[:min(len(text), maxMasked)], "")), maxExcerpt)
}

// excerpt returns the begin of a body. A page of HTML says nothing in its first characters.
func (r Reader) excerpt(got *Response) string {
	text := strings.TrimSpace(string(got.Body))
	if text == "" || text[0] == '<' {
		return got.Type
	}
	return text
}

func (r Reader) noAnswer(err error, next string) error {
	return &sluice.Error{Op: r.Op, Resource: r.Name, Kind: sluice.Unreachable, Err: err, Next: next}
}

// sendError returns the error of a request without a complete response. It contains no URL: the
// query of a URL may contain secrets.
func (r Reader) sendError(ctx context.Context, request *http.Request, err error) error {
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	address := request.URL.Scheme + "://" + request.URL.Host
	var redirect redirectError
	switch {
	case errors.As(err, &redirect):
		return r.noAnswer(err, "set the address to the host that answers, or check for a login page before it")
	case ctx.Err() != nil:
		return r.StoppedError(ctx, address)
	case isTLS(err):
		return r.noAnswer(coveredError{tlsText(err), err},
			"trust the certificate authority on this machine, or correct the address")
	}
	text := r.Mask(err.Error())
	if errors.Is(err, syscall.ECONNREFUSED) {
		text = "connection refused" // next names the address
	}
	return r.noAnswer(coveredError{text, err}, "check that "+secret.URL(address)+" responds")
}

// StoppedError returns the error of a query whose context has ended.
func (r Reader) StoppedError(ctx context.Context, address string) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return r.noAnswer(coveredError{"no response in time", cause},
			"check that "+secret.URL(address)+" responds, or raise timeout")
	}
	return &sluice.Error{Op: r.Op, Resource: r.Name, Kind: sluice.KindOf(cause), Err: cause}
}

// coveredError is a short text over an error that errors.Is finds.
type coveredError struct {
	text  string
	cause error
}

func (e coveredError) Error() string { return e.text }
func (e coveredError) Unwrap() error { return e.cause }

func isTLS(err error) bool {
	var header tls.RecordHeaderError
	var alert tls.AlertError
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &header) || errors.As(err, &alert) || errors.As(err, &untrusted) ||
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// tlsText names the certificate authority that this machine does not trust.
func tlsText(err error) string {
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown) && unknown.Cert != nil:
		return fmt.Sprintf("TLS: this machine does not trust the certificate authority %q",
			printable.Line(unknown.Cert.Issuer.String()))
	case errors.As(err, &untrusted):
		return "TLS: " + untrusted.Err.Error()
	}
	return "TLS: the server does not use TLS"
}
