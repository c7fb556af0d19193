package journal_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
)

func TestLeaseIsHeldUntilItExpires(t *testing.T) {
	c := &standing{now: epoch}
	j := open(t, journal.Memory, c)
	fence, err := j.Acquire(bg, "web", "d1", time.Minute)
	must(t, err)

	_, err = j.Acquire(bg, "web", "d2", time.Minute)
	var held *journal.HeldError
	if !errors.Is(err, journal.ErrHeld) || !errors.As(err, &held) || held.Owner != "d1" ||
		!held.Until.Equal(epoch.Add(time.Minute)) {
		t.Fatalf("a second owner: %v", err)
	}
	if sluice.KindOf(err) != sluice.Overtaken {
		t.Errorf("its kind is %q", sluice.KindOf(err))
	}
	if _, err := j.Acquire(bg, "api", "d2", time.Minute); err != nil {
		t.Errorf("another resource: %v", err)
	}

	c.now = c.now.Add(50 * time.Second)
	must(t, j.Renew(bg, "web", "d1", fence, time.Minute))
	c.now = c.now.Add(time.Minute - 1)
	if owner, until, err := j.Holder(bg, "web"); owner != "d1" || !until.Equal(c.now.Add(1)) || err != nil {
		t.Errorf("held by %q until %v, %v", owner, until, err)
	}
	c.now = c.now.Add(1)
	if owner, _, err := j.Holder(bg, "web"); owner != "" || err != nil {
		t.Errorf("expired, held by %q, %v", owner, err)
	}

	higher, err := j.Acquire(bg, "web", "d2", time.Minute)
	if err != nil || higher <= fence {
		t.Fatalf("fence %d after %d, %v", higher, fence, err)
	}
	for what, err := range map[string]error{
		"Renew":   j.Renew(bg, "web", "d1", fence, time.Minute),
		"Release": j.Release(bg, "web", "d1", fence),
	} {
		if !errors.Is(err, journal.ErrLost) || sluice.KindOf(err) != sluice.LostClaim {
			t.Errorf("%s by the old holder: %v", what, err)
		}
	}
	if owner, _, _ := j.Holder(bg, "web"); owner != "d2" {
		t.Errorf("held by %q", owner)
	}
}

func TestSameOwnerTakesItAgainAndFencesItsOldSelfOut(t *testing.T) {
	j := open(t, journal.Memory, &standing{now: epoch})
	old, err := j.Acquire(bg, "web", "d1", time.Minute)
	must(t, err)
	again, err := j.Acquire(bg, "web", "d1", time.Minute)
	must(t, err)
	if err := j.Renew(bg, "web", "d1", old, time.Minute); !errors.Is(err, journal.ErrLost) {
		t.Errorf("the old process renews: %v", err)
	}
	must(t, j.Release(bg, "web", "d1", again))
	if owner, _, err := j.Holder(bg, "web"); owner != "" || err != nil {
		t.Errorf("released, held by %q, %v", owner, err)
	}
	next, err := j.Acquire(bg, "web", "d2", time.Minute)
	if err != nil || next <= again {
		t.Errorf("fence %d after %d, %v", next, again, err)
	}
}

// Whatever happens: at any time one fence is the newest, only it is served, and
// fences of a resource only grow.
func TestLeasesHoldInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := &standing{now: epoch}
		j, err := journal.Open(journal.Memory, c)
		must(t, err)
		defer j.Close()
		owners := []string{"a", "b", "c"}
		var holder string
		var newest int64
		var until time.Time
		fences := map[string]int64{}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			who := rapid.SampledFrom(owners).Draw(rt, "who")
			mine := holder == who && fences[who] == newest
			ttl := time.Duration(rapid.IntRange(1, 5).Draw(rt, "ttl")) * time.Second
			switch rapid.SampledFrom([]string{"acquire", "renew", "release", "wait"}).Draw(rt, "what") {
			case "acquire":
				fence, err := j.Acquire(bg, "r", who, ttl)
				free := holder == "" || holder == who || !until.After(c.now)
				if (err == nil) != free || err != nil && !errors.Is(err, journal.ErrHeld) {
					rt.Fatalf("%s acquires what %s holds until %v: %v", who, holder, until, err)
				}
				if err == nil {
					if fence <= newest {
						rt.Fatalf("fence %d after %d", fence, newest)
					}
					holder, newest, until, fences[who] = who, fence, c.now.Add(ttl), fence
				}
			case "renew":
				if err := j.Renew(bg, "r", who, fences[who], ttl); (err == nil) != mine {
					rt.Fatalf("%s renews, newest holder %s: %v", who, holder, err)
				}
				if mine {
					until = c.now.Add(ttl)
				}
			case "release":
				if err := j.Release(bg, "r", who, fences[who]); (err == nil) != mine {
					rt.Fatalf("%s releases, newest holder %s: %v", who, holder, err)
				}
				if mine {
					holder = ""
				}
			case "wait":
				c.now = c.now.Add(ttl)
			}
		}
	})
}
