package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

var errDiskFull = errors.New("no space left on device")

// fills lets the disk be full at row n of the journal, for some rows. reached tells
// whether there was such a row.
func (b *bench) fills(n, rows int) (reached func() bool) {
	row := 0
	b.Journal.WrapWrites(func(_ string, write func() error) error {
		if row++; row >= n && row < n+rows {
			return errDiskFull
		}
		return write()
	})
	return func() bool { return row >= n }
}

// outOfDisk runs a deployment whose journal cannot be written from row n on, and then
// resumes it. It reports whether there was such a row.
func (b *bench) outOfDisk(id string, n, rows int, state func() string, want string) bool {
	b.Helper()
	ctx := context.Background()
	reached := b.fills(n, rows)
	var last sluice.Envelope
	b.Engine.OnEvent = func(e sluice.Envelope) { last = e }
	end, err := b.Engine.Run(ctx, id, engine.Options{})
	b.Engine.OnEvent = nil
	b.Journal.WrapWrites(func(_ string, write func() error) error { return write() })
	if err == nil && end.State == journal.Ended {
		if end.Outcome != sluice.Succeeded {
			b.Errorf("row %d: %s: %s, want a pause\n%s", n, end.Outcome, end.Cause, b.EventLog())
		}
		return reached()
	}
	if !errors.Is(err, journal.ErrUnusable) {
		b.Errorf("row %d: %v", n, err)
	}
	if last.Kind != sluice.Seal("", "", sluice.DeploymentPaused{}).Kind || !strings.Contains(string(last.Data), errDiskFull.Error()) {
		b.Errorf("row %d: the last event is %s %s, want a pause with the cause", n, last.Kind, last.Data)
	}
	now := got(b.Journal.Deployment(ctx, id))(b)
	if now.State == journal.Ended {
		b.Errorf("row %d: %s %s, want a pause", n, now.State, now.Outcome)
	}
	end = got(b.Engine.Run(ctx, id, engine.Options{}))(b)
	if end.Outcome != sluice.Succeeded || state() != want {
		b.Errorf("row %d: %s: %s; %s\n%s", n, end.Outcome, end.Cause, state(), b.EventLog())
	}
	b.ExpectNoneLost()
	return true
}

// A full disk says nothing about the deployment: it pauses, and goes on when there is
// room again.
func TestFullDiskPausesEveryKind(t *testing.T) {
	const step = 23
	for _, rows := range []int{1, 100000} {
		for n, more := 2, true; more; n += step {
			on(t, options{}, func(b *bench) {
				more = b.outOfDisk(b.Start(b.Files("sim/web:v2", canaryPipeline)), n, rows, b.State, servesV2)
			})
		}
		for n, more := 2, true; more; n += step {
			rolls(t, func(b *bench) {
				more = b.outOfDisk(b.Start(b.CanaryServiceFiles("sim/web:v2",
					pipelined(canaryRollout, shiftFifth, primaryRollout, shiftBack, cleanCanary), breaker)),
					n, rows, b.Weights, "primary 100 canary 0")
			})
		}
	}
}
