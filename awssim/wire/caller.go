package wire

import (
	"context"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Caller is the identity of a call, as far as its signature shows it.
type Caller struct {
	AccessKey string
	Account   string
	ARN       string // of an assumed role; "" for long-term credentials
	UserID    string
}

type callerKey struct{}

// CallerOf returns the caller of ctx, or the zero Caller if none is set.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// WithCaller sets the caller and Region of the calls of ctx: the values that [CallerOf] and
// [world.KeyOf] return. [Server.Identify] creates the Caller.
func WithCaller(ctx context.Context, c Caller, region string) context.Context {
	ctx = context.WithValue(ctx, callerKey{}, c)
	return world.WithKey(ctx, world.Key{Account: c.Account, Region: region})
}

// Anonymous is the account of callers whose access key names no account.
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
