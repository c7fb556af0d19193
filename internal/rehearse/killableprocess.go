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
type processKilled struct{}

// errDiskFull is the error of a full disk.
var errDiskFull = errors.New("database or disk is full")

// process is one process of sluice: its clock, and the hooks around its writes. After its end,
// every hook ends the calling goroutine without effect.
//
// It is a [clock.Clock].
type process struct {
	worldClock   clock.Clock
	kill         Kill // N 0: no kill
	fullDisk     FullDisk
	writes, rows int
	ended        bool
	endCause     string // where the kill ended it
	giveUpAt     time.Time
	isEndless    bool // it still ran at giveUpAt
	onWriting    func(operation string, input any)
	onWrote      func(operation string)
	cancel       context.CancelFunc
}

// FullDisk makes the journal refuse rows from the n-th on, for a number of tries.
type FullDisk struct{ Row, For int }

func (l *process) checkAlive() {
	if l.ended {
		panic(processKilled{})
	}
}

func (l *process) terminate(at string) {
	l.ended, l.endCause = true, at
	if l.cancel != nil {
		l.cancel()
	}
	panic(processKilled{})
}

// Now returns the world's time.
func (l *process) Now() time.Time {
	l.checkAlive()
	return l.worldClock.Now()
}

// Sleep parks the goroutine; it does not wake if the process was killed in between.
func (l *process) Sleep(ctx context.Context, d time.Duration) error {
	l.checkAlive()
	err := l.worldClock.Sleep(ctx, d)
	l.checkAlive()
	if l.worldClock.Now().After(l.giveUpAt) {
		l.isEndless = true
		l.terminate("because it runs for too long")
	}
	return err
}

// WithTimeout is WithTimeout of the world's clock.
func (l *process) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	l.checkAlive()
	return l.worldClock.WithTimeout(ctx, d)
}

// NetworkTime is NetworkTime of the world's clock.
func (l *process) NetworkTime(d time.Duration) time.Duration { return l.worldClock.NetworkTime(d) }

// Go starts a goroutine that ends with the process.
func (l *process) Go(f func()) {
	l.checkAlive()
	l.worldClock.Go(func() {
		defer func() { repanicUnlessKilled(recover()) }()
		f()
	})
}

// repanicUnlessKilled ignores a kill and panics again for any other value.
func repanicUnlessKilled(r any) {
	if _, ok := r.(processKilled); r != nil && !ok {
		panic(r)
	}
}

// writeRow wraps each write of the journal.
func (l *process) writeRow(op string, write func() error) error {
	l.checkAlive()
	l.rows++
	here := l.kill.Row && l.kill.N == l.rows
	if here && !l.kill.After {
		l.terminate("before " + op)
	}
	if l.fullDisk.Row > 0 && l.rows >= l.fullDisk.Row && l.rows < l.fullDisk.Row+l.fullDisk.For {
		return errDiskFull
	}
	err := write()
	if here {
		l.terminate("after " + op)
	}
	return err
}

// addMiddleware wraps each attempt of a call.
func (l *process) addMiddleware(stack *middleware.Stack) error {
	return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("Mortal",
		func(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (
			middleware.SerializeOutput, middleware.Metadata, error,
		) {
			l.checkAlive()
			operation := middleware.GetOperationName(ctx)
			if !account.IsWrite(operation) {
				return next.HandleSerialize(ctx, in)
			}
			l.writes++
			here := !l.kill.Row && l.kill.N == l.writes
			if here && !l.kill.After {
				l.terminate("before " + operation)
			}
			if l.onWriting != nil {
				l.onWriting(operation, in.Parameters)
			}
			out, meta, err := next.HandleSerialize(ctx, in)
			l.onWrote(operation)
			if here {
				l.terminate("after " + operation)
			}
			return out, meta, err
		}), middleware.Before)
}
