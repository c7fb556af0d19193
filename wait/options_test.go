package wait

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// Without a timeout the wait ends after ten minutes, as the package documents.
func TestForEndsAfterTenMinutes(t *testing.T) {
	on(t, "sim/web:v1?noboot", func(v *clock.Virtual, o Options) {
		o.Timeout, o.FailAfter, o.ProgressDeadline = 0, 1000, time.Hour
		began := v.Now()
		r, err := For(context.Background(), o)
		took := v.Now().Sub(began)
		if err != nil || r.Outcome != sluice.TimedOut || !strings.Contains(r.Detail, "10m0s passed") {
			t.Errorf("%+v %v", r, err)
		}
		if took < 10*time.Minute || took > 10*time.Minute+5*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// FailAfter is how many failures of one cause end the wait.
func TestForFailsAfterAsManyAsAsked(t *testing.T) {
	for _, n := range []int{2, 5} {
		on(t, "sim/web:v1?noboot", func(_ *clock.Virtual, o Options) {
			o.FailAfter = n
			r, err := For(context.Background(), o)
			if err != nil || r.Outcome != sluice.Failed || len(r.Reasons) == 0 || r.Reasons[0].Count != n {
				t.Errorf("FailAfter %d: %+v %v", n, r, err)
			}
		})
	}
}

// With AssumeRole the role is assumed before ECS is read.
func TestForAssumesTheRole(t *testing.T) {
	on(t, "sim/web:v1", func(_ *clock.Virtual, o Options) {
		var calls []string
		o.AssumeRole = "arn:aws:iam::000000000000:role/reader"
		o.apiOptions = append(slices.Clone(o.apiOptions), func(s *middleware.Stack) error {
			return s.Initialize.Add(middleware.InitializeMiddlewareFunc("record",
				func(ctx context.Context, in middleware.InitializeInput,
					next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
					calls = append(calls, awsmiddleware.GetOperationName(ctx))
					return next.HandleInitialize(ctx, in)
				}), middleware.Before)
		})
		r, err := For(context.Background(), o)
		if err != nil || !r.Succeeded() {
			t.Errorf("%+v %v", r, err)
		}
		if !slices.Contains(calls, "AssumeRole") {
			t.Errorf("no role was assumed: %q", calls)
		}
	})
}
