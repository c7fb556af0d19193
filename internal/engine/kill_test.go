package engine_test

import (
	"context"
	"fmt"
	"testing"
	"testing/fstest"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/engine"
)

// killed is what the process dies of.
type killed struct{ at string }

// gallows lets a number of writes pass and kills at the next: before it is sent,
// or after AWS has done it and before sluice hears of it.
type gallows struct {
	left  int
	after bool
}

// middleware stands where each attempt is sent.
func (g *gallows) middleware(stack *middleware.Stack) error {
	return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("gallows",
		func(ctx context.Context, in middleware.SerializeInput,
			next middleware.SerializeHandler) (middleware.SerializeOutput, middleware.Metadata, error) {
			operation := awsmiddleware.GetOperationName(ctx)
			if !account.IsWrite(operation) {
				return next.HandleSerialize(ctx, in)
			}
			if g.left--; g.left == 0 && !g.after {
				panic(killed{"before " + operation})
			}
			out, meta, err := next.HandleSerialize(ctx, in)
			if g.left == 0 {
				panic(killed{"after " + operation})
			}
			return out, meta, err
		}), middleware.Before)
}

// mortal gives the bench's engine an account that dies at its n-th write.
func (b *bench) mortal(n int, after bool) *gallows {
	g := &gallows{left: n, after: after}
	cfg := b.sim.Config()
	a, err := account.Open(context.Background(), account.Config{Region: cfg.Region, Credentials: cfg.Credentials,
		EndpointURL: *cfg.BaseEndpoint,
		HTTPClient:  b.sim.HTTPClient(), Clock: b.clock, APIOptions: append(b.sim.APIOptions(), g.middleware)})
	must(b, err)
	b.engine.Account = a
	return g
}

// dies runs the deployment and reports whether it was killed.
func (b *bench) dies(id string) (at string) {
	defer func() {
		if k := recover(); k != nil {
			death, ok := k.(killed)
			if !ok {
				panic(k)
			}
			at = death.at
		}
	}()
	got(b.engine.Run(context.Background(), id, engine.Options{}))(b)
	return ""
}

// Killed before or after any write and resumed, the end is the same as if it had
// not been killed (P5).
func TestKilledAtEveryWriteAndResumed(t *testing.T) {
	for name, c := range map[string]struct{ image, pipeline, end string }{
		"canary": {"sim/web:v2", canaryPipeline,
			"succeeded: PRIMARY sim/web:v2 100% 4 running; primary 100 canary 0"},
		"quick sync": {"sim/web:v2", "", "succeeded: PRIMARY sim/web:v2 100% 4 running; primary 100 canary 0"},
		"rollback":   {"sim/web:v2?crash-after=2s", canaryPipeline, "rolled back: " + servesV1},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%v", name, after), func(t *testing.T) {
				t.Parallel()
				for n, more := 1, true; more; n++ {
					on(t, options{}, func(b *bench) {
						more = b.killAndResume(n, after, b.files(c.image, c.pipeline),
							c.end)
					})
				}
			})
		}
	}
}

func (b *bench) killAndResume(n int, after bool, files fstest.MapFS, want string) (more bool) {
	return b.killResume(b.start(files), n, after, want)
}

// killResume runs the deployment, killed at its n-th write, and resumes it. It
// reports false if there was no n-th write.
func (b *bench) killResume(id string, n int, after bool, want string) (more bool) {
	b.Helper()
	g := b.mortal(n, after)
	at := b.dies(id)
	g.left = -1
	if at == "" {
		return false
	}
	end := got(b.engine.Run(context.Background(), id, engine.Options{}))(b)
	if state := fmt.Sprintf("%s: %s", end.Outcome, b.state()); state != want {
		b.Errorf("killed %s (write %d): %s (%s), want %s\n%s", at, n, state, end.Cause, want, b.log())
	}
	b.noneLost()
	return true
}
