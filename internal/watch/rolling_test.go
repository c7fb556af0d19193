package watch_test

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

func TestARollingUpdateThatSucceeds(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.balance()
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2})
		b.deploy("web", b.revision("sim/web:v2"))
		v := b.wait("web", verdict.Wanted{Timeout: 10 * time.Minute})
		if v.Outcome != sluice.Succeeded || v.Revision != "web:2" {
			t.Errorf("%+v", v)
		}
		t.Log(b.story())
	})
}

func TestARollingUpdateThatTheBreakerRollsBack(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.balance()
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
		b.deploy("web", b.revision("sim/web:v2?crash-after=2s&exit=3"))
		v := b.wait("web", verdict.Wanted{Timeout: 30 * time.Minute})
		t.Log(b.story())
		if v.Outcome != sluice.RolledBack || v.By != "web:1" || v.Cause.Kind != verdict.ExitCode {
			t.Errorf("%+v", v)
		}
	})
}

func TestACrashLoopWithoutBreaker(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.balance()
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2})
		b.deploy("web", b.revision("sim/web:v2?crash-after=2s&exit=3"))
		v := b.wait("web", verdict.Wanted{Timeout: 30 * time.Minute})
		t.Log(b.story())
		if v.Outcome != sluice.Failed || v.Cause.Count != 3 || v.Cause.Kind != verdict.ExitCode {
			t.Errorf("%+v", v)
		}
	})
}
