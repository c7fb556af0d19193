package lambda_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/lambda"
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
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=123456789012/20261101/eu-west-1/lambda/aws4_request, Signature=0")
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

func TestFunctionsAreRead(t *testing.T) {
	w := world.New(world.Options{Clock: stopped{}, Strict: true})
	s := wire.New(w, lambda.NewAPI(w))
	err := w.Do(here, func(tx *world.Tx) error {
		tx.Functions.Put("check", &world.Function{Name: "check"})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const arn = "arn:aws:lambda:eu-west-1:123456789012:function:check"
	for _, path := range []string{"check/configuration", "check", strings.ReplaceAll(arn, ":", "%3A"),
		"check/configuration?Qualifier=$LATEST"} {
		status, _, body := send(t, s, "GET", "/2015-03-31/functions/"+path)
		if status != 200 || !strings.Contains(body, `"FunctionArn":"`+arn+`"`) || !strings.Contains(body, `"State":"Active"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	status, header, body := send(t, s, "GET", "/2015-03-31/functions/none/configuration")
	if status != 404 || header.Get("X-Amzn-Errortype") != "ResourceNotFoundException" ||
		!strings.Contains(body, "Function not found: arn:aws:lambda:eu-west-1:123456789012:function:none") {
		t.Error(status, header, body)
	}
	if status, _, _ := send(t, s, "GET", "/2015-03-31/functions/check?Qualifier=live"); status != 404 {
		t.Error(status)
	}
}
