package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Outage is what comes instead of an answer of AWS's: a connection that fails, or
// what a proxy says. Its values are the words of the fault outage.
type Outage string

// Error is the outage as the error that ends a call.
func (o Outage) Error() string { return "no answer: " + string(o) }

// takesEffect reports whether the call is carried out all the same.
func (o Outage) takesEffect() bool { return o == "truncated" }

// ErrNoAnswer marks an output of [Server.Call] that AWS did not give: it is empty.
var ErrNoAnswer = errors.New("an empty answer of a proxy")

// reply is what a proxy says; ok is false if it says nothing.
func (o Outage) reply() (status int, header http.Header, body string, ok bool) {
	html := http.Header{"Content-Type": {"text/html"}}
	switch o {
	case "page":
		return http.StatusBadGateway, html, "<html><head><title>502 Bad Gateway</title></head></html>", true
	case "garbage":
		return http.StatusOK, html, "\x00\x01<not an answer", true
	case "empty":
		return http.StatusOK, http.Header{}, "", true
	case "object":
		return http.StatusOK, http.Header{"Content-Type": {"application/json"}}, "{}", true
	case "redirect":
		return http.StatusFound, http.Header{"Location": {"http://login.invalid/"}}, "", true
	case "unread":
		return http.StatusBadRequest, http.Header{"Content-Type": {"application/x-amz-json-1.1"}}, `{"__type":"AccessDen`, true
	case "truncated":
		return http.StatusOK, http.Header{"Content-Type": {"application/x-amz-json-1.1"}}, `{"serv`, true
	}
	return 0, nil, "", false
}

// isCut reports whether the connection breaks within the body.
func (o Outage) isCut() bool { return o == "unread" || o == "truncated" }

// serve answers over a socket. What cannot be said there closes the connection.
func (o Outage) serve(w http.ResponseWriter) {
	status, header, body, ok := o.reply()
	if !ok {
		panic(http.ErrAbortHandler)
	}
	for name, values := range header {
		w.Header()[name] = values
	}
	length := len(body)
	if o.isCut() {
		length += 100
	}
	w.Header().Set("Content-Length", strconv.Itoa(length))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
	if o.isCut() {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// roundTrip answers in process.
func (o Outage) roundTrip(r *http.Request) (*http.Response, error) {
	status, header, body, ok := o.reply()
	if !ok {
		return nil, o.transport(r.Context())
	}
	var b io.Reader = strings.NewReader(body)
	if o.isCut() {
		b = io.MultiReader(b, broken{})
	}
	return &http.Response{Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: header, ContentLength: -1, Body: io.NopCloser(b)}, nil
}

// broken is the rest of a body that does not come.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// transport is the error of a connection that fails.
func (o Outage) transport(ctx context.Context) error {
	switch o {
	case "refused":
		return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case "untrusted":
		return &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{},
			UnverifiedCertificates: []*x509.Certificate{{Issuer: pkix.Name{CommonName: "Corporate Root CA"}}}}
	case "silent":
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return io.EOF
}

// direct is what the SDK's client would return, without bytes. none is an output
// without members.
func (o Outage) direct(ctx context.Context, none any) (any, error) {
	status, header, _, ok := o.reply()
	if !ok {
		return nil, &smithyhttp.RequestSendError{Err: &url.Error{Op: "Post", URL: "direct:", Err: o.transport(ctx)}}
	}
	if o == "empty" || o == "object" {
		return none, ErrNoAnswer
	}
	err := error(&smithy.DeserializationError{Err: errors.New("failed to decode response body")})
	if o == "redirect" {
		err = &smithy.GenericAPIError{Code: "UnknownError", Message: "UnknownError"}
	}
	return nil, &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status, Header: header}}, Err: err}
}
