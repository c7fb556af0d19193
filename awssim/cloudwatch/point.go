package cloudwatch

import (
	"cmp"
	"slices"
	"time"

	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// metric holds the points of one metric, by time.
type metric struct{ points []point }

// point is a sample, or a set of samples of one time.
type point struct {
	at                   time.Time
	count, sum, min, max float64
	unit                 cwtypes.StandardUnit
	values               []samples
	isSummary            bool // values are not known: only the statistics were put
}

// newPoint returns a point of equal samples.
func newPoint(value, count float64) point {
	return point{count: count, sum: value * count, min: value, max: value, values: []samples{{value, count}}}
}

func (p *point) addPoint(q point) {
	if p.count == 0 {
		p.min, p.max = q.min, q.max
	}
	p.count, p.sum = p.count+q.count, p.sum+q.sum
	p.min, p.max = min(p.min, q.min), max(p.max, q.max)
	p.values = append(p.values, q.values...)
	p.isSummary = p.isSummary || q.isSummary
}

// hasDistribution reports whether percentiles exist. AWS has none for negative values, and none for
// statistics that were put of more than one value.
func (p *point) hasDistribution() bool { return !p.isSummary && p.min >= 0 && p.count > 0 }

// sortedSamples returns the samples, ascending.
func (p *point) sortedSamples() []samples {
	all := slices.Clone(p.values)
	slices.SortFunc(all, func(a, b samples) int { return cmp.Compare(a.value, b.value) })
	return all
}

func pointOf(d *cwtypes.MetricDatum) (p point) {
	switch {
	case d.Value != nil:
		p = newPoint(*d.Value, 1)
	case d.StatisticValues != nil:
		s := d.StatisticValues
		p = newPoint(val(s.Minimum), val(s.SampleCount))
		p.sum, p.max, p.isSummary = val(s.Sum), val(s.Maximum), p.count != 1 && *s.Minimum != *s.Maximum
	}
	for i, v := range d.Values {
		n := 1.0
		if len(d.Counts) > 0 {
			n = d.Counts[i]
		}
		p.addPoint(newPoint(v, n))
	}
	p.unit = d.Unit
	return p
}

// window is the time range of a query, [from, to), in periods.
type window struct {
	from, to  time.Time
	period    time.Duration
	unit      cwtypes.StandardUnit
	fromStart bool // the first period begins at from
}

// periodOf returns the begin of the period of a time. Periods begin at multiples of their length,
// unless fromStart is set.
func (w window) periodOf(at time.Time) time.Time {
	if w.fromStart {
		return w.from.Add(at.Sub(w.from).Truncate(w.period))
	}
	return at.Truncate(w.period)
}

func windowOf(from, to *time.Time, period *int32, unit cwtypes.StandardUnit) (w window, err error) {
	switch {
	case from == nil || to == nil:
		return w, missingParameter("The parameters StartTime and EndTime are required.")
	case !from.Before(*to):
		return w, validationError("The parameter StartTime must be less than the parameter EndTime.")
	case period == nil:
		return w, missingParameter("The parameter Period is required.")
	}
	w = window{from: from.UTC(), to: to.UTC(), period: time.Duration(*period) * time.Second, unit: unit}
	if p := *period; p != 1 && p != 5 {
		err = checkPeriod(p, "Period")
	}
	return w, err
}

// periodSums returns the points of a metric, summed per period.
func (w window) periodSums(m *metric) []point {
	var list []point
	if m == nil {
		return nil
	}
	for _, p := range m.points {
		if p.at.Before(w.from) || !p.at.Before(w.to) || w.unit != "" && w.unit != p.unit {
			continue
		}
		at := w.periodOf(p.at)
		if n := len(list); n == 0 || !list[n-1].at.Equal(at) {
			list = append(list, point{at: at, unit: p.unit})
		}
		list[len(list)-1].addPoint(p)
	}
	return list
}
