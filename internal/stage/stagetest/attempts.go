package stagetest

import (
	"context"
	"testing"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

// Attempts has functions that are called with each attempt of the engine's calls. An error of
// Before means that the request is never sent.
type Attempts struct {
	Before func(operation string) error
	After  func(operation string)
}

func (a *Attempts) addTo(stack *middleware.Stack) error {
	return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("attempts",
		func(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (
			out middleware.SerializeOutput, meta middleware.Metadata, err error,
		) {
			operation := awsmiddleware.GetOperationName(ctx)
			if a.Before != nil {
				err = a.Before(operation)
			}
			if err != nil {
				return out, meta, err
			}
			out, meta, err = next.HandleSerialize(ctx, in)
			if a.After != nil {
				a.After(operation)
			}
			return out, meta, err
		}), middleware.Before)
}

// WatchAttempts gives the engine an account whose attempts those functions get.
func (b *Bench) WatchAttempts(a *Attempts) {
	b.Engine.Account = b.OpenAccount(a.addTo)
}

// DenyCall makes AWS answer the nth call of an operation from now on with an error code: what is
// read does not exist. The function that it returns reports whether there was such a call.
func (b *Bench) DenyCall(n int, operation, code string) (reached func() bool) {
	return b.DenyCallWhen(func() bool { return true }, n, operation,
		&smithy.GenericAPIError{Code: code, Message: "it does not exist", Fault: smithy.FaultClient})
}

// DenyCallWhen is DenyCall for the calls that are made while counts returns true.
func (b *Bench) DenyCallWhen(counts func() bool, n int, operation string, gone error) (reached func() bool) {
	calls := 0
	b.WatchAttempts(&Attempts{Before: func(name string) error {
		if name != operation || !counts() {
			return nil
		}
		if calls++; calls == n {
			return gone
		}
		return nil
	}})
	return func() bool { return calls >= n }
}

// DenyEachCall runs f for each call of an operation, or for some of many, until none is reached.
func DenyEachCall(t *testing.T, operation, code string, f func(t *testing.T, n int) (reached bool)) {
	t.Run(operation+"/"+code, func(t *testing.T) {
		t.Parallel()
		for n, step := 1, 1; f(t, n) && !t.Failed(); n += step {
			step = 1 + n/3
		}
	})
}

// StaleReads returns faults under which reads are older than writes.
func StaleReads() []string {
	return []string{
		"stale ecs:DescribeServices by=4s",
		"stale ecs:DescribeServices by=4s p=0.5",
		"stale ecs:* by=3s p=0.5",
		"stale ecs:DescribeServices by=9s",
		"stale ecs:DescribeServices by=14s",
		"stale ecs:DescribeServices by=14s p=0.5",
	}
}
