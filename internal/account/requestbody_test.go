package account_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

// net/http copies from the body of a request once more after its last byte, also if the response has come and the SDK has
// closed the body. An error of that copy closes the connection, and the response cannot be read.
func TestClosedRequestBodyEndsWithoutError(t *testing.T) {
	copied := func(r *http.Request) error {
		if err := r.Body.Close(); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, r.Body)
		return err
	}
	for name, send := range map[string]func(context.Context, *world) error{
		"a call of the SDK": func(ctx context.Context, w *world) error {
			_, err := w.ECS().DescribeServices(ctx, &awsecs.DescribeServicesInput{Services: []string{"web"}})
			return err
		},
		"a read without a client": func(ctx context.Context, w *world) error {
			_, err := w.SendRead(ctx, "ssm", "GetParameter", "/a", newRead(t, "POST", "/", "{}"))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			w := &wire{answer: func(_ string, _ int, r *http.Request) (*http.Response, error) {
				asked++
				if err := copied(r); err != nil {
					t.Errorf("a copy from the closed body ends with %v, want nil", err)
				}
				return nil, nil
			}}
			inside(t, w, nil, func(ctx context.Context, w *world) {
				if err := send(ctx, w); err != nil || asked != 1 {
					t.Errorf("asked %d times, want once: %v", asked, err)
				}
			})
		})
	}
}
