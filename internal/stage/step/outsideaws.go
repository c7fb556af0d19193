package step

import (
	"context"
	"net/http"
	"strings"
)

// OutsideAWS is what gates use besides AWS: metric providers, checks by HTTP, and the places of secrets.
type OutsideAWS struct {
	HTTP *http.Client
	// Secret returns the secret at a place, env:NAME, ssm:/name or file:path. It is called before each use,
	// and nothing keeps the value.
	Secret func(ctx context.Context, place string) (string, error)
}

// Resolve returns a value; if it is the place of a secret, the secret.
func (o *OutsideAWS) Resolve(ctx context.Context, value string) (string, error) {
	if strings.HasPrefix(value, "env:") || strings.HasPrefix(value, "ssm:") {
		return o.Secret(ctx, value)
	}
	return value, nil
}
