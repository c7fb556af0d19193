package cloudwatch

import (
	"context"
	"slices"
	"strings"
	"time"

	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// GetMetricStatistics sums up the stored data of a metric. It does not simulate percentiles.
func (s *Service) GetMetricStatistics(ctx context.Context,
	in *awscw.GetMetricStatisticsInput) (*awscw.GetMetricStatisticsOutput, error) {
	err := firstOf(checkLength(in.Namespace, "namespace", 255), checkLength(in.MetricName, "metricName", 255),
		checkDimensions(in.Dimensions))
	if err != nil {
		return nil, err
	}
	w, err := windowOf(in.StartTime, in.EndTime, in.Period, in.Unit)
	switch {
	case err != nil:
		return nil, err
	case len(in.ExtendedStatistics) > 0:
		return nil, notSimulated("ExtendedStatistics")
	case len(in.Statistics) == 0:
		return nil, missingParameter("The parameter Statistics is required, or ExtendedStatistics.")
	case w.to.Sub(w.from)/w.period > maxDatapoints:
		return nil,
			badCombination("You have requested up to %d datapoints, which exceeds the limit of %d. You may reduce "+
				"the datapoints requested by increasing Period, or decreasing the time range.",
				w.to.Sub(w.from)/w.period, maxDatapoints)
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awscw.GetMetricStatisticsOutput, error) {
		m := findMetric(tx, in.Namespace, in.MetricName, in.Dimensions)
		out := &awscw.GetMetricStatisticsOutput{Label: ptr(*in.MetricName), Datapoints: []cwtypes.Datapoint{}}
		for _, p := range w.periodSums(m) {
			d, err := newDatapoint(p, in.Statistics)
			if err != nil {
				return nil, err
			}
			out.Datapoints = append(out.Datapoints, d)
		}
		return out, nil
	})
}

func newDatapoint(p point, names []cwtypes.Statistic) (d cwtypes.Datapoint, err error) {
	d = cwtypes.Datapoint{Timestamp: ptr(p.at), Unit: p.unit}
	if d.Unit == "" {
		d.Unit = cwtypes.StandardUnitNone
	}
	for _, name := range names {
		if err = oneOf(name, "statistics", name.Values()); err != nil {
			return d, err
		}
		v, _ := p.statisticValue(string(name))
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
	return d, nil
}

// GetMetricData sums up the stored data of several metrics. It refuses expressions, which are not
// simulated.
func (s *Service) GetMetricData(ctx context.Context, in *awscw.GetMetricDataInput) (*awscw.GetMetricDataOutput, error) {
	if err := checkQueries(in); err != nil {
		return nil, err
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awscw.GetMetricDataOutput, error) {
		out := &awscw.GetMetricDataOutput{MetricDataResults: []cwtypes.MetricDataResult{},
			Messages: []cwtypes.MessageData{}}
		left := maxReturnedPoints
		if in.MaxDatapoints != nil {
			left = min(left, int(*in.MaxDatapoints))
		}
		for i := range in.MetricDataQueries {
			q := &in.MetricDataQueries[i]
			if q.ReturnData != nil && !*q.ReturnData {
				continue
			}
			r, err := queryResult(tx, in, q)
			if err != nil {
				return nil, err
			}
			if left -= len(r.Values); left < 0 {
				return nil, notSimulated("A result of more data points than MaxDatapoints")
			}
			out.MetricDataResults = append(out.MetricDataResults, r)
		}
		return out, nil
	})
}

func checkQueries(in *awscw.GetMetricDataInput) error {
	switch n := len(in.MetricDataQueries); {
	case n == 0:
		return missingParameter("The parameter MetricDataQueries is required.")
	case n > maxQueries:
		return validationError("The collection MetricDataQueries must not have a size greater than %d.", maxQueries)
	case val(in.NextToken) != "":
		return badToken()
	}
	ids := map[string]bool{}
	for _, q := range in.MetricDataQueries {
		id := val(q.Id)
		switch {
		case id == "" || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz", rune(id[0])):
			return validationError(
				"The value %q for parameter Id is not matching the expected pattern ^[a-z][a-zA-Z0-9_]*$.", id)
		case ids[id]:
			return validationError("The values for parameter id in MetricDataQueries are not unique.")
		case q.Expression != nil:
			return notSimulated("Metric math, as in Expression,")
		case q.MetricStat == nil || q.MetricStat.Metric == nil:
			return missingParameter("The parameter MetricDataQueries.member.MetricStat is required.")
		}
		ids[id] = true
	}
	return nil
}

func queryResult(tx *world.Tx, in *awscw.GetMetricDataInput, q *cwtypes.MetricDataQuery) (r cwtypes.MetricDataResult,
	err error) {
	x := q.MetricStat
	w, err := windowOf(in.StartTime, in.EndTime, x.Period, x.Unit)
	if err != nil {
		return r, err
	}
	if _, err := (point{}).statisticValue(val(x.Stat)); err != nil {
		return r, err
	}
	r = cwtypes.MetricDataResult{Id: ptr(*q.Id), Label: ptr(val(x.Metric.MetricName)),
		StatusCode: cwtypes.StatusCodeComplete,
		Timestamps: []time.Time{}, Values: []float64{}}
	if q.Label != nil {
		r.Label = ptr(*q.Label)
	}
	m := findMetric(tx, x.Metric.Namespace, x.Metric.MetricName, x.Metric.Dimensions)
	sums := w.periodSums(m)
	if in.ScanBy != cwtypes.ScanByTimestampAscending {
		slices.Reverse(sums)
	}
	for _, p := range sums {
		v, _ := p.statisticValue(val(x.Stat))
		r.Timestamps, r.Values = append(r.Timestamps, p.at), append(r.Values, v)
	}
	return r, nil
}
