// Package s3 implements the part of the API of Amazon S3 that definitions and lookups need: objects are read,
// by path-style requests. A world file has the objects.
//
// Its inputs and outputs are small structs of its own. Start reading at [NewAPI], then [Service.GetObject].
package s3

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service implements the API of S3.
type Service struct{ world *world.World }

// New creates the API over w.
func New(w *world.World) *Service { return &Service{world: w} }

// NewAPI returns the API in the form that wire serves.
func NewAPI(w *world.World) wire.API {
	return wire.API{
		Name: "s3", ServiceID: "S3", Protocol: wire.REST, XMLErrors: true, Route: route,
		Service: New(w),
		Known: []string{"CopyObject", "CreateBucket", "DeleteObject", "ListBuckets", "ListObjectsV2",
			"PutObject"},
	}
}

// route returns the operation of a path-style request, /<bucket>/<key>.
func route(method, path string, query url.Values) (string, map[string]string) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	in := map[string]string{"Bucket": bucket, "Key": key, "VersionId": query.Get("versionId")}
	switch {
	case key != "" && method == http.MethodGet:
		return "GetObject", in
	case key != "" && method == http.MethodHead:
		return "HeadObject", in
	case key != "" && method == http.MethodPut:
		return "PutObject", nil
	case key != "" && method == http.MethodDelete:
		return "DeleteObject", nil
	case bucket == "":
		return "ListBuckets", nil
	case method == http.MethodHead:
		return "HeadBucket", in
	case method == http.MethodGet && query.Has("location"):
		return "GetBucketLocation", in
	case method == http.MethodPut:
		return "CreateBucket", nil
	}
	return "ListObjectsV2", nil
}

// state holds the buckets of a Region.
type state struct {
	buckets world.Ordered[*world.Ordered[object]]
}

type object struct {
	text    string
	changed time.Time
}

func stateOf(tx *world.Tx) *state { return world.PrivateState[state](tx.Region, "s3") }

// AddObject creates an object, and its bucket if that does not exist. An empty key creates only the bucket.
func AddObject(tx *world.Tx, bucket, key, text string) {
	of := stateOf(tx)
	in, ok := of.buckets.Get(bucket)
	if !ok {
		in = &world.Ordered[object]{}
		of.buckets.Put(bucket, in)
	}
	if key != "" {
		in.Put(key, object{text: text, changed: tx.Now()})
	}
}

// GetObjectInput is the input of GetObject and HeadObject.
type GetObjectInput struct{ Bucket, Key, VersionId string }

// GetObjectOutput is the output of GetObject and HeadObject.
type GetObjectOutput struct {
	Body         []byte
	LastModified time.Time
}

// RawReply is [wire.RawOutput].
func (o *GetObjectOutput) RawReply() (contentType string, header map[string]string, body []byte) {
	sum := md5.Sum(o.Body)
	return "binary/octet-stream", map[string]string{"Etag": strconv.Quote(hex.EncodeToString(sum[:])),
		"Last-Modified": o.LastModified.UTC().Format(http.TimeFormat), "Accept-Ranges": "bytes"}, o.Body
}

// GetObject returns an object.
func (s *Service) GetObject(ctx context.Context, in *GetObjectInput) (out *GetObjectOutput, err error) {
	err = s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		bucket, err := bucketOf(tx, in.Bucket)
		if err != nil {
			return err
		}
		x, ok := bucket.Get(in.Key)
		if !ok || in.VersionId != "" {
			return &world.Refusal{Code: "NoSuchKey", Status: http.StatusNotFound,
				Message: "The specified key does not exist."}
		}
		out = &GetObjectOutput{Body: []byte(x.text), LastModified: x.changed}
		return nil
	})
	return out, err
}

func bucketOf(tx *world.Tx, name string) (*world.Ordered[object], error) {
	bucket, ok := stateOf(tx).buckets.Get(name)
	if !ok {
		return nil, &world.Refusal{Code: "NoSuchBucket", Status: http.StatusNotFound,
			Message: "The specified bucket does not exist"}
	}
	return bucket, nil
}

// HeadObjectInput is the input of HeadObject.
type HeadObjectInput GetObjectInput

// HeadObject returns what GetObject does; the body is not sent.
func (s *Service) HeadObject(ctx context.Context, in *HeadObjectInput) (*GetObjectOutput, error) {
	return s.GetObject(ctx, (*GetObjectInput)(in))
}

// HeadBucketInput is the input of HeadBucket.
type HeadBucketInput struct{ Bucket, Key, VersionId string }

// BucketOutput is the output of HeadBucket and GetBucketLocation.
type BucketOutput struct{ region, body string }

// RawReply is [wire.RawOutput].
func (o *BucketOutput) RawReply() (contentType string, header map[string]string, body []byte) {
	return "application/xml", map[string]string{"X-Amz-Bucket-Region": o.region}, []byte(o.body)
}

// HeadBucket reports by its status whether a bucket exists, and in which Region.
func (s *Service) HeadBucket(ctx context.Context, in *HeadBucketInput) (*BucketOutput, error) {
	err := s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		_, err := bucketOf(tx, in.Bucket)
		return err
	})
	return &BucketOutput{region: world.KeyOf(ctx).Region}, err
}

// GetBucketLocationInput is the input of GetBucketLocation.
type GetBucketLocationInput HeadBucketInput

// GetBucketLocation returns the Region of a bucket; us-east-1 is an empty text.
func (s *Service) GetBucketLocation(ctx context.Context, in *GetBucketLocationInput) (*BucketOutput, error) {
	out, err := s.HeadBucket(ctx, (*HeadBucketInput)(in))
	if err != nil {
		return nil, err
	}
	region := out.region
	if region == "us-east-1" {
		region = ""
	}
	out.body = `<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/">` + region + "</LocationConstraint>"
	return out, nil
}
