// Package metrics has the interface of metric sources, and CloudWatch: metrics and alarms. A
// [SharedReader] reads the series of all deployments of an account with one call a minute. The
// package also turns series into figures about a deployment: the requests of the canary in the last
// minute, and the closed windows of a gate.
//
// It decides nothing about a deployment. Other sources are in the packages below it. Start reading at
// [Source], then [SharedReader.Read].
package metrics

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// Series names the values of one metric.
type Series struct {
	Namespace, Metric string
	Statistic         string // Sum, Average …
	Dimensions        []Dimension
}

// Dimension is a name and a value that select a resource.
type Dimension struct{ Name, Value string }

// Points are the values of a series by the begin of their minute, UTC. A minute without data has
// none.
type Points map[time.Time]float64

// Span is a time of whole minutes: From, and not To.
type Span struct{ From, To time.Time }

// minute is the period of all series: the shortest that AWS's own services publish.
const minute = time.Minute

// maxQueries is how many series CloudWatch returns in one call (API reference, GetMetricData).
const maxQueries = 500

func (s Series) newQuery(id string) cwtypes.MetricDataQuery {
	m := &cwtypes.Metric{Namespace: &s.Namespace, MetricName: &s.Metric}
	for _, d := range s.Dimensions {
		m.Dimensions = append(m.Dimensions, cwtypes.Dimension{Name: &d.Name, Value: &d.Value})
	}
	return cwtypes.MetricDataQuery{Id: &id, MetricStat: &cwtypes.MetricStat{Metric: m, Stat: &s.Statistic,
		Period: aws.Int32(int32(minute / time.Second))}}
}

func (p Points) addResult(r cwtypes.MetricDataResult) {
	for i, at := range r.Timestamps {
		if i < len(r.Values) {
			p[at.UTC()] = r.Values[i]
		}
	}
}
