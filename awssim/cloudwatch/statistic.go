package cloudwatch

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// statistic is one statistic of a period, such as Sum, p99 or TC(0.5:).
type statistic struct {
	kind      string // SampleCount, Sum, Average, Minimum, Maximum, p, TM, TC, TS, WM, PR
	isPercent bool   // the bounds are percent of the samples, not values
	low, high float64
}

var plainStatistics = []string{"SampleCount", "Sum", "Average", "Minimum", "Maximum"}

// parseStatistic reads the name of a statistic (user guide, "CloudWatch statistics definitions").
// Names of one number are in lower case, names with bounds in upper case.
func parseStatistic(name string) (s statistic, ok bool) {
	if slices.Contains(plainStatistics, name) {
		return statistic{kind: name}, true
	}
	return parseExtended(name)
}

func parseExtended(name string) (s statistic, ok bool) {
	if name == "IQM" {
		return statistic{kind: "TM", isPercent: true, low: 25, high: 75}, true
	}
	if kind, bounds, ok := strings.Cut(name, "("); ok {
		return parseBounds(kind, bounds)
	}
	digits := strings.TrimLeft(name, "ptmcsw")
	kind := strings.ToUpper(strings.TrimSuffix(name, digits))
	if !slices.Contains([]string{"p", "tm", "tc", "ts", "wm"}, strings.ToLower(kind)) ||
		name[:len(kind)] != strings.ToLower(kind) {
		return s, false
	}
	high, ok := parseBound(digits)
	return statistic{kind: kind, isPercent: true, high: high}, ok && high <= 100
}

// parseBounds reads "2%:98%)" or "0.5:)".
func parseBounds(kind, text string) (s statistic, ok bool) {
	text, closed := strings.CutSuffix(text, ")")
	low, high, two := strings.Cut(text, ":")
	if !closed || !two || low == "" && high == "" || !slices.Contains([]string{"TM", "TC", "TS", "WM", "PR"}, kind) {
		return s, false
	}
	s = statistic{kind: kind, isPercent: strings.Contains(text, "%"), low: math.Inf(-1), high: math.Inf(1)}
	if s.isPercent {
		s.low, s.high = 0, 100
	}
	for _, b := range []struct {
		text string
		to   *float64
	}{{low, &s.low}, {high, &s.high}} {
		if b.text == "" {
			continue
		}
		number, percent := strings.CutSuffix(b.text, "%")
		v, ok := parseBound(number)
		if !ok || percent != s.isPercent || percent && v > 100 {
			return s, false
		}
		*b.to = v
	}
	return s, s.low < s.high && !(kind == "PR" && s.isPercent)
}

// parseBound reads a number of digits with at most ten of them after the point.
func parseBound(text string) (float64, bool) {
	_, fraction, _ := strings.Cut(text, ".")
	if text == "" || strings.Trim(text, "0123456789.") != "" || len(fraction) > 10 {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// valueOf returns the statistic of a point. ok is false if it has none: no sample lies between the
// bounds, or the distribution is not known.
func (s statistic) valueOf(p point) (v float64, ok bool) {
	switch s.kind {
	case "SampleCount":
		return p.count, true
	case "Sum":
		return p.sum, true
	case "Average":
		return p.sum / p.count, true
	case "Minimum":
		return p.min, true
	case "Maximum":
		return p.max, true
	}
	if !p.hasDistribution() {
		return 0, false
	}
	return s.valueOfSamples(p.sortedSamples(), p.count)
}

// samples are equal values.
type samples struct{ value, count float64 }

func (s statistic) valueOfSamples(all []samples, total float64) (float64, bool) {
	switch s.kind {
	case "P":
		return percentileOf(all, total, s.high), true
	case "WM":
		return s.winsorizedMean(all, total), true
	}
	count, sum := s.trimSamples(all, total)
	switch s.kind {
	case "TC":
		return count, true
	case "TS":
		return sum, true
	case "PR":
		return 100 * count / total, true
	}
	return sum / count, count > 0
}

// trimSamples returns the number and the sum of the samples between the bounds: above the lower and
// up to the upper one.
func (s statistic) trimSamples(all []samples, total float64) (count, sum float64) {
	before := 0.0
	for _, x := range all {
		n := 0.0
		switch {
		case s.isPercent:
			n = min(before+x.count, s.high/100*total) - max(before, s.low/100*total)
		case x.value > s.low && x.value <= s.high:
			n = x.count
		}
		before += x.count
		if n > 0 {
			count, sum = count+n, sum+n*x.value
		}
	}
	return count, sum
}

// winsorizedMean returns the mean, with the values outside the bounds moved to the bounds.
func (s statistic) winsorizedMean(all []samples, total float64) float64 {
	low, high := s.low, s.high
	if s.isPercent {
		low, high = percentileOf(all, total, s.low), percentileOf(all, total, s.high)
	}
	sum := 0.0
	for _, x := range all {
		sum += x.count * min(max(x.value, low), high)
	}
	return sum / total
}

// percentileOf returns the smallest value that at least that percentage of the samples does not
// exceed.
func percentileOf(all []samples, total, percent float64) float64 {
	before := 0.0
	for _, x := range all {
		if before += x.count; before >= percent/100*total-1e-9 {
			return x.value
		}
	}
	return all[len(all)-1].value
}
