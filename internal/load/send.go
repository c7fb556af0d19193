package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
)

// response is the result of one request. cause says why it failed; "" means success.
type response struct {
	version, task string
	cause         string
}

// sendOnce sends one request and reads the response to the end. Only a complete response with status
// 200 is a success.
func sendOnce(ctx context.Context, o Options) response {
	tries := 0
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { tries++ }})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, o.URL, nil)
	if err != nil {
		return response{cause: err.Error()}
	}
	res, err := o.Transport.RoundTrip(r)
	if err != nil {
		return response{cause: "no response: " + errorText(err)}
	}
	defer res.Body.Close()
	a := response{version: res.Header.Get(VersionHeader), task: res.Header.Get(TaskHeader)}
	switch _, err := io.Copy(io.Discard, res.Body); {
	case err != nil:
		a.cause = "the response was cut off: " + errorText(err)
	case res.StatusCode != http.StatusOK:
		a.cause = fmt.Sprintf("status %d %s", res.StatusCode, http.StatusText(res.StatusCode))
	case tries > 1:
		a.cause = "the connection was lost and the request was sent again"
	}
	return a
}

// errorText returns the text of an error without addresses and ports, so that equal causes count as
// one.
func errorText(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Op + ": " + op.Err.Error()
	}
	return err.Error()
}
