package world

import (
	"context"
	"fmt"
)

// Refusal is AWS's answer to a call that it does not carry out. Rooms and laws
// return it; wire writes it in the protocol of the caller.
type Refusal struct {
	Code    string         // as in the service's model: "InvalidParameterException"
	Message string         // AWS's text where facts give one
	Status  int            // HTTP status; 0 is 400
	Fields  map[string]any // further members of the error's shape
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// Refuse is a 400 with that code and text.
func Refuse(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

type keyOfCaller struct{}

// WithKey says whose state a call is about. Wire takes it from the credential
// scope of the request's signature.
func WithKey(ctx context.Context, k Key) context.Context {
	return context.WithValue(ctx, keyOfCaller{}, k)
}

// KeyOf is the account and Region of a call; 000000000000 in us-east-1 if nobody
// said.
func KeyOf(ctx context.Context) Key {
	if k, ok := ctx.Value(keyOfCaller{}).(Key); ok {
		return k
	}
	return Key{Account: "000000000000", Region: "us-east-1"}
}
