package account

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/sluice-ecs/sluice"
)

// callError is why a call ended: a short text over the errors that caused it. errors.Is and
// errors.As find those errors.
type callError struct {
	text   string
	causes []error
}

func (s *callError) Error() string   { return s.text }
func (s *callError) Unwrap() []error { return s.causes }

// contextEnd returns the end of ctx as an error. errors.Is finds it by ctx's error and by its
// cause.
func contextEnd(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return &callError{cause.Error(), []error{cause, ctx.Err()}}
}

// unsentError returns the error of a call that ended before an attempt: stopped while waiting,
// without credentials, or without its claim. An attempt before that may have had no response.
func (g gate) unsentError(r request, err error, unanswered bool) error {
	told := &sluice.Error{Op: r.operation, Resource: r.resource, Kind: sluice.KindOf(err), Next: sluice.NextStep(err),
		Err: err}
	var whole *sluice.Error
	if errors.As(err, &whole) && whole.Op == r.operation {
		told.Err = whole.Err
	}
	told.Err = withUnanswered(told.Err, unanswered)
	return told
}

// failedError returns the error of a call whose last attempt was the nth.
func (g gate) failedError(ctx context.Context, r request, f fault, n int, unanswered bool) error {
	words, behind := faultReason(ctx, f)
	if n > 1 {
		words += fmt.Sprintf(", at attempt %d", n)
	}
	if f.silentFor >= silenceReportAfter && f.class != classThrottled {
		words = fmt.Sprintf("no response from AWS for %s: %s", f.silentFor.Round(time.Second), words)
	}
	if f.lacksPermission() {
		behind = append(behind, sluice.ErrNoPermission)
	}
	return &sluice.Error{
		Op:       r.operation,
		Resource: r.resource,
		Kind:     f.errorKind(),
		Err:      withUnanswered(&callError{words, behind}, unanswered),
		Next:     g.adviceFor(r, f),
	}
}

// withUnanswered adds to an error that the call may have taken effect.
func withUnanswered(err error, unanswered bool) error {
	if !unanswered {
		return err
	}
	return &callError{err.Error() + "; " + sluice.ErrUnanswered.Error(), []error{sluice.ErrUnanswered, err}}
}

// faultReason returns what AWS or the network returned, without the SDK's wrapping.
func faultReason(ctx context.Context, f fault) (words string, behind []error) {
	behind = []error{f.err}
	var api smithy.APIError
	var reply *smithyhttp.ResponseError
	var send *smithyhttp.RequestSendError
	switch {
	case f.class == classStopped:
		end := contextEnd(ctx)
		return "stopped before AWS responded: " + end.Error(), append(behind, end)
	case f.timedOut:
		return fmt.Sprintf("no response within %s", attemptTimeout), behind
	case errors.As(f.err, &api) && !isForeign(api):
		return strings.TrimSuffix(api.ErrorCode()+": "+api.ErrorMessage(), ": ") + requestIDText(f.err), behind
	case isTLS(f.err):
		return tlsReason(f.err), behind
	case refusedAt(f.err) != "":
		return "nothing listens at " + refusedAt(f.err) + " (connection refused)", behind
	case errors.As(f.err, &send):
		return send.Err.Error(), behind
	case errors.As(f.err, &reply) && replyStatus(reply) >= 300:
		return fmt.Sprintf("HTTP %d, and it is not a response of AWS%s", replyStatus(reply), redirectText(reply)) +
			requestIDText(f.err), behind
	case errors.As(f.err, &reply):
		return fmt.Sprintf("HTTP %d, and the response cannot be read", replyStatus(reply)) +
			requestIDText(f.err), behind
	}
	return f.err.Error(), behind
}

// refusedAt returns the address that refused a connection, or "". The text is that of Unix or of Windows.
func refusedAt(err error) string {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" && dial.Addr != nil && strings.Contains(dial.Err.Error(), "refused") {
		return dial.Addr.String()
	}
	return ""
}

// redirectText names the host to which a response redirects, if it redirects. A network's sign-in
// page is such a host.
func redirectText(reply *smithyhttp.ResponseError) string {
	where, err := url.Parse(reply.Response.Header.Get("Location"))
	if err != nil || where.Host == "" {
		return ""
	}
	return ": it redirects to " + where.Host
}

// tlsReason names the certificate authority that this machine does not trust.
func tlsReason(err error) string {
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	if !errors.As(err, &untrusted) {
		return "TLS: the endpoint does not speak TLS"
	}
	if errors.As(err, &unknown) && len(untrusted.UnverifiedCertificates) > 0 {
		last := untrusted.UnverifiedCertificates[len(untrusted.UnverifiedCertificates)-1]
		return fmt.Sprintf("TLS: this machine does not trust the certificate authority %q", last.Issuer.String())
	}
	return "TLS: " + untrusted.Err.Error()
}

// requestIDText returns the request id, which AWS support asks for.
func requestIDText(err error) string {
	var id interface{ ServiceRequestID() string }
	if errors.As(err, &id) && id.ServiceRequestID() != "" {
		return " (request id " + id.ServiceRequestID() + ")"
	}
	return ""
}

func (f fault) errorKind() sluice.Kind {
	switch f.class {
	case classThrottled:
		return sluice.Throttled
	case classUnsent, classBroken:
		return sluice.Unreachable
	case classStopped:
		return ""
	}
	kind := kindOf(f.errorCode())
	if kind == "" && f.httpStatus() == 403 {
		return sluice.Denied
	}
	return kind
}

// lacksPermission reports whether AWS knows the identity and denies it the call. Expired or unknown credentials are
// another matter: with new ones the same call succeeds.
func (f fault) lacksPermission() bool {
	code := strings.TrimSuffix(f.errorCode(), "Exception")
	return f.errorKind() == sluice.Denied && (code == "" || strings.HasPrefix(code, "AccessDenied") ||
		code == "UnauthorizedOperation" || code == "NotAuthorized")
}

func (f fault) errorCode() string {
	var api smithy.APIError
	if errors.As(f.err, &api) && !isForeign(api) {
		return api.ErrorCode()
	}
	return ""
}

func (f fault) httpStatus() int {
	var reply *smithyhttp.ResponseError
	errors.As(f.err, &reply)
	return replyStatus(reply)
}

// kindOf maps AWS's error code to a kind. The code may lack the suffix Exception, as in query
// services.
func kindOf(code string) sluice.Kind {
	code = strings.TrimSuffix(code, "Exception")
	switch {
	case isExpired(code), strings.HasPrefix(code, "AccessDenied"):
		return sluice.Denied
	case strings.Contains(code, "NotFound"):
		return sluice.NotFound
	case strings.Contains(code, "Conflict"):
		return sluice.Conflict
	}
	switch code {
	case "UnrecognizedClient", "InvalidClientTokenId", "SignatureDoesNotMatch", "InvalidSignature",
		"IncompleteSignature",
		"MissingAuthenticationToken", "UnauthorizedOperation", "NotAuthorized", "OptInRequired", "InvalidIdentityToken":
		return sluice.Denied
	case "ServiceNotActive", "UpdateInProgress", "ConcurrentUpdate", "ResourceInUse", "PriorityInUse",
		"DuplicateRequest":
		return sluice.Conflict
	}
	return ""
}

func isExpired(code string) bool {
	return strings.HasPrefix(code, "ExpiredToken") || strings.HasPrefix(code, "RequestExpired")
}

// errorWrapper makes a *sluice.Error of errors that occur before the gate: an input without a
// required field, a missing client token.
type errorWrapper struct{ g gate }

// ID returns the middleware's name in the SDK's stack.
func (errorWrapper) ID() string { return "SluiceWording" }

// HandleInitialize is the outermost step of every call.
func (w errorWrapper) HandleInitialize(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	out, meta, err := next.HandleInitialize(ctx, in)
	var told *sluice.Error
	if err == nil || errors.As(err, &told) && told.Op != "" {
		return out, meta, err
	}
	r := w.g.newRequest(ctx, in.Parameters)
	flat := strings.Join(strings.Fields(err.Error()), " ") // the SDK lists missing fields on several lines
	return out, meta, &sluice.Error{Op: r.operation, Resource: r.resource, Err: &callError{flat, []error{err}}}
}
