package account

import (
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// sentBodies is an HTTP client whose request bodies have no method but Read and Close.
//
// After the last byte of a body, net/http copies once more, to see that nothing follows. If the response is there before
// that, the SDK has closed the body. A closed body of the SDK (safeWriteToReadCloser of smithy-go v1.28) returns io.EOF as
// an error of WriteTo, so net/http closes the connection, and a response that AWS has sent cannot be read. A local AWS on
// a busy machine is fast enough for that. The Read of a closed body returns io.EOF too, which is no error there.
type sentBodies struct{ client aws.HTTPClient }

// Do sends a request.
func (s sentBodies) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return s.client.Do(r)
}
