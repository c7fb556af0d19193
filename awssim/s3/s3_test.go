package s3_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/s3"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

type stopped struct{}

func (stopped) Now() time.Time                             { return time.Unix(1_800_000_000, 0) }
func (stopped) Sleep(context.Context, time.Duration) error { return nil }

var here = world.Key{Account: "123456789012", Region: "eu-west-1"}

// send returns the status, the header and the body of the answer to a signed request.
func send(t *testing.T, s *wire.Server, method, path string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequest(method, "http://localhost"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=123456789012/20261101/eu-west-1/s3/aws4_request, Signature=0")
	got, err := s.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, got.Header, string(body)
}

func TestObjectsAreRead(t *testing.T) {
	w := world.New(world.Options{Clock: stopped{}, Strict: true})
	s := wire.New(w, s3.NewAPI(w))
	err := w.Do(here, func(tx *world.Tx) error {
		s3.AddObject(tx, "config", "shop/a b.env", "A=1\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	status, header, body := send(t, s, "GET", "/config/shop/a%20b.env")
	if status != 200 || body != "A=1\n" || header.Get("Etag") == "" {
		t.Error(status, header, body)
	}
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"HEAD", "/config/shop/a%20b.env", 200, ""},
		{"GET", "/config/none", 404, "NoSuchKey"},
		{"GET", "/none/shop", 404, "NoSuchBucket"},
		{"GET", "/config", 400, "InvalidAction"},
		{"HEAD", "/config", 200, ""},
		{"HEAD", "/none", 404, ""},
		{"GET", "/config?location", 200, ">eu-west-1</LocationConstraint>"},
		{"GET", "/none?location=", 404, "NoSuchBucket"},
	} {
		status, _, body := send(t, s, c.method, c.path)
		if status != c.status || !strings.Contains(body, c.code) || c.method == "HEAD" && body != "" {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, body)
		}
	}
}
