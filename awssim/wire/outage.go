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

// Outage replaces an answer of AWS: by a failing connection, or by the answer of a proxy. Its
// values are the words of the fault outage.
type Outage string

// Error returns the error text of a call that ended by the outage.
func (o Outage) Error() string { return "no answer: " + string(o) }

// takesEffect reports whether the call is carried out although its answer is replaced.
func (o Outage) takesEffect() bool { return o == "truncated" }

// ErrNoAnswer marks an empty output of [Server.Call] that did not come from AWS.
var ErrNoAnswer = errors.New("an empty answer of a proxy")

// proxyReply returns the answer of a proxy; ok is false if there is none.
func (o Outage) proxyReply() (status int, header http.Header, body string, ok bool) {
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
		return http.StatusBadRequest, http.Header{"Content-Type": {"application/x-amz-json-1.1"}},
			`{"__type":"AccessDen`, true
	case "truncated":
		return http.StatusOK, http.Header{"Content-Type": {"application/x-amz-json-1.1"}}, `{"serv`, true
	}
	return 0, nil, "", false
}

// isCut reports whether the connection breaks within the body.
func (o Outage) isCut() bool { return o == "unread" || o == "truncated" }

// writeTo answers over a socket. It closes the connection if the outage has no answer.
func (o Outage) writeTo(w http.ResponseWriter) {
	status, header, body, ok := o.proxyReply()
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
	status, header, body, ok := o.proxyReply()
	if !ok {
		return nil, o.connectionError(r.Context())
	}
	var b io.Reader = strings.NewReader(body)
	if o.isCut() {
		b = io.MultiReader(b, brokenBody{})
	}
	return &http.Response{Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: header, ContentLength: -1,
		Body: io.NopCloser(b)}, nil
}

// brokenBody is the missing rest of a truncated body.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// connectionError returns the error of a failing connection.
func (o Outage) connectionError(ctx context.Context) error {
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

// sdkResult returns the result that the SDK's client would return, without bytes. none is an output
// without fields.
func (o Outage) sdkResult(ctx context.Context, none any) (any, error) {
	status, header, _, ok := o.proxyReply()
	if !ok {
		return nil,
			&smithyhttp.RequestSendError{Err: &url.Error{Op: "Post", URL: "direct:", Err: o.connectionError(ctx)}}
	}
	if o == "empty" || o == "object" {
		return none, ErrNoAnswer
	}
	err := error(&smithy.DeserializationError{Err: errors.New("failed to decode response body")})
	if o == "redirect" {
		err = &smithy.GenericAPIError{Code: "UnknownError", Message: "UnknownError"}
	}
	return nil,
		&smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status,
			Header: header}}, Err: err}
}
