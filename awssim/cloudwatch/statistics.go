package cloudwatch

import (
	"context"
	"time"

	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxStatistics         = 5
	maxExtendedStatistics = 10
)

// GetMetricStatistics sums up the data of a metric.
func (s *Service) GetMetricStatistics(ctx context.Context,
	in *awscw.GetMetricStatisticsInput) (*awscw.GetMetricStatisticsOutput, error) {
	w, err := checkStatistics(in)
	if err != nil {
		return nil, err
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awscw.GetMetricStatisticsOutput, error) {
		m := findMetric(tx, in.Namespace, in.MetricName, in.Dimensions)
		out := &awscw.GetMetricStatisticsOutput{Label: ptr(*in.MetricName), Datapoints: []cwtypes.Datapoint{}}
		for _, p := range w.periodSums(m) {
			if d, ok := newDatapoint(p, in.Statistics, in.ExtendedStatistics); ok {
				out.Datapoints = append(out.Datapoints, d)
			}
		}
		return out, nil
	})
}

func checkStatistics(in *awscw.GetMetricStatisticsInput) (w window, err error) {
	if err = checkStatisticNames(in); err != nil {
		return w, err
	}
	if w, err = windowOf(in.StartTime, in.EndTime, in.Period, in.Unit); err != nil {
		return w, err
	}
	if n := w.to.Sub(w.from) / w.period; n > maxDatapoints {
		return w, badCombination("You have requested up to %d datapoints, which exceeds the limit of %d. You may reduce "+
			"the datapoints requested by increasing Period, or decreasing the time range.", n, maxDatapoints)
	}
	return w, nil
}

func checkStatisticNames(in *awscw.GetMetricStatisticsInput) error {
	switch plain, extended := len(in.Statistics), len(in.ExtendedStatistics); {
	case plain == 0 && extended == 0:
		return missingParameter("The parameter Statistics is required, or ExtendedStatistics.")
	case plain > 0 && extended > 0:
		return badCombination("The parameters Statistics and ExtendedStatistics must not be used together.")
	case plain > maxStatistics:
		return validationError("The collection Statistics must not have a size greater than %d.", maxStatistics)
	case extended > maxExtendedStatistics:
		return validationError("The collection ExtendedStatistics must not have a size greater than %d.",
			maxExtendedStatistics)
	}
	for i, name := range in.ExtendedStatistics {
		if _, ok := parseExtended(name); !ok {
			return world.Refuse("InvalidParameterValueException",
				"The value %s for parameter ExtendedStatistics.member.%d is not a valid statistic.", name, i+1)
		}
	}
	return nil
}

// newDatapoint returns the statistics of a point. ok is false if it has none of them.
func newDatapoint(p point, plain []cwtypes.Statistic, extended []string) (d cwtypes.Datapoint, ok bool) {
	d = cwtypes.Datapoint{Timestamp: ptr(p.at), Unit: unitOf(p)}
	for _, name := range plain {
		v, _ := statistic{kind: string(name)}.valueOf(p)
		switch name {
		case cwtypes.StatisticAverage:
			d.Average = &v
		case cwtypes.StatisticMaximum:
			d.Maximum = &v
		case cwtypes.StatisticMinimum:
			d.Minimum = &v
		case cwtypes.StatisticSampleCount:
			d.SampleCount = &v
		case cwtypes.StatisticSum:
			d.Sum = &v
		}
	}
	for _, name := range extended {
		s, _ := parseExtended(name)
		if v, ok := s.valueOf(p); ok {
			if d.ExtendedStatistics == nil {
				d.ExtendedStatistics = map[string]float64{}
			}
			d.ExtendedStatistics[name] = v
		}
	}
	return d, len(plain) > 0 || len(d.ExtendedStatistics) > 0
}

func unitOf(p point) cwtypes.StandardUnit {
	if p.unit == "" {
		return cwtypes.StandardUnitNone
	}
	return p.unit
}

// series are the values of one query, by time.
type series struct {
	times  []time.Time
	values []float64
}

// valuesOf returns the values of a statistic in the periods that have one, oldest first.
func (w window) valuesOf(m *metric, s statistic) (out series) {
	for _, p := range w.periodSums(m) {
		if v, ok := s.valueOf(p); ok {
			out.times, out.values = append(out.times, p.at), append(out.values, v)
		}
	}
	return out
}
