package account

import "context"

type optionalReadKey struct{}

// WithOptionalReads is for reads that a deployment can do without. Each is sent once: it is not
// retried, and a missing answer is not reported as a silence of AWS.
func WithOptionalReads(ctx context.Context) context.Context {
	return context.WithValue(WithLongRetry(ctx, nil), optionalReadKey{}, true)
}

// isOptional reports whether the calls under ctx are optional reads.
func isOptional(ctx context.Context) bool {
	is, _ := ctx.Value(optionalReadKey{}).(bool)
	return is
}
