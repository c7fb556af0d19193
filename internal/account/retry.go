package account

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	// attemptTimeout is for one request and its response, in network time. AWS responds to
	// control-plane calls within seconds.
	attemptTimeout = 20 * time.Second

	// throttledAttempts covers about a minute of throttling, longer than AWS's buckets take to
	// refill from empty.
	throttledAttempts = 8
	// brokenAttempts is for 5xx, lost connections and timeouts. A read that fails for good ends a
	// deployment. With six attempts, one call in five may fail and all calls of a long pipeline
	// still succeed. At 20 s each, they take two minutes.
	brokenAttempts = 6
	// unsentAttempts is for connections that were never made: sluice should report a wrong endpoint
	// within seconds.
	unsentAttempts = 4

	throttledBase = time.Second // the first wait after "Rate exceeded"
	brokenBase    = 200 * time.Millisecond
	maxBackoff    = 20 * time.Second
	maxRetryAfter = time.Minute // upper limit of the wait that a response asks for
)

// faultClass classifies one failed attempt.
type faultClass int

const (
	classRefused   faultClass = iota // AWS or the SDK refused it; no effect; a retry does not help
	classThrottled                   // AWS refused the rate; no effect
	classUnsent                      // no connection was made; no effect
	// 5xx, lost connection, no response in time, an unreadable response: effect unknown
	classBroken
	classStopped // the caller's context ended during the attempt: effect unknown
)

// isUnclear reports whether the attempt may have taken effect.
func (c faultClass) isUnclear() bool { return c == classBroken || c == classStopped }

// fault is one failed attempt.
type fault struct {
	class      faultClass
	err        error
	timedOut   bool          // no response within attemptTimeout
	silentFor  time.Duration // how long a call with a LongRetry has had no response
	retryAfter time.Duration // wait that the response asks for; 0: none
}

// throttleCodes are error codes of throttling. The SDK also counts LimitExceededException, but in
// ECS (task sets, task definitions) and in Application Auto Scaling that is a quota: waiting does
// not help.
var throttleCodes = []string{
	"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled", "RequestThrottledException",
	"TooManyRequestsException", "RequestLimitExceeded", "BandwidthLimitExceeded", "SlowDown", "PriorRequestNotComplete",
	"EC2ThrottledException", "ProvisionedThroughputExceededException", "TransactionInProgressException",
}

// brokenCodes are failures inside AWS that may come without a 5xx status.
var brokenCodes = []string{
	"RequestTimeout", "RequestTimeoutException", "ServerException", "InternalFailure", "InternalError",
	"InternalServerError",
	"ServiceUnavailable", "ServiceUnavailableException", "InternalServiceException", "IDPCommunicationError",
}

// classify determines the class of the attempt's error. ctx is the caller's, tried the attempt's
// with its time limit.
func classify(ctx, tried context.Context, err error) fault {
	f := fault{err: err}
	var api smithy.APIError
	var reply *smithyhttp.ResponseError
	isReply := errors.As(err, &reply)
	switch {
	case errors.As(err, &api) && !isForeign(api):
		f.class = classOfReply(api, replyStatus(reply))
	case isReply && replyStatus(reply) >= 300:
		f.class = classOfStatus(replyStatus(reply))
		if f.class == classRefused {
			f.class = classBroken // each refusal of AWS names an error
		}
	case ctx.Err() != nil:
		f.class = classStopped
	case tried.Err() != nil:
		f.class, f.timedOut = classBroken, true
	default:
		f.class = classOfTransport(err)
	}
	f.retryAfter = retryAfter(reply)
	return f
}

// isForeign reports whether a response names no AWS error: the SDK calls it UnknownError. A
// redirect or the page of a proxy is such a response.
func isForeign(api smithy.APIError) bool {
	return api.ErrorCode() == "" || api.ErrorCode() == "UnknownError"
}

func classOfReply(api smithy.APIError, status int) faultClass {
	code := api.ErrorCode()
	switch {
	case slices.Contains(throttleCodes, code):
		return classThrottled
	// ECS registers revisions of one family one by one. It returns this
	// ClientException before it creates anything.
	case code == "ClientException" && strings.HasPrefix(api.ErrorMessage(), "Too many concurrent attempts"):
		return classThrottled
	case slices.Contains(brokenCodes, code), api.ErrorFault() == smithy.FaultServer:
		return classBroken
	}
	return classOfStatus(status)
}

func classOfStatus(status int) faultClass {
	switch {
	case status == http.StatusTooManyRequests:
		return classThrottled
	case status >= 500:
		return classBroken
	}
	return classRefused
}

// Unsent reports whether a request was never sent: no server at the endpoint's address, an unknown
// name, or a server that does not prove its identity (TLS).
func Unsent(err error) bool {
	if isTLS(err) {
		return true
	}
	var dial *net.OpError
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.As(err, &dial) && (dial.Op == "dial" || dial.Op == "proxyconnect")
}

// isTLS reports whether the TLS connection failed.
func isTLS(err error) bool {
	var untrusted *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	return errors.As(err, &untrusted) || errors.As(err, &plain)
}

// classOfTransport is for attempts without a readable response.
func classOfTransport(err error) faultClass {
	var send *smithyhttp.RequestSendError
	var garbled *smithy.DeserializationError
	var network net.Error
	switch {
	case Unsent(err):
		return classUnsent
	case errors.As(err, &send), errors.As(err, &garbled), errors.As(err, &network),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errIncomplete):
		return classBroken
	}
	return classRefused // the SDK could not make the request
}

// nextAttempt returns whether another attempt may follow attempt number n, and after how long. It
// is for calls without a LongRetry.
func (f fault) nextAttempt(n int, draw func() float64) (wait time.Duration, again bool) {
	limit := brokenAttempts
	switch f.class {
	case classThrottled:
		limit = throttledAttempts
	case classUnsent:
		limit = unsentAttempts
	}
	if n >= limit {
		return 0, false
	}
	return f.retryWait(n, draw)
}

// retryWait returns how long to wait after attempt number n: full jitter under an exponential
// ceiling, or at least what the response asks for. It returns false for faults that are never
// retried.
func (f fault) retryWait(n int, draw func() float64) (d time.Duration, again bool) {
	base := brokenBase
	switch f.class {
	case classRefused, classStopped:
		return 0, false
	case classThrottled:
		base = throttledBase
	}
	ceiling := min(float64(maxBackoff), float64(base)*math.Pow(2, float64(n-1)))
	jitter := 1.0
	if draw != nil {
		jitter = draw()
	}
	return max(time.Duration(jitter*ceiling), f.retryAfter), true
}

func replyStatus(reply *smithyhttp.ResponseError) int {
	if reply == nil || reply.Response == nil || reply.Response.Response == nil {
		return 0
	}
	return reply.HTTPStatusCode()
}

// retryAfter returns the wait that the response asks for, in seconds, or in milliseconds under
// AWS's own header. It ignores dates, since they are of the server's clock.
func retryAfter(reply *smithyhttp.ResponseError) time.Duration {
	if replyStatus(reply) == 0 {
		return 0
	}
	header := reply.Response.Header
	if d := parseWait(header.Get("X-Amz-Retry-After"), time.Millisecond); d > 0 {
		return d
	}
	return parseWait(header.Get("Retry-After"), time.Second)
}

func parseWait(text string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) {
		return 0
	}
	return time.Duration(min(n*float64(unit), float64(maxRetryAfter)))
}
