package analysis

import (
	"math"
	"time"
)

// timeLeft estimates how long it takes until the gate decides. Each bet grows as in the latest windows; if
// that leads to no verdict, the bets on "good" grow as those of a good release. 0 means unknown.
func (g Gate) timeLeft(c *Counted, bad float64) time.Duration {
	span := minutes(c.Recent)
	switch {
	case span == 0:
		return 0
	case bad >= math.Log(1/g.Alpha): // only the spread is missing
		missing := float64(g.neededSpread(c)) - float64(c.Spread)
		return toDuration(missing * span / float64(len(c.Recent)) * float64(c.Windows) / float64(c.Spread))
	}
	var recent Evidence
	var canary, primary Counts
	for _, r := range c.Recent {
		recent = recent.plus(g.weigh(r.window()))
		canary, primary = canary.add(r.Canary), primary.add(r.Primary)
	}
	left := min(minutesUntil(c.Evidence.Bad[:], perMinute(recent.Bad[:], span), 1/g.Alpha),
		minutesUntil(c.Evidence.Good[:], perMinute(recent.Good[:], span), 1/g.Beta))
	if math.IsInf(left, 1) {
		expected := g.growthOfGood(rates{float64(canary.All) / span, float64(primary.All) / span,
			expectedShare(c.Canary.add(c.Primary))})
		left = minutesUntil(c.Evidence.Good[:], expected, 1/g.Beta)
	}
	return toDuration(left)
}

// minutes is how long the recent windows last together, with the time between them.
func minutes(recent []Recent) float64 {
	n := len(recent)
	if n < 2 {
		return float64(n)
	}
	step := float64(recent[n-1].From-recent[0].From) / float64(n-1)
	return step * float64(n) / 60
}

func perMinute(sums []logs, span float64) (growth []float64) {
	for _, s := range sums {
		growth = append(growth, float64(s)/unitsPerLog/span)
	}
	return growth
}

// mostMinutes is 30 days. A gate does not wait so long.
const mostMinutes = 30 * 24 * 60

// minutesUntil returns when the average of the bets reaches needed, if each grows by itself; +Inf if it
// does not within 30 days.
func minutesUntil(stakes []logs, growth []float64, needed float64) float64 {
	isEnough := func(m float64) bool {
		later := make([]logs, len(stakes))
		for i, s := range stakes {
			later[i] = s.plus(toLogs(m * growth[i]))
		}
		return logMean(later) >= math.Log(needed)
	}
	least, most := 0.0, float64(mostMinutes)
	if !isEnough(most) {
		return math.Inf(1)
	}
	for range 30 {
		if middle := (least + most) / 2; isEnough(middle) {
			most = middle
		} else {
			least = middle
		}
	}
	return most
}

// toDuration rounds minutes to what an estimate is worth; 0 if it is unknown.
func toDuration(m float64) time.Duration {
	if !(m > 0) || m > mostMinutes {
		return 0
	}
	return max(time.Duration(m*float64(time.Minute)).Round(time.Second), time.Second)
}

// rates are requests in a minute, and the expected share of bad ones.
type rates struct{ canary, primary, bad float64 }

// expectedShare is the share of bad requests, with half a failure more than was seen: the first look has
// often seen none.
func expectedShare(c Counts) float64 { return (float64(c.Bad) + .5) / (float64(c.All) + 1) }

// growthOfGood is the mean growth in a minute of the bets on "good", if the canary is good: without
// failures where only max counts, else as good as the primary.
func (g Gate) growthOfGood(r rates) []float64 {
	growth := make([]float64, len(equalBets))
	switch {
	case g.Max > 0:
		for i, part := range belowBets {
			growth[i] = r.canary * (math.Log1p(-part*g.Max) - math.Log1p(-g.Max))
		}
	case r.canary > 0 && r.primary > 0:
		for i, bet := range equalBets {
			growth[i] = g.growthToEqual(r, bet)
		}
	}
	return growth
}

// growthToEqual is the mean growth in a minute of the bet on the ratio bet, if both variants are equal.
func (g Gate) growthToEqual(r rates, bet float64) float64 {
	share := r.canary / (r.canary + r.primary)
	theta := func(ratio float64) float64 { return ratio * share / (ratio*share + 1 - share) }
	null, other := theta(g.tooBad()), theta(bet)
	perFailure := share*math.Log(other/null) + (1-share)*(math.Log1p(-other)-math.Log1p(-null))
	return r.bad * (r.canary + r.primary) * perFailure
}
