package stagetest

import (
	"context"
	"fmt"
	"testing/fstest"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/engine"
)

// Killed is the value of the panic that ends a killed process.
type Killed struct{ At string }

// Killer permits a number of writes and ends the process at the next: before the write is sent, or
// after AWS has made it and before sluice gets the response.
type Killer struct {
	Left  int
	After bool
}

// Middleware runs where each attempt is sent.
func (g *Killer) Middleware(stack *middleware.Stack) error {
	return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("gallows",
		func(ctx context.Context, in middleware.SerializeInput,
			next middleware.SerializeHandler) (middleware.SerializeOutput, middleware.Metadata, error) {
			operation := awsmiddleware.GetOperationName(ctx)
			if !account.IsWrite(operation) {
				return next.HandleSerialize(ctx, in)
			}
			if g.Left--; g.Left == 0 && !g.After {
				panic(Killed{"before " + operation})
			}
			out, meta, err := next.HandleSerialize(ctx, in)
			if g.Left == 0 {
				panic(Killed{"after " + operation})
			}
			return out, meta, err
		}), middleware.Before)
}

// KillAtWrite gives the engine an account that ends the process at its n-th write.
func (b *Bench) KillAtWrite(n int, after bool) *Killer {
	g := &Killer{Left: n, After: after}
	b.Engine.Account = b.OpenAccount(g.Middleware)
	return g
}

// RunUntilKilled runs the deployment. It returns where it was killed, or "" if it was not.
func (b *Bench) RunUntilKilled(id string) (at string) {
	defer func() {
		if k := recover(); k != nil {
			death, ok := k.(Killed)
			if !ok {
				panic(k)
			}
			at = death.At
		}
	}()
	Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
	return ""
}

// KillAndResume is KillAndResumeRun for an application.
func (b *Bench) KillAndResume(n int, after bool, files fstest.MapFS, want string) (more bool) {
	return b.KillAndResumeRun(b.Start(files), n, after, want)
}

// KillAndResumeRun runs a started deployment until its n-th write, where it is killed, and resumes
// it. It returns false if there was no n-th write.
func (b *Bench) KillAndResumeRun(id string, n int, after bool, want string) (more bool) {
	b.Helper()
	g := b.KillAtWrite(n, after)
	at := b.RunUntilKilled(id)
	g.Left = -1
	if at == "" {
		return false
	}
	end := Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
	if state := fmt.Sprintf("%s: %s", end.Outcome, b.State()); state != want {
		b.Errorf("killed %s (write %d): %s (%s), want %s\n%s", at, n, state, end.Cause, want, b.EventLog())
	}
	b.ExpectNoneLost()
	return true
}

// Result is how a deployment ended that ran next to the test, once Done.
type Result struct {
	engine.RunResult
	Err  error
	Done bool
}

// RunBeside runs a deployment next to the test.
func (b *Bench) RunBeside(e *engine.Engine, id string) *Result {
	r := &Result{}
	b.Clock.Go(func() {
		r.RunResult, r.Err = e.Run(context.Background(), id, engine.Options{})
		r.Done = true
	})
	return r
}
