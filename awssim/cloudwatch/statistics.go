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
func (s *Service) GetMetricStatistics(ctx context.Context, in *awscw.GetMetricStatisticsInput) (*awscw.GetMetricStatisticsOutput, error) {
	err := firstOf(within(in.Namespace, "namespace", 255), within(in.MetricName, "metricName", 255), checkDimensions(in.Dimensions))
	if err != nil {
		return nil, err
	}
	w, err := windowOf(in.StartTime, in.EndTime, in.Period, in.Unit)
	switch {
	case err != nil:
		return nil, err
	case len(in.ExtendedStatistics) > 0:
		return nil, unsimulated("ExtendedStatistics")
	case len(in.Statistics) == 0:
		return nil, missing("The parameter Statistics is required, or ExtendedStatistics.")
	case w.to.Sub(w.from)/w.period > mostPoints:
		return nil, combination("You have requested up to %d datapoints, which exceeds the limit of %d. You may reduce the datapoints requested by increasing Period, or decreasing the time range.", w.to.Sub(w.from)/w.period, mostPoints)
	}
	return call(ctx, s, func(tx *world.Tx) (*awscw.GetMetricStatisticsOutput, error) {
		m, _ := metricsOf(tx).all.Get(nameOf(in.Namespace, in.MetricName, in.Dimensions))
		out := &awscw.GetMetricStatisticsOutput{Label: ptr(*in.MetricName), Datapoints: []cwtypes.Datapoint{}}
		for _, p := range w.sums(m) {
			d, err := datapoint(p, in.Statistics)
			if err != nil {
				return nil, err
			}
			out.Datapoints = append(out.Datapoints, d)
		}
		return out, nil
	})
}

func datapoint(p point, names []cwtypes.Statistic) (d cwtypes.Datapoint, err error) {
	d = cwtypes.Datapoint{Timestamp: ptr(p.at), Unit: p.unit}
	if d.Unit == "" {
		d.Unit = cwtypes.StandardUnitNone
	}
	for _, name := range names {
		if err = oneOf(name, "statistics", name.Values()); err != nil {
			return d, err
		}
		v, _ := p.stat(string(name))
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
	return call(ctx, s, func(tx *world.Tx) (*awscw.GetMetricDataOutput, error) {
		out := &awscw.GetMetricDataOutput{MetricDataResults: []cwtypes.MetricDataResult{}, Messages: []cwtypes.MessageData{}}
		left := mostReturned
		if in.MaxDatapoints != nil {
			left = min(left, int(*in.MaxDatapoints))
		}
		for i := range in.MetricDataQueries {
			q := &in.MetricDataQueries[i]
			if q.ReturnData != nil && !*q.ReturnData {
				continue
			}
			r, err := answer(tx, in, q)
			if err != nil {
				return nil, err
			}
			if left -= len(r.Values); left < 0 {
				return nil, unsimulated("A result of more data points than MaxDatapoints")
			}
			out.MetricDataResults = append(out.MetricDataResults, r)
		}
		return out, nil
	})
}

func checkQueries(in *awscw.GetMetricDataInput) error {
	switch n := len(in.MetricDataQueries); {
	case n == 0:
		return missing("The parameter MetricDataQueries is required.")
	case n > mostQueries:
		return invalid("The collection MetricDataQueries must not have a size greater than %d.", mostQueries)
	case val(in.NextToken) != "":
		return badToken()
	}
	ids := map[string]bool{}
	for _, q := range in.MetricDataQueries {
		id := val(q.Id)
		switch {
		case id == "" || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz", rune(id[0])):
			return invalid("The value %q for parameter Id is not matching the expected pattern ^[a-z][a-zA-Z0-9_]*$.", id)
		case ids[id]:
			return invalid("The values for parameter id in MetricDataQueries are not unique.")
		case q.Expression != nil:
			return unsimulated("Metric math, as in Expression,")
		case q.MetricStat == nil || q.MetricStat.Metric == nil:
			return missing("The parameter MetricDataQueries.member.MetricStat is required.")
		}
		ids[id] = true
	}
	return nil
}

func answer(tx *world.Tx, in *awscw.GetMetricDataInput, q *cwtypes.MetricDataQuery) (r cwtypes.MetricDataResult, err error) {
	x := q.MetricStat
	w, err := windowOf(in.StartTime, in.EndTime, x.Period, x.Unit)
	if err != nil {
		return r, err
	}
	if _, err := (point{}).stat(val(x.Stat)); err != nil {
		return r, err
	}
	r = cwtypes.MetricDataResult{Id: ptr(*q.Id), Label: ptr(val(x.Metric.MetricName)), StatusCode: cwtypes.StatusCodeComplete,
		Timestamps: []time.Time{}, Values: []float64{}}
	if q.Label != nil {
		r.Label = ptr(*q.Label)
	}
	m, _ := metricsOf(tx).all.Get(nameOf(x.Metric.Namespace, x.Metric.MetricName, x.Metric.Dimensions))
	sums := w.sums(m)
	if in.ScanBy != cwtypes.ScanByTimestampAscending {
		slices.Reverse(sums)
	}
	for _, p := range sums {
		v, _ := p.stat(val(x.Stat))
		r.Timestamps, r.Values = append(r.Timestamps, p.at), append(r.Values, v)
	}
	return r, nil
}
