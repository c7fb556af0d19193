package analysis

import "math"

// The evidence of SEQUENTIAL is a bet against a claim. Each window multiplies the stake by a factor
// whose mean is at most 1 if the claim is true. So the chance that the stake ever reaches 1/alpha is at
// most alpha (Ville's inequality), at any number of looks.
//
// Three claims are bet against. Each bet is an average of bets with several alternatives.
//
//   - "The odds of a failure of the canary are at most worse times those of the primary."
//     Given the number k of failures in a window, those of the canary have Fisher's noncentral
//     hypergeometric distribution. It is a sum of independent draws (its polynomial has real roots only),
//     and its mean is at most k·θ. So it is less spread than a binomial of θ (Hoeffding), and the factor of
//     the binomial has a mean of at most 1. The rates of the window do not matter, only its share does.
//   - "The odds of the canary are at least twice those of the primary", for the early pass. The same with
//     a bound of the mean from below.
//   - "The canary's share of bad requests is at least max", and "at most max". These are binomial.

// Alternatives of the bets.
var (
	worseBets = [8]float64{1.5, 2, 3, 5, 10, 30, 100, 1000} // times the margin
	equalBets = [4]float64{.1, .3, .6, 1}                   // ratios of the odds
	belowBets = [4]float64{.01, .1, .3, .6}                 // times max
)

// An early pass without max needs evidence that the canary is not twice as bad. If the margin is larger
// than 1.5, it needs evidence that the canary is not a third worse than the margin.
const (
	notTwice   = 2
	overMargin = 4.0 / 3
)

// logs is the logarithm of a stake, in units of 1/2^24. Sums of integers do not depend on the order of
// the windows, and JSON keeps them. Rounding down makes the evidence smaller, never larger.
type logs int64

const unitsPerLog = 1 << 24

func toLogs(x float64) logs {
	const most = 1 << 58
	return logs(math.Floor(max(min(x*unitsPerLog, most), -most)))
}

// plus adds without overflow.
func (l logs) plus(m logs) logs {
	const most = 1 << 61
	return max(min(l+m, most), -most)
}

// Evidence has the stakes of all bets, as logarithms.
type Evidence struct {
	Bad  [8]logs `json:"bad"`  // against "not worse than accepted"
	Good [4]logs `json:"good"` // against "at least twice as bad", or "at least max"
}

func (e Evidence) plus(f Evidence) Evidence {
	for i := range e.Bad {
		e.Bad[i] = e.Bad[i].plus(f.Bad[i])
	}
	for i := range e.Good {
		e.Good[i] = e.Good[i].plus(f.Good[i])
	}
	return e
}

// logMean is the logarithm of the average stake.
func logMean(stakes []logs) float64 {
	most := stakes[0]
	for _, s := range stakes {
		most = max(most, s)
	}
	sum := 0.0
	for _, s := range stakes {
		sum += math.Exp(float64(s-most) / unitsPerLog)
	}
	return float64(most)/unitsPerLog + math.Log(sum/float64(len(stakes)))
}

// weigh returns the evidence of one window.
func (g Gate) weigh(w Window) (e Evidence) {
	for i, r := range worseBets {
		if g.comparesVariants() {
			e.Bad[i] = toLogs(betWorse(w, g.Worse, r))
		} else {
			e.Bad[i] = toLogs(betShare(w.Canary, g.Max, r))
		}
	}
	for i := range e.Good {
		if g.Max > 0 {
			e.Good[i] = toLogs(betShareBelow(w.Canary, g.Max, belowBets[i]))
		} else {
			e.Good[i] = toLogs(betBetter(w, g.tooBad(), equalBets[i]))
		}
	}
	return e
}

// tooBad is the ratio of the odds that an early pass rules out.
func (g Gate) tooBad() float64 { return max(notTwice, overMargin*g.Worse) }

// betWorse is the logarithm of the factor that a window has for "the odds are ratio·r", against "the odds
// are ratio". θ(r) = r·s/(r·s+1−s) is the canary's part of the failures, s its share of the requests.
func betWorse(w Window, ratio, r float64) float64 {
	c, p := float64(w.Canary.All), float64(w.Primary.All)
	if c == 0 || p == 0 {
		return 0 // only one variant had requests: nothing to compare
	}
	failures := float64(w.Canary.Bad + w.Primary.Bad)
	return float64(w.Canary.Bad)*math.Log(r) - failures*math.Log1p(ratio*(r-1)*c/(ratio*c+p))
}

// betBetter is the logarithm of the factor that a window has for "the odds are r", against "the odds are
// at least ratio". r is less than ratio.
func betBetter(w Window, ratio, r float64) float64 {
	if w.Canary.All == 0 || w.Primary.All == 0 {
		return 0
	}
	null, other := partOfFailures(w, ratio), partOfFailures(w, r)
	return binomialFactor(float64(w.Canary.Bad), float64(w.Primary.Bad), null, other)
}

// partOfFailures is the part of the failures that the canary has at least on average, if its odds are
// ratio times those of the primary and ratio is at least 1. It is the smaller root of the equation of
// means (Cornfield); the true mean is above it by a variance. If few requests fail, it is θ.
func partOfFailures(w Window, ratio float64) float64 {
	c, p := float64(w.Canary.All), float64(w.Primary.All)
	k := float64(w.Canary.Bad + w.Primary.Bad)
	b := ratio*(c+k) + p - k
	return 2 * ratio * c / (b + math.Sqrt(max(b*b-4*(ratio-1)*ratio*c*k, 0)))
}

// betShare is the logarithm of the factor that requests have for "the odds of a failure are r times those
// of share", against "at most share".
func betShare(c Counts, share, r float64) float64 {
	odds := r * share / (1 - share)
	return binomialFactor(float64(c.Bad), float64(c.All-c.Bad), share, odds/(1+odds))
}

// betShareBelow is the logarithm of the factor that requests have for "the share is part·share", against
// "at least share".
func betShareBelow(c Counts, share, part float64) float64 {
	return binomialFactor(float64(c.Bad), float64(c.All-c.Bad), share, part*share)
}

// binomialFactor is the logarithm of the likelihood ratio of hits and misses, other to null.
func binomialFactor(hits, misses, null, other float64) float64 {
	sum := 0.0
	if hits > 0 {
		sum += hits * math.Log(other/null)
	}
	if misses > 0 {
		sum += misses * (math.Log1p(-other) - math.Log1p(-null))
	}
	return sum
}
