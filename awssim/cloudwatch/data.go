package cloudwatch

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxData           = 1000    // data in one call
	maxValues         = 150     // values of one datum
	maxMetricPoints   = 10_000  // newest points of a metric
	maxMetrics        = 10_000  // metrics of a Region
	maxDatapoints     = 1440    // of GetMetricStatistics
	maxReturnedPoints = 100_800 // of GetMetricData
	maxQueries        = 500
)

// metricStore holds the metrics of a Region, by name.
type metricStore struct{ all world.Ordered[*metric] }

func metricsOf(tx *world.Tx) *metricStore {
	return world.PrivateState[metricStore](tx.Region, "cloudwatch")
}

// metricKey returns the identity of a metric: namespace, name and dimensions in any order.
func metricKey(namespace, name *string, dims []cwtypes.Dimension) string {
	parts := make([]string, 0, len(dims))
	for _, d := range dims {
		parts = append(parts, val(d.Name)+"\x01"+val(d.Value))
	}
	slices.Sort(parts)
	return val(namespace) + "\x00" + val(name) + "\x00" + strings.Join(parts, "\x00")
}

// PutMetricData stores data for GetMetricStatistics and GetMetricData. On AWS the data becomes
// visible after minutes, here at once.
func (s *Service) PutMetricData(ctx context.Context, in *awscw.PutMetricDataInput) (*awscw.PutMetricDataOutput, error) {
	data := slices.Clone(in.MetricData)
	for _, e := range in.EntityMetricData {
		data = append(data, e.MetricData...)
	}
	switch {
	case len(data) == 0:
		return nil, missingParameter("The parameter MetricData is required.")
	case len(data) > maxData:
		return nil, validationError("The collection MetricData must not have a size greater than %d.", maxData)
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awscw.PutMetricDataOutput, error) {
		for i := range data {
			if err := checkDatum(tx.Now(), &data[i]); err != nil {
				return nil, err
			}
		}
		for i := range data {
			metricsOf(tx).addDatum(in.Namespace, &data[i], tx.Now())
		}
		return nil, nil
	})
}

func checkDatum(now time.Time, d *cwtypes.MetricDatum) error {
	given := 0
	for _, is := range []bool{d.Value != nil, d.StatisticValues != nil, len(d.Values) > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		return badCombination("Exactly one of Value, Values and StatisticValues must be given for metric %s",
			*d.MetricName)
	}
	if x := d.StatisticValues; x != nil && (x.Sum == nil || x.Minimum == nil || x.Maximum == nil ||
		val(x.SampleCount) <= 0) {
		return missingParameter("The parameters SampleCount, Sum, Minimum and Maximum of StatisticValues are required.")
	}
	if len(d.Values) > maxValues || len(d.Counts) > 0 && len(d.Counts) != len(d.Values) {
		return validationError("Values has at most %d elements, and Counts as many", maxValues)
	}
	for _, v := range append(slices.Clone(d.Values), val(d.Value)) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return world.Refuse("InvalidParameterValueException",
				"The value %v for parameter MetricData.member.Value is invalid.", v)
		}
	}
	if at := d.Timestamp; at != nil && (at.After(now.Add(2*time.Hour)) || at.Before(now.AddDate(0, 0, -14))) {
		return world.Refuse("InvalidParameterValueException",
			"The parameter MetricData.member.Timestamp must specify a time within the past two weeks and at most "+
				"two hours in the future.")
	}
	return nil
}

func (m *metricStore) addDatum(namespace *string, d *cwtypes.MetricDatum, now time.Time) {
	name := metricKey(namespace, d.MetricName, d.Dimensions)
	x, ok := m.all.Get(name)
	if !ok {
		if m.all.Len() >= maxMetrics {
			m.all.Delete(m.all.Keys()[0])
		}
		x = &metric{}
		m.all.Put(name, x)
	}
	p := pointOf(d)
	p.at = now
	if d.Timestamp != nil {
		p.at = d.Timestamp.UTC()
	}
	i := len(x.points)
	for i > 0 && x.points[i-1].at.After(p.at) {
		i--
	}
	x.points = slices.Insert(x.points, i, p)
	if len(x.points) >= 2*maxMetricPoints {
		x.points = append(x.points[:0:0], x.points[len(x.points)-maxMetricPoints:]...)
	}
}
