package stagetest

import (
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
)

// ServesV2 is the state after a success.
const ServesV2 = "PRIMARY sim/web:v2 100% 4 running; primary 100 canary 0"

// ServesV1 is the state after a rollback.
const ServesV1 = "PRIMARY sim/web:v1 100% 4 running; primary 100 canary 0"

// ExpectEnd compares the outcome, its cause and the state.
func (b *Bench) ExpectEnd(end engine.RunResult, outcome sluice.Outcome, cause, state string) {
	b.Helper()
	if end.Outcome != outcome || !strings.Contains(end.Cause, cause) {
		b.Fatalf("%s: %s; want %s: …%s…\n%s", end.Outcome, end.Cause, outcome, cause, b.EventLog())
	}
	if b.State() != state {
		b.Errorf("%s, want %s\n%s", b.State(), state, b.EventLog())
	}
}

// OnStageEnd calls do as soon as the n-th stage has ended for the first time, before the engine continues.
func (b *Bench) OnStageEnd(n int, do func()) {
	b.OnEvent(func(e sluice.Event) bool {
		ev, ok := e.(sluice.StageEnded)
		return ok && ev.Index == n-1
	}, do)
}

// OnEvent calls do at the first event that is so, before the engine continues.
func (b *Bench) OnEvent(so func(sluice.Event) bool, do func()) {
	watch, done := b.Engine.OnEvent, false
	b.Engine.OnEvent = func(e sluice.Envelope) {
		watch(e)
		if !done && so(e.Open()) {
			done = true
			do()
		}
	}
}
