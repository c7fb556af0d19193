package step

import (
	"testing"
	"time"
)

// TestReadIsSharedWithinItsPollOnly: no reader gets a response from before a write or a
// pause, or an old one, or one that was sent before the poll ended.
func TestReadIsSharedWithinItsPollOnly(t *testing.T) {
	now := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		between func(*PollReads)
		after   time.Duration
		shared  bool
	}{
		"in the same poll":       {func(*PollReads) {}, 0, true},
		"a moment later":         {func(*PollReads) {}, shareLimit, true},
		"later":                  {func(*PollReads) {}, shareLimit + 1, false},
		"after a write or pause": {(*PollReads).EndPoll, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &PollReads{}
			p.Hold("service", p.BeginRead(now), "v1")
			c.between(p)
			if value, ok := p.find("service", now.Add(c.after)); ok != c.shared || ok && value != "v1" {
				t.Errorf("found %v (%t), want %t", value, ok, c.shared)
			}
		})
	}
	p := &PollReads{}
	sent := p.BeginRead(now)
	p.EndPoll() // a write while the read was under way
	p.Hold("service", sent, "v1")
	if value, ok := p.find("service", now); ok {
		t.Errorf("%v was read before the write and is served after it", value)
	}
}
