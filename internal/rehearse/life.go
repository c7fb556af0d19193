package rehearse

import (
	"context"
	"errors"
	"time"

	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// Kill is where a sluice process ends: before or after its n-th write to AWS, or its n-th row of
// the journal.
type Kill struct {
	Row   bool // true: a row of the journal; false: a write to AWS
	N     int
	After bool
}

// processKilled is the panic value that ends the goroutines of a killed process.
type killed struct{}

// errDiskFull is the error of a full disk.
var errFull = errors.New("database or disk is full")

// process is one process of sluice: its clock, and the hooks around its writes. After its end,
// every hook ends the calling goroutine without effect.
//
// It is a [clock.Clock].
type life struct {
	real         clock.Clock
	kill         Kill // N 0: no kill
	full         Full
	writes, rows int
	dead         bool
	at           string // where the kill ended it
	writing      func(operation string, input any)
	wrote        func(operation string)
	end          context.CancelFunc
}

// FullDisk makes the journal refuse rows from the n-th on, for a number of tries.
type Full struct{ Row, For int }

func (l *life) alive() {
	if l.dead {
		panic(killed{})
	}
}

func (l *life) die(at string) {
	l.dead, l.at = true, at
	if l.end != nil {
		l.end()
	}
	panic(killed{})
}

// Now returns the world's time.
func (l *life) Now() time.Time {
	l.alive()
	return l.real.Now()
}

// Sleep parks the goroutine; it does not wake if the process was killed in between.
func (l *life) Sleep(ctx context.Context, d time.Duration) error {
	l.alive()
	err := l.real.Sleep(ctx, d)
	l.alive()
	return err
}

// WithTimeout is WithTimeout of the world's clock.
func (l *life) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	l.alive()
	return l.real.WithTimeout(ctx, d)
}

// Go starts a goroutine that ends with the process.
func (l *life) Go(f func()) {
	l.alive()
	l.real.Go(func() {
		defer func() { rest(recover()) }()
		f()
	})
}

// repanicUnlessKilled ignores a kill and panics again for any other value.
func rest(r any) {
	if _, ok := r.(killed); r != nil && !ok {
		panic(r)
	}
}

// writeRow wraps each write of the journal.
func (l *life) row(op string, write func() error) error {
	l.alive()
	l.rows++
	here := l.kill.Row && l.kill.N == l.rows
	if here && !l.kill.After {
		l.die("before " + op)
	}
	if l.full.Row > 0 && l.rows >= l.full.Row && l.rows < l.full.Row+l.full.For {
		return errFull
	}
	err := write()
	if here {
		l.die("after " + op)
	}
	return err
}

// addMiddleware wraps each attempt of a call.
func (l *life) middleware(stack *middleware.Stack) error {
	return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("Mortal", func(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (
		middleware.SerializeOutput, middleware.Metadata, error,
	) {
		l.alive()
		operation := middleware.GetOperationName(ctx)
		if !account.IsWrite(operation) {
			return next.HandleSerialize(ctx, in)
		}
		l.writes++
		here := !l.kill.Row && l.kill.N == l.writes
		if here && !l.kill.After {
			l.die("before " + operation)
		}
		l.writing(operation, in.Parameters)
		out, meta, err := next.HandleSerialize(ctx, in)
		l.wrote(operation)
		if here {
			l.die("after " + operation)
		}
		return out, meta, err
	}), middleware.Before)
}
