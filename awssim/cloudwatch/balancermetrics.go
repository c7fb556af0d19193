package cloudwatch

import (
	"math"
	"slices"
	"strings"
	"time"

	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// balancerNamespace is the namespace of Application Load Balancers.
const balancerNamespace = "AWS/ApplicationELB"

// balancerMetrics are the metrics that load balancers publish, with the requests that each counts.
var balancerMetrics = map[string]world.StatusClass{
	"RequestCount":              0,
	"HTTPCode_Target_2XX_Count": 2,
	"HTTPCode_Target_3XX_Count": 3,
	"HTTPCode_Target_4XX_Count": 4,
	"HTTPCode_Target_5XX_Count": 5,
}

// findMetric returns the points of a metric: those that were put, and those that a load balancer
// has published up to now.
func findMetric(tx *world.Tx, namespace, name *string, dims []cwtypes.Dimension) *metric {
	key := metricKey(namespace, name, dims)
	put, _ := metricsOf(tx).all.Get(key)
	published := publishedPoints(tx, key, val(namespace), val(name), dims)
	if put == nil || len(published) == 0 {
		return &metric{points: append(published, pointsOf(put)...)}
	}
	all := slices.Concat(put.points, published)
	slices.SortStableFunc(all, func(a, b point) int { return a.at.Compare(b.at) })
	return &metric{points: all}
}

func pointsOf(m *metric) []point {
	if m == nil {
		return nil
	}
	return m.points
}

// publishedPoints returns the points of a load balancer's metric that are visible now, oldest
// first. A minute without requests has no point, and the minute that lasts has none yet.
func publishedPoints(tx *world.Tx, key, namespace, name string, dims []cwtypes.Dimension) (all []point) {
	class, known := balancerMetrics[name]
	balancer, group, ok := balancerOf(dims)
	if namespace != balancerNamespace || !known || !ok {
		return nil
	}
	for _, m := range tx.RequestCounts(balancer, group, class) {
		if n := visibleCount(tx, key, m); n > 0 {
			all = append(all, point{at: m.Minute, count: n, sum: n, min: 1, max: 1, unit: cwtypes.StandardUnitCount})
		}
	}
	return all
}

// visibleCount returns how many of a minute's requests CloudWatch shows now. The nodes of a load
// balancer report in two parts, each after its own delay, so the number of a minute grows.
func visibleCount(tx *world.Tx, key string, m world.MinuteCount) float64 {
	total, n := math.Round(m.Count), int(m.Minute.Unix()/60)
	first := math.Round(total * (0.5 + tx.Random("metric part", key, n)/2))
	age, delay := tx.Now().Sub(m.Minute.Add(time.Minute)), tx.Settings().MetricDelay
	visible := 0.0
	for part, count := range []float64{first, total - first} {
		if age >= tx.RandomBetween(delay.Min, delay.Max, "metric delay", key, 2*n+part) {
			visible += count
		}
	}
	return visible
}

// balancerOf returns the load balancer and the target group of dimensions. ok is false for
// dimensions that Application Load Balancers do not have, or that are not simulated.
func balancerOf(dims []cwtypes.Dimension) (balancer, group string, ok bool) {
	for _, d := range dims {
		switch val(d.Name) {
		case "LoadBalancer":
			balancer = val(d.Value)
		case "TargetGroup":
			if group = val(d.Value); group == "" {
				return "", "", false
			}
		default:
			return "", "", false
		}
	}
	return balancer, group, strings.HasPrefix(balancer, "app/")
}
