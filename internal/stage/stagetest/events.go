package stagetest

import (
	"sync"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/eventtest"
)

// eventChecks has the checker of all benches: to make one takes milliseconds.
type eventChecks struct {
	once    sync.Once
	checker *eventtest.Checker
	err     error
}

var allEvents eventChecks

// checkEvent fails the test if the schema of events does not allow an event.
func (b *Bench) checkEvent(e sluice.Envelope) {
	allEvents.once.Do(func() { allEvents.checker, allEvents.err = eventtest.NewChecker() })
	err := allEvents.err
	if err == nil {
		err = allEvents.checker.CheckEvent(e)
	}
	if err != nil {
		b.Error(err)
	}
}
