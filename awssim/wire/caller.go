package wire

import (
	"context"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Caller is who makes a call, as far as a signature tells.
type Caller struct {
	AccessKey string
	Account   string
	ARN       string // of an assumed role; "" for long-term credentials
	UserID    string
}

type callerKey struct{}

// CallerOf is who makes the call of ctx; the zero Caller if nobody said.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// WithCaller says who makes the calls of ctx and where: it sets what
// [CallerOf] and [world.KeyOf] answer. [Server.Identify] makes the Caller.
func WithCaller(ctx context.Context, c Caller, region string) context.Context {
	ctx = context.WithValue(ctx, callerKey{}, c)
	return world.WithKey(ctx, world.Key{Account: c.Account, Region: region})
}

// Anonymous is the account of callers whose access key says nothing.
const Anonymous = "000000000000"

func isAccount(s string) bool {
	if len(s) != 12 {
		return false
	}
	for i := range 12 {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
