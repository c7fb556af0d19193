package image

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// Bursts are clumped failures: one burst in each part of the time, at a moment that a draw decides.
type Bursts struct{ Length, Every time.Duration }

// latencyStep is the time in which a growing latency stays the same.
const latencyStep = 10 * time.Second

// ErrorRateAt returns the share of requests answered 500 that long after the start.
func (b Behaviour) ErrorRateAt(since time.Duration) float64 {
	if since < b.ErrorsAfter || !b.isInBurst(since) {
		return 0
	}
	return min(1, b.firstErrorRate()+b.ErrorGrowth*(since-b.ErrorsAfter).Minutes())
}

// firstErrorRate returns the share at which errors begin: all requests if only their time is given.
func (b Behaviour) firstErrorRate() float64 {
	if b.ErrorRate == 0 && b.ErrorGrowth == 0 && (b.ErrorsAfter > 0 || b.ErrorBursts.Every > 0) {
		return 1
	}
	return b.ErrorRate
}

// LatencyAt returns the latency of slow answers that long after the start.
func (b Behaviour) LatencyAt(since time.Duration) time.Duration {
	if since < b.LatencyAfter {
		return 0
	}
	steps := (since - b.LatencyAfter) / latencyStep
	return b.Latency + time.Duration(float64(b.LatencyGrowth)*(steps*latencyStep).Minutes())
}

// SlowShare returns the share of answers that take the latency. The others take no time.
func (b Behaviour) SlowShare() float64 {
	if b.LatencyShare == 0 {
		return 1
	}
	return b.LatencyShare
}

// NextRateChange returns the next time after start, later than since, at which the latency changes
// or the error rate changes its course; ok is false if neither ever does. Between two such times
// the error rate grows evenly.
func (b Behaviour) NextRateChange(since time.Duration) (at time.Duration, ok bool) {
	for _, t := range b.rateChanges(since) {
		if t > since && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}

func (b Behaviour) rateChanges(since time.Duration) []time.Duration {
	all := []time.Duration{b.ErrorsAfter, b.LatencyAfter}
	if b.ErrorGrowth > 0 {
		full := (1 - b.firstErrorRate()) / b.ErrorGrowth * float64(time.Minute)
		all = append(all, b.ErrorsAfter+time.Duration(full))
	}
	if b.LatencyGrowth > 0 && since >= b.LatencyAfter {
		all = append(all, since-(since-b.LatencyAfter)%latencyStep+latencyStep)
	}
	if every := b.ErrorBursts.Every; every > 0 && since >= b.ErrorsAfter {
		n := (since - b.ErrorsAfter) / every
		for _, n := range []time.Duration{n, n + 1} {
			begin := b.burstBegin(n)
			all = append(all, begin, begin+b.ErrorBursts.Length)
		}
	}
	return all
}

func (b Behaviour) isInBurst(since time.Duration) bool {
	if b.ErrorBursts.Every == 0 {
		return true
	}
	begin := b.burstBegin((since - b.ErrorsAfter) / b.ErrorBursts.Every)
	return since >= begin && since < begin+b.ErrorBursts.Length
}

// burstBegin returns when the n-th burst begins. The draw is keyed by the version and n.
func (b Behaviour) burstBegin(n time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write(binary.BigEndian.AppendUint64([]byte(b.Version+"\x00"), uint64(n)))
	draw := float64(h.Sum64()*0x9e3779b97f4a7c15>>11) / (1 << 53)
	free := b.ErrorBursts.Every - b.ErrorBursts.Length
	return b.ErrorsAfter + n*b.ErrorBursts.Every + time.Duration(draw*float64(free))
}

// parseGrowth reads a growth such as 1%/m with the function for its amount, per minute.
func parseGrowth[T float64 | time.Duration](s string, amount func(string) (T, error)) (T, error) {
	text, unit, given := strings.Cut(s, "/")
	per := time.Minute
	if given {
		var err error
		if per, err = time.ParseDuration("1" + unit); err != nil {
			return 0, fmt.Errorf("%q is not a growth such as %s/m or %s/h", s, text, text)
		}
	}
	v, err := amount(text)
	return T(float64(v) * float64(time.Minute) / float64(per)), err
}

// parseBursts reads bursts such as 10s/2m.
func parseBursts(s string) (b Bursts, err error) {
	length, every, _ := strings.Cut(strings.ReplaceAll(s, "/", "-"), "-")
	b.Length, err = parsePositive(length)
	if err == nil {
		b.Every, err = parsePositive(every)
	}
	if err != nil || b.Length > b.Every {
		return Bursts{}, fmt.Errorf("%q is not a length and a time such as 10s/2m, for 10 s in every 2 minutes", s)
	}
	return b, nil
}
