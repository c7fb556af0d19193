package rehearse

import (
	"context"
	"errors"
	"time"

	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// Kill is where a sluice dies: before or after its n-th write to AWS, or before or
// after its n-th row of the journal.
type Kill struct {
	Row   bool // of the journal; else a write to AWS
	N     int
	After bool
}

// killed is what a sluice's actors end with.
type killed struct{}

// errFull is what a full disk answers.
var errFull = errors.New("database or disk is full")

// life is one process of sluice: the clock that it sees and the seams through
// which it acts. Once dead, every seam ends whoever uses it, without effect.
//
// It is a [clock.Clock].
type life struct {
	real         clock.Clock
	kill         Kill // N 0: it lives on
	full         Full
	writes, rows int
	dead         bool
	at           string // what it died of
	writing      func(operation string, input any)
	wrote        func(operation string)
	end          context.CancelFunc
}

// Full is a journal that takes no row from the n-th on, for so many tries.
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

// Now is the world's time.
func (l *life) Now() time.Time {
	l.alive()
	return l.real.Now()
}

// Sleep parks the actor; one that died meanwhile does not wake.
func (l *life) Sleep(ctx context.Context, d time.Duration) error {
	l.alive()
	err := l.real.Sleep(ctx, d)
	l.alive()
	return err
}

// WithTimeout is the clock's.
func (l *life) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	l.alive()
	return l.real.WithTimeout(ctx, d)
}

// Go starts an actor that dies with the process.
func (l *life) Go(f func()) {
	l.alive()
	l.real.Go(func() {
		defer func() { rest(recover()) }()
		f()
	})
}

// rest lets a death be, and nothing else.
func rest(r any) {
	if _, ok := r.(killed); r != nil && !ok {
		panic(r)
	}
}

// row stands around each write of the journal.
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

// middleware stands where each attempt is sent.
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
