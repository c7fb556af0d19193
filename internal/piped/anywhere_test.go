package piped_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/clock"
)

var everyKill = flag.Bool("kills", false, "kill at every point, not at a sample of them")

var firstSeed = flag.Uint64("first", 1, "the first seed of TestKilledAgainAndAgain")

// sampled is the step between kill points without that flag.
const sampled = 61

// The plugin, or piped with it, is killed before and after every write to AWS and
// every save, and the stage is executed again from its start: what was made is
// found, nothing is made twice, no request is lost, and the end is that of a
// deployment that was not killed.
func TestKilledAnywhereInPiped(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-long runs it")
	}
	t.Parallel()
	points := 0
	for _, name := range slices.Sorted(maps.Keys(courses())) {
		c := courses()[name]
		whole := c.play(t, point{})
		if whole.failed > 0 || !whole.ended() {
			t.Errorf("%s, not killed: %s\n%s", name, whole, whole.log)
			continue
		}
		for _, at := range whole.points(&points) {
			if end := c.play(t, at); !end.same(whole) {
				t.Errorf("%s, %s: %s\nnot killed: %s\n%s", name, at, end, whole, end.log)
			}
		}
	}
	t.Logf("%d kill points", points)
}

// Killed again and again, and away for seconds or minutes each time, the end is the
// same too.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	seeds := uint64(12)
	if *everyKill {
		seeds = 2000
	}
	names := slices.Sorted(maps.Keys(courses()))
	for seed := *firstSeed; seed < *firstSeed+seeds; seed++ {
		draw := rand.New(rand.NewPCG(seed, 0))
		name := names[draw.IntN(len(names))]
		c := courses()[name]
		var at []point
		for range draw.IntN(60) {
			at = append(at, point{n: 1 + draw.IntN(3), save: draw.IntN(3) == 0, after: draw.IntN(2) == 0})
		}
		v := clock.NewVirtual(dawn())
		var end played
		v.Run(func() {
			end = c.lay(t, v).play(at, func() time.Duration { return time.Duration(1+draw.IntN(120)) * time.Second })
		})
		if whole := c.play(t, point{}); !end.same(whole) {
			t.Errorf("seed %d, %s, %v: %s\nnot killed: %s\n%s", seed, name, at, end, whole, end.log)
		}
	}
}

// A save that piped cannot make stops the stage before the write that it is for, and
// the rollback puts all back.
func TestEverySaveRefused(t *testing.T) {
	t.Parallel()
	count := 0
	for _, name := range []string{"task sets", "task sets, quick", "beside", "by name", "rolling"} {
		c := courses()[name]
		whole, was := c.play(t, point{}), c.lay(t, clock.NewVirtual(dawn())).stands()
		for n := 1; n <= whole.saves; n++ {
			if count++; !*everyKill && count%17 != 0 {
				continue
			}
			end := c.play(t, point{save: true, refused: true, n: n})
			if strings.Contains(end.log, "not released; it expires by itself") {
				end.stands = claimed.ReplaceAllString(end.stands, "")
			}
			if !end.same(whole) {
				end.back(t, fmt.Sprintf("%s, save %d refused", name, n), was)
			}
		}
	}
}

// A deployment that is cancelled before or after any of its writes is put back.
func TestCancelledAnywhere(t *testing.T) {
	t.Parallel()
	count := 0
	for _, name := range []string{"task sets", "task sets, quick", "task sets, with auto scaling", "beside", "by name",
		"rolling", "CodeDeploy"} {
		c := courses()[name]
		whole, was := c.play(t, point{}), c.lay(t, clock.NewVirtual(dawn())).stands()
		for n := 1; n <= whole.writes; n++ {
			for _, after := range []bool{false, true} {
				if count++; *everyKill || count%19 == 0 {
					c.play(t, point{cancelled: true, n: n, after: after}).back(t,
						fmt.Sprintf("%s, write %d, after it %t", name, n, after), was)
				}
			}
		}
	}
}

// back wants all to stand as before.
func (p played) back(t *testing.T, what, was string) {
	t.Helper()
	if !p.ended() || p.failed > 0 || untouched(p.stands) != untouched(was) {
		t.Errorf("%s: %s\nbefore: %s\n%s", what, p, was, p.log)
	}
}

var claimed = regexp.MustCompile(` ?sluice:deployment:[^\]]*`)

// untouched leaves out what a rollback does not take back: the new revision stays
// registered, and that the service was tagged.
func untouched(stands string) string {
	revisions := regexp.MustCompile(`\d revisions`)
	tags := regexp.MustCompile(`pipecd-dev-[a-z:0-9-]+ ?`)
	parts := strings.Split(revisions.ReplaceAllString(tags.ReplaceAllString(stands, ""), "revisions"), "; ")
	slices.Sort(parts) // CodeDeploy's second deployment lists the groups in the other order
	return strings.Join(parts, "; ")
}

// ended tells whether the last stage came to an end as planned: a rollback, if there
// is one, succeeds.
func (p played) ended() bool {
	last := p.ends[len(p.ends)-1]
	return strings.HasSuffix(last, " STAGE_SUCCESS")
}

// points are where the plugin is killed: everywhere, or at a sample.
func (p played) points(count *int) (all []point) {
	add := func(at point) {
		if *count++; *everyKill || *count%sampled == 0 {
			all = append(all, at)
		}
	}
	for n := 1; n <= p.writes; n++ {
		add(point{n: n})
		add(point{n: n, after: true})
	}
	for n := 1; n <= p.saves; n++ {
		add(point{save: true, n: n})
		add(point{save: true, n: n, after: true})
	}
	return all
}
