package step

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
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
	for operation, stays := range map[string]bool{"ecs:UpdateTaskSet": true, "elasticloadbalancing:ModifyRule": false} {
		p := &PollReads{}
		p.Hold(RulesKey, p.BeginRead(now), "rules")
		p.Hold(ServiceKey, p.BeginRead(now), "service")
		p.EndPollAfter(sluice.Write{Operation: operation})
		if _, ok := p.find(RulesKey, now); ok != stays {
			t.Errorf("after %s, the rules are shared: %t, want %t", operation, ok, stays)
		}
		if _, ok := p.find(ServiceKey, now); ok {
			t.Errorf("after %s, the service is shared", operation)
		}
	}
	p := &PollReads{}
	sent := p.BeginRead(now)
	p.EndPoll() // a write while the read was under way
	p.Hold("service", sent, "v1")
	if value, ok := p.find("service", now); ok {
		t.Errorf("%v was read before the write and is served after it", value)
	}
}
