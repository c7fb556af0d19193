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

// responseTime is the metric of the time from a request to the header of its target's answer.
const responseTime = "TargetResponseTime"

// balancerMetrics are the metrics that load balancers publish, with the requests that each counts.
var balancerMetrics = map[string]func(world.StatusClass) bool{
	"RequestCount":              func(world.StatusClass) bool { return true },
	"HTTPCode_Target_2XX_Count": isClass(2),
	"HTTPCode_Target_3XX_Count": isClass(3),
	"HTTPCode_Target_4XX_Count": isClass(4),
	"HTTPCode_Target_5XX_Count": isClass(5),
	responseTime:                func(c world.StatusClass) bool { return c > 0 },
}

func isClass(want world.StatusClass) func(world.StatusClass) bool {
	return func(c world.StatusClass) bool { return c == want }
}

// findMetric returns the points of a metric: those that were put, and those that a load balancer
// has published up to now.
func findMetric(tx *world.Tx, namespace, name *string, dims []cwtypes.Dimension) *metric {
	put, _ := metricsOf(tx).all.Get(metricKey(namespace, name, dims))
	published := publishedPoints(tx, val(namespace), val(name), dims)
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
func publishedPoints(tx *world.Tx, namespace, name string, dims []cwtypes.Dimension) (all []point) {
	counts, known := balancerMetrics[name]
	balancer, group, ok := balancerOf(dims)
	if namespace != balancerNamespace || !known || !ok {
		return nil
	}
	// All metrics of a minute arrive together, whatever their name.
	key := metricKey(ptr(namespace), ptr("RequestCount"), dims)
	for _, m := range tx.RequestCounts(balancer, group) {
		p := point{at: m.Minute, unit: cwtypes.StandardUnitCount}
		if name == responseTime {
			p.unit = cwtypes.StandardUnitSeconds
		}
		for _, a := range visibleAnswers(tx, key, m) {
			if a.Count > 0 && counts(a.Class) {
				p.addPoint(newPoint(sampleValue(name, a), a.Count))
			}
		}
		if p.count > 0 {
			all = append(all, p)
		}
	}
	return all
}

// sampleValue returns the value of one request: its time in seconds, or 1.
func sampleValue(name string, a world.AnswerCount) float64 {
	if name == responseTime {
		return float64(a.Took) / float64(time.Second)
	}
	return 1
}

// rareAnswers is the number of requests below which rounding may be wrong by half a percent.
const rareAnswers = 100

// visibleAnswers returns the requests of a minute that CloudWatch shows now. The nodes of a load
// balancer report in two parts, each after its own delay, so the numbers of a minute grow.
func visibleAnswers(tx *world.Tx, key string, m world.MinuteCounts) []world.AnswerCount {
	n := int(m.Minute.Unix() / 60)
	total, rarest := 0.0, math.Inf(1)
	for _, a := range m.Answers {
		total, rarest = total+a.Count, min(rarest, a.Count)
	}
	// Modelled callers send parts of requests, which are rounded to the nearest whole. For a rare kind
	// of answer that would be wrong by much: with the keyed draw, half a request a minute is one
	// every other minute.
	offset := 0.5
	if rarest < rareAnswers {
		offset = tx.Random("metric rounding", key, n)
	}
	whole := wholeCounts(m.Answers, math.Round(total)/total, offset)
	first := wholeCounts(whole, 0.5+tx.Random("metric part", key, n)/2, 0.5)
	age, delay := tx.Now().Sub(m.Minute.Add(time.Minute)), tx.Settings().MetricDelay
	isVisible := func(part int) bool {
		return age >= tx.RandomBetween(delay.Min, delay.Max, "metric delay", key, 2*n+part)
	}
	seesFirst, seesRest := isVisible(0), isVisible(1)
	for i := range whole {
		all, part := whole[i].Count, first[i].Count
		whole[i].Count = 0
		if seesFirst {
			whole[i].Count += part
		}
		if seesRest {
			whole[i].Count += all - part
		}
	}
	return whole
}

// wholeCounts returns a share of the requests as whole numbers, whose sum is the share of all
// requests plus the offset (0 to 1), rounded down.
func wholeCounts(all []world.AnswerCount, share, offset float64) []world.AnswerCount {
	all = slices.Clone(all)
	sum, before := 0.0, 0.0
	for i := range all {
		sum += all[i].Count * share
		up := math.Floor(sum + offset + 1e-9) // a whole sum may be a little less by rounding
		all[i].Count, before = up-before, up
	}
	return all
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
