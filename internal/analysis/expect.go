package analysis

import (
	"math"
	"time"
)

// Expected is what a gate decides of a canary on average, and after how long.
type Expected struct {
	Verdict Verdict       // Undecided: nothing within 30 days
	After   time.Duration // 0: unknown or never
}

// Traffic is the requests of both variants in a minute, and the share of the primary's that is bad.
type Traffic struct{ Canary, Primary, Bad float64 }

// Expect returns what SEQUENTIAL decides on average, if the odds of a bad request are ratio times those of
// the primary on the canary. Half of the releases take longer. The time counts from the first request, and
// metrics that are published late come on top.
func (g Gate) Expect(t Traffic, ratio float64) Expected {
	g = g.withDefaults()
	odds := ratio * t.Bad / (1 - t.Bad)
	failing := t.Canary * odds / (1 + odds) // requests of the canary in a minute
	growth := g.growthOf(t, failing)
	bad := minutesUntil(make([]logs, len(worseBets)), growth.bad, 1/g.Alpha)
	if failing <= t.Canary/2 {
		bad = max(bad, float64(g.Spread)/-math.Expm1(-failing))
	}
	good := minutesUntil(make([]logs, len(equalBets)), growth.good, 1/g.Beta)
	switch {
	case math.IsInf(bad, 1) && math.IsInf(good, 1), !(t.Bad < 1):
		return Expected{Verdict: Undecided}
	case bad <= good:
		return Expected{Bad, toDuration(bad)}
	}
	return Expected{Good, toDuration(good)}
}

// growths are the mean growth of the bets in a minute.
type growths struct{ bad, good []float64 }

// growthOf weighs one average minute. Bets are linear in the counts, so a minute of so many times the
// requests has so many times the growth, and fractions of requests count.
func (g Gate) growthOf(t Traffic, failing float64) growths {
	const times = 1 << 12
	count := func(bad, all float64) Counts {
		return Counts{Bad: int64(math.Round(times * bad)), All: int64(math.Round(times * all))}
	}
	e := g.weigh(Window{Canary: count(failing, t.Canary), Primary: count(t.Primary*t.Bad, t.Primary)})
	return growths{perMinute(e.Bad[:], times), perMinute(e.Good[:], times)}
}
