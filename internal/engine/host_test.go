package engine_test

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
)

var errFull = errors.New("no space left on device")

// memory is a host that forgets with the process, and that fails when told.
type memory struct {
	values map[string][]byte
	saved  []string // keys, in order
	events []sluice.Event
	failAt int    // the n-th Save fails; 0: none
	unread string // Load of this key fails
	began  time.Time

	writes  func() int // how many writes reached AWS so far
	atSaves []int      // that, at each Save
}

func (m *memory) writesAtFailure(n int) int { return m.atSaves[n-1] }

func (m *memory) Load(_ context.Context, key string) ([]byte, bool, error) {
	if key == m.unread {
		return nil, false, errFull
	}
	v, ok := m.values[key]
	return v, ok, nil
}

func (m *memory) Save(_ context.Context, key string, value []byte) error {
	m.saved = append(m.saved, key)
	if m.writes != nil {
		m.atSaves = append(m.atSaves, m.writes())
	}
	if m.failAt > 0 && len(m.saved) >= m.failAt {
		return errFull
	}
	m.values[key] = append([]byte(nil), value...)
	return nil
}

func (m *memory) Began() time.Time    { return m.began }
func (m *memory) Emit(e sluice.Event) { m.events = append(m.events, e) }

// stage runs one stage of the plan on the host.
func (b *bench) stage(p *plan.Plan, index int, h stage.Host) error {
	b.Helper()
	r := got(stage.Open(stage.Config{Account: b.account, Clock: b.clock, Plan: p, Index: index, Deployment: "slc-host",
		Host: h}))(b)
	return r.Execute(context.Background())
}

// writes are the writes that reached AWS.
func (b *bench) writes() int {
	n := 0
	for _, c := range b.calls {
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
				on(t, options{}, func(b *bench) {
					p := got(b.plan(b.files("sim/web:v2", canaryPipeline), mode.Options{}))(b)
					h := &memory{values: map[string][]byte{}, began: b.clock.Now()}
					for i := range index {
						must(b, b.stage(p, i, h))
					}
					h.saved, h.failAt, h.writes = nil, failAt, b.writes
					err := b.stage(p, index, h)
					if failed = len(h.saved) >= failAt; !failed {
						must(b, err)
						return
					}
					if !errors.Is(err, errFull) || !strings.Contains(err.Error(), h.saved[failAt-1]) {
						b.Fatalf("%v, want it to name %s", err, h.saved[failAt-1])
					}
					if n := b.writes(); n != h.writesAtFailure(failAt) {
						b.Errorf("%s followed the failed save", sluice.Plural(n-h.writesAtFailure(failAt), "write"))
					}
				})
			})
		}
	}
}

func TestUnreadableListenersFailTheRouting(t *testing.T) {
	on(t, options{}, func(b *bench) {
		p := got(b.plan(b.files("sim/web:v2", canaryPipeline), mode.Options{}))(b)
		h := &memory{values: map[string][]byte{}, began: b.clock.Now()}
		must(b, b.stage(p, 0, h))
		h.unread = "current-listeners"
		if err := b.stage(p, 1, h); !errors.Is(err, errFull) || b.weights() != "primary 100 canary 0" {
			b.Errorf("%v; weights %s", err, b.weights())
		}
	})
}

// What PipeCD's stages save, in its order: the canary's group, the percentages,
// the listeners; all before the weights move.
func TestRoutingSavesPipeCDsKeysInOrder(t *testing.T) {
	on(t, options{}, func(b *bench) {
		p := got(b.plan(b.files("sim/web:v2", canaryPipeline), mode.Options{}))(b)
		h := &memory{values: map[string][]byte{}, began: b.clock.Now()}
		must(b, b.stage(p, 0, h))
		h.saved = nil
		must(b, b.stage(p, 1, h))
		if got, want := strings.Join(h.saved[:4], " "),
			"canary-target-group-arn primary-percentage canary-percentage current-listeners"; got != want {
			b.Errorf("saved %q, want %q", got, want)
		}
		if string(h.values["canary-percentage"]) != "10" || string(h.values["canary-target-group-arn"]) != b.canary ||
			string(h.values["current-listeners"]) != b.listener {
			b.Errorf("saved %q", h.values)
		}
	})
}

// Nothing is written that the plan did not list (P7).
func TestWriteThatIsNotPlannedIsRefusedUnsent(t *testing.T) {
	on(t, options{}, func(b *bench) {
		p := got(b.plan(b.files("sim/web:v2", canaryPipeline), mode.Options{}))(b)
		h := &memory{values: map[string][]byte{}, began: b.clock.Now()}
		must(b, b.stage(p, 0, h))
		before := b.writes()
		p.Stages[1].Writes = nil
		if err := b.stage(p, 1, h); !errors.Is(err, account.ErrNotPlanned) || b.writes() != before {
			b.Errorf("%v; %d writes", err, b.writes()-before)
		}
	})
}

func TestStageRunTwiceDoesNothingTheSecondTime(t *testing.T) {
	on(t, options{}, func(b *bench) {
		p := got(b.plan(b.files("sim/web:v2", canaryPipeline), mode.Options{}))(b)
		h := &memory{values: map[string][]byte{}, began: b.clock.Now()}
		for i := range p.Stages {
			must(b, b.stage(p, i, h))
			before, state := b.writes(), b.state()
			must(b, b.stage(p, i, h))
			if n := b.writes() - before; n > 0 || b.state() != state {
				b.Errorf("%s, run twice, made %s more: %s, before %s", p.Stages[i].Name, sluice.Plural(n, "write"),
					b.state(), state)
			}
		}
		b.noneLost()
	})
}

// The same seed and the same inputs give the same world and the same events,
// byte for byte.
func TestSameSeedSameLog(t *testing.T) {
	var logs [2]strings.Builder
	for i := range logs {
		on(t, options{seed: 7}, func(b *bench) {
			b.deploy(b.files("sim/web:v2?healthy-after=7s", canaryPipeline))
			must(b, b.sim.World().WriteLog(&logs[i]))
			logs[i].WriteString(b.log())
		})
	}
	if logs[0].String() != logs[1].String() {
		t.Errorf("two runs differ:\n%s", firstDifference(logs[0].String(), logs[1].String()))
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\n" + y[i]
		}
	}
	return "one is longer"
}
