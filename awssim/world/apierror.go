package world

import (
	"context"
	"fmt"
)

// Refusal is AWS's error response to a call that it does not carry out. APIs and controllers return
// it; wire writes it in the protocol of the caller.
type Refusal struct {
	Code    string         // as in the service's model: "InvalidParameterException"
	Message string         // AWS's text where a source gives one
	Status  int            // HTTP status; 0 is 400
	Fields  map[string]any // further fields of the error's shape
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// Refuse returns a Refusal with that code and text, and HTTP status 400.
func Refuse(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

type keyOfCaller struct{}

// WithKey sets the account and Region of a call. Wire takes them from the credential scope of the
// request's signature.
func WithKey(ctx context.Context, k Key) context.Context {
	return context.WithValue(ctx, keyOfCaller{}, k)
}

// KeyOf returns the account and Region of a call: 000000000000 in us-east-1 if they are not set.
func KeyOf(ctx context.Context) Key {
	if k, ok := ctx.Value(keyOfCaller{}).(Key); ok {
		return k
	}
	return Key{Account: "000000000000", Region: "us-east-1"}
}
