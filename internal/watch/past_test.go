package watch_test

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// A wait for a revision that was deployed and replaced tells so once AWS's answers can
// lag no more, not after its timeout.
func TestARevisionThatWasReplaced(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.balance()
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
		b.deploy("web", b.revision("sim/web:v2"))
		b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour}), sluice.Succeeded, "", "")
		b.deploy("web", b.revision("sim/web:v3"))
		b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour}), sluice.Succeeded, "", "")
		for _, revision := range []string{"web:1", "web:2"} {
			began := b.clock.Now()
			b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour, Revision: revision}), sluice.Superseded, "web:3",
				diagnosis.Superseding)
			if took := b.clock.Now().Sub(began); took > 15*time.Second {
				t.Errorf("%s: it took %s", revision, took)
			}
		}

		// One that was tried, rolled back and followed by another.
		b.deploy("web", b.revision(crash))
		b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour}), sluice.RolledBack, "web:3", diagnosis.ExitCode)
		b.deploy("web", b.revision("sim/web:v5"))
		b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour}), sluice.Succeeded, "", "")
		if v := b.wait("web", verdict.Wanted{Timeout: time.Hour, Revision: "web:4"}); v.Outcome != sluice.RolledBack ||
			v.By != "web:3" {
			t.Errorf("%+v", v)
		}
	})
}

// A revision that is deployed again is no replaced one, though AWS's answers lag; nor is
// one that was never deployed.
func TestARevisionThatComesAgain(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.balance()
		first := b.revision("sim/web:v1")
		b.serve("web", first, rolling{desired: 2})
		b.deploy("web", b.revision("sim/web:v2"))
		b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour}), sluice.Succeeded, "", "")
		must(b, b.sim.Inject("stale ecs:Describe* by=8s"))
		b.deploy("web", first)
		b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour, Revision: "web:1"}), sluice.Succeeded, "", "")
		b.sim.ClearFaults()
		never := b.revision("sim/web:v3")
		b.ends(b.wait("web", verdict.Wanted{Timeout: 3 * time.Minute, Revision: never}), sluice.TimedOut, "", "")
	})
}

func TestARevisionThatCodeDeployReplaced(t *testing.T) {
	onCode(t, codeOptions{seed: 13}, func(b *codeBench) {
		b.finishes(b.bring("sim/web:v2", ""))
		b.finishes(b.bring("sim/web:v3", ""))
		began := b.clock.Now()
		b.is(b.follow(verdict.Wanted{Revision: "web:2", Timeout: time.Hour}), sluice.Superseded, "web:3", "",
			"web:2 was superseded by web:3")
		if took := b.clock.Now().Sub(began); took > 20*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}
