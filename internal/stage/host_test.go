package stage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

var errFull = errors.New("no space left on device")

// memoryHost is a host that forgets with the process, and that fails when told.
type memoryHost struct {
	values map[string][]byte
	saved  []string // keys, in order
	events []sluice.Event
	failAt int    // the n-th Save fails; 0: none
	unread string // Load of this key fails
	began  time.Time

	writes  func() int // how many writes reached AWS so far
	atSaves []int      // that, at each Save
}

func (m *memoryHost) writesAtFailure(n int) int { return m.atSaves[n-1] }

func (m *memoryHost) Load(_ context.Context, key string) ([]byte, bool, error) {
	if key == m.unread {
		return nil, false, errFull
	}
	v, ok := m.values[key]
	return v, ok, nil
}

func (m *memoryHost) Save(_ context.Context, key string, value []byte) error {
	m.saved = append(m.saved, key)
	if m.writes != nil {
		m.atSaves = append(m.atSaves, m.writes())
	}
	if m.failAt > 0 && len(m.saved) >= m.failAt {
		return fmt.Errorf("save %s: %w", key, errFull)
	}
	m.values[key] = append([]byte(nil), value...)
	return nil
}

func (m *memoryHost) Began() time.Time    { return m.began }
func (m *memoryHost) Emit(e sluice.Event) { m.events = append(m.events, e) }

// runStage runs one stage of the plan on the host.
func runStage(b *stagetest.Bench, p *plan.Plan, index int, h step.Host) error {
	b.Helper()
	r := stagetest.Got(stage.Open(step.Config{Account: b.Account, Clock: b.Clock, Plan: p, Index: index,
		Deployment: "slc-host",
		Host:       h}))(b)
	return r.Execute(context.Background())
}

// countWrites are the writes that reached AWS.
func countWrites(b *stagetest.Bench) int {
	n := 0
	for _, c := range b.Calls {
		if c.Write {
			n++
		}
	}
	return n
}

// A value that cannot be saved stops the stage before the write that it
// prepares: whichever save fails, no write follows it.
func TestFailedSaveStopsTheStageBeforeTheWrite(t *testing.T) {
	for index := range 3 {
		for failAt, failed := 1, true; failed; failAt++ {
			t.Run(fmt.Sprintf("stage %d/save %d", index, failAt), func(t *testing.T) {
				stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
					p := stagetest.Got(b.Plan(b.Files("sim/web:v2", stagetest.CanaryPipeline), mode.Options{}))(b)
					h := &memoryHost{values: map[string][]byte{}, began: b.Clock.Now()}
					for i := range index {
						stagetest.Must(b, runStage(b, p, i, h))
					}
					h.saved, h.failAt, h.writes = nil, failAt, func() int { return countWrites(b) }
					err := runStage(b, p, index, h)
					if failed = len(h.saved) >= failAt; !failed {
						stagetest.Must(b, err)
						return
					}
					if !errors.Is(err, errFull) || !strings.Contains(err.Error(), h.saved[failAt-1]) {
						b.Fatalf("%v, want it to name %s", err, h.saved[failAt-1])
					}
					if n := countWrites(b); n != h.writesAtFailure(failAt) {
						b.Errorf("%s followed the failed save", sluice.Plural(n-h.writesAtFailure(failAt), "write"))
					}
				})
			})
		}
	}
}

func TestUnreadableListenersFailTheRouting(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		p := stagetest.Got(b.Plan(b.Files("sim/web:v2", stagetest.CanaryPipeline), mode.Options{}))(b)
		h := &memoryHost{values: map[string][]byte{}, began: b.Clock.Now()}
		stagetest.Must(b, runStage(b, p, 0, h))
		h.unread = "current-listeners"
		if err := runStage(b, p, 1, h); !errors.Is(err, errFull) || b.Weights() != "primary 100 canary 0" {
			b.Errorf("%v; weights %s", err, b.Weights())
		}
	})
}

// What PipeCD's stages save, in its order: the canary's group, the percentages,
// the listeners; all before the weights move.
func TestRoutingSavesPipeCDsKeysInOrder(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		p := stagetest.Got(b.Plan(b.Files("sim/web:v2", stagetest.CanaryPipeline), mode.Options{}))(b)
		h := &memoryHost{values: map[string][]byte{}, began: b.Clock.Now()}
		stagetest.Must(b, runStage(b, p, 0, h))
		h.saved = nil
		stagetest.Must(b, runStage(b, p, 1, h))
		if got, want := strings.Join(h.saved[:4], " "),
			"canary-target-group-arn primary-percentage canary-percentage current-listeners"; got != want {
			b.Errorf("saved %q, want %q", got, want)
		}
		if string(h.values["canary-percentage"]) != "10" || string(h.values["canary-target-group-arn"]) != b.Canary ||
			string(h.values["current-listeners"]) != b.Listener {
			b.Errorf("saved %q", h.values)
		}
	})
}

// Nothing is written that the plan did not list (P7).
func TestWriteThatIsNotPlannedIsRefusedUnsent(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		p := stagetest.Got(b.Plan(b.Files("sim/web:v2", stagetest.CanaryPipeline), mode.Options{}))(b)
		h := &memoryHost{values: map[string][]byte{}, began: b.Clock.Now()}
		stagetest.Must(b, runStage(b, p, 0, h))
		before := countWrites(b)
		p.Stages[1].Writes = nil
		if err := runStage(b, p, 1, h); !errors.Is(err, account.ErrNotPlanned) || countWrites(b) != before {
			b.Errorf("%v; %d writes", err, countWrites(b)-before)
		}
	})
}

func TestStageRunTwiceDoesNothingTheSecondTime(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		p := stagetest.Got(b.Plan(b.Files("sim/web:v2", stagetest.CanaryPipeline), mode.Options{}))(b)
		h := &memoryHost{values: map[string][]byte{}, began: b.Clock.Now()}
		for i := range p.Stages {
			stagetest.Must(b, runStage(b, p, i, h))
			before, state := countWrites(b), b.State()
			stagetest.Must(b, runStage(b, p, i, h))
			if n := countWrites(b) - before; n > 0 || b.State() != state {
				b.Errorf("%s, run twice, made %s more: %s, before %s", p.Stages[i].Name, sluice.Plural(n, "write"),
					b.State(), state)
			}
		}
		b.ExpectNoneLost()
	})
}
