package signedread

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice"
)

// Sender signs and sends a read, and returns the body of the response. The URL of the request has path and query
// only. The account is one.
type Sender interface {
	SendRead(ctx context.Context, service, operation, resource string, r *http.Request) ([]byte, error)
}

// Reader reads from AWS.
type Reader struct{ Sender Sender }

// callJSON sends a request of the protocol awsJson 1.1. target is before the operation in X-Amz-Target.
func (r Reader) callJSON(ctx context.Context, service, target, operation, resource string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	q, err := http.NewRequest(http.MethodPost, "/", strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/x-amz-json-1.1")
	q.Header.Set("X-Amz-Target", target+"."+operation)
	data, err := r.Sender.SendRead(ctx, service, operation, resource, q)
	if err != nil {
		return withKind(err)
	}
	return json.Unmarshal(data, out)
}

// callQuery sends a request of a query protocol.
func (r Reader) callQuery(ctx context.Context, service, version, operation, resource string, in url.Values,
	out any) error {
	in.Set("Action", operation)
	in.Set("Version", version)
	q, err := http.NewRequest(http.MethodPost, "/", strings.NewReader(in.Encode()))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	data, err := r.Sender.SendRead(ctx, service, operation, resource, q)
	if err != nil {
		return withKind(err)
	}
	return xml.Unmarshal(data, out)
}

// callPath sends a request whose operation is in method and path.
func (r Reader) callPath(ctx context.Context, service, method, operation, resource, path string) ([]byte, error) {
	q, err := http.NewRequest(method, path, nil)
	if err != nil {
		return nil, err
	}
	data, err := r.Sender.SendRead(ctx, service, operation, resource, q)
	return data, withKind(err)
}

// withKind gives the error of a resource that does not exist its kind. The codes of these services are not those of
// ECS.
func withKind(err error) error {
	var api smithy.APIError
	var told *sluice.Error
	if !errors.As(err, &api) || !errors.As(err, &told) {
		return err
	}
	switch code := api.ErrorCode(); {
	case code == "NoSuchKey", code == "NoSuchBucket", code == "ImageNotFound",
		code == "ValidationError" && strings.HasSuffix(api.ErrorMessage(), "does not exist"):
		told.Kind = sluice.NotFound
	}
	return err
}

// notFound returns an error of a resource that does not exist.
func notFound(operation, resource, why string) error {
	return &sluice.Error{Op: operation, Resource: resource, Kind: sluice.NotFound, Err: errors.New(why)}
}
