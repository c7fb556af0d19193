package cloudwatch_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// put stores values of the metric shop/time at a time.
func (b *bench) put(t *testing.T, at time.Time, values ...float64) {
	t.Helper()
	must(b.PutMetricData(b.ctx, &awscw.PutMetricDataInput{Namespace: aws.String("shop"),
		MetricData: []cwtypes.MetricDatum{{MetricName: aws.String("time"), Values: values, Timestamp: &at,
			Unit: "Seconds"}}}))(t)
}

// ask returns a request for statistics of shop/time, one query each.
func (b *bench) ask(stats ...string) *awscw.GetMetricDataInput {
	in := &awscw.GetMetricDataInput{StartTime: aws.Time(b.clock.now.Add(-time.Hour)),
		EndTime: aws.Time(b.clock.now.Add(time.Hour)), ScanBy: "TimestampAscending"}
	for i, s := range stats {
		in.MetricDataQueries = append(in.MetricDataQueries, cwtypes.MetricDataQuery{Id: aws.String(fmt.Sprint("m", i)),
			MetricStat: &cwtypes.MetricStat{Period: aws.Int32(60), Stat: aws.String(s),
				Metric: &cwtypes.Metric{Namespace: aws.String("shop"), MetricName: aws.String("time")}}})
	}
	return in
}

// The names and the meaning are those of AWS's user guide, "CloudWatch statistics definitions": a
// lower bound is excluded, an upper bound included.
func TestStatisticsOfADistribution(t *testing.T) {
	b := newBench(t)
	var all []float64
	for i := range 100 {
		all = append(all, float64(100-i)/100) // 0.01 to 1, descending
	}
	b.put(t, b.clock.now, all...)
	want := map[string]float64{
		"SampleCount": 100, "Sum": 50.5, "Average": .505, "Minimum": .01, "Maximum": 1,
		"p0": .01, "p50": .5, "p99": .99, "p99.9": 1, "p100": 1,
		"TC(0.5:)": 50, "TC(:0.5)": 50, "TC(0.1:0.2)": 10, "TC(2:)": 0, "TC(90%:)": 10, "tc90": 90,
		"PR(:0.3)": 30, "PR(0.1:0.3)": 20,
		"TS(0.98:)": 1.99, "ts1": .01, "TM(0.5:0.6)": .555, "tm2": .015, "TM(98%:100%)": .995, "IQM": .505,
		"wm50": (12.75 + 50*.5) / 100, "WM(50%:)": (50*.5 + 37.75) / 100, "WM(0.5:0.5001)": (50*.5 + 50*.5001) / 100,
	}
	var names []string
	for name := range want {
		names = append(names, name)
	}
	for i, r := range must(b.GetMetricData(b.ctx, b.ask(names...)))(t).MetricDataResults {
		if len(r.Values) != 1 || math.Abs(r.Values[0]-want[names[i]]) > 1e-9 {
			t.Errorf("%s: %v, want %v", names[i], r.Values, want[names[i]])
		}
	}
	if r := must(b.GetMetricData(b.ctx, b.ask("TM(5:)")))(t).MetricDataResults[0]; len(r.Values) != 0 {
		t.Errorf("the mean of no value is %v", r.Values)
	}
	stats := must(b.GetMetricStatistics(b.ctx, &awscw.GetMetricStatisticsInput{Namespace: aws.String("shop"),
		MetricName: aws.String("time"), StartTime: aws.Time(b.clock.now.Add(-time.Hour)),
		EndTime: aws.Time(b.clock.now.Add(time.Hour)), Period: aws.Int32(60),
		ExtendedStatistics: []string{"p99", "TC(0.5:)"}}))(t)
	if p := stats.Datapoints; len(p) != 1 || p[0].ExtendedStatistics["p99"] != .99 ||
		p[0].ExtendedStatistics["TC(0.5:)"] != 50 || p[0].Unit != "Seconds" || p[0].Sum != nil {
		t.Errorf("%+v", p)
	}
}

func TestMalformedStatisticsAreRefused(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"", "sum", "p", "p101", "p9.12345678901", "P99", "pp99", "p-1", "p9.9.9", "tm", "tm101",
		"TM90", "TC(0.5)", "TC(:)", "TC(0.5:", "TC(2:1)", "TC(a:)", "TC(-1:)", "TC(1%:2)", "TC(1%:101%)", "tc(0.5:)",
		"PR(1%:2%)", "pr90", "p(1:2)", "IQM90", "iqm", "TX(1:2)", "NaN", "pNaN", "pInf"} {
		refused(b.GetMetricData(b.ctx, b.ask("Sum", name)))(t, "ValidationError",
			"The value "+name+" for parameter MetricDataQueries.member.2.MetricStat.Stat is not a valid statistic.")
	}
	in := &awscw.GetMetricStatisticsInput{Namespace: aws.String("shop"), MetricName: aws.String("time"),
		StartTime: aws.Time(b.clock.now), EndTime: aws.Time(b.clock.now.Add(time.Hour)), Period: aws.Int32(60),
		ExtendedStatistics: []string{"p99", "p101"}}
	refused(b.GetMetricStatistics(b.ctx, in))(t, "InvalidParameterValue", "p101")
	in.Statistics = []cwtypes.Statistic{"Sum"}
	refused(b.GetMetricStatistics(b.ctx, in))(t, "InvalidParameterCombination", "ExtendedStatistics")
	in.Statistics, in.ExtendedStatistics = nil, nil
	refused(b.GetMetricStatistics(b.ctx, in))(t, "MissingParameter", "ExtendedStatistics")
}

// AWS has no percentiles of statistics that were put of several values, and none of negative values.
func TestNoPercentilesWithoutADistribution(t *testing.T) {
	for name, c := range map[string]struct {
		datum cwtypes.MetricDatum
		has   bool
	}{
		"a summary": {cwtypes.MetricDatum{StatisticValues: &cwtypes.StatisticSet{SampleCount: aws.Float64(2),
			Sum: aws.Float64(3), Minimum: aws.Float64(1), Maximum: aws.Float64(2)}}, false},
		"a summary of one": {cwtypes.MetricDatum{StatisticValues: &cwtypes.StatisticSet{SampleCount: aws.Float64(1),
			Sum: aws.Float64(3), Minimum: aws.Float64(3), Maximum: aws.Float64(3)}}, true},
		"a summary of equals": {cwtypes.MetricDatum{StatisticValues: &cwtypes.StatisticSet{SampleCount: aws.Float64(2),
			Sum: aws.Float64(6), Minimum: aws.Float64(3), Maximum: aws.Float64(3)}}, true},
		"negative": {cwtypes.MetricDatum{Value: aws.Float64(-1)}, false},
		"positive": {cwtypes.MetricDatum{Value: aws.Float64(1)}, true},
	} {
		b := newBench(t)
		c.datum.MetricName = aws.String("time")
		must(b.PutMetricData(b.ctx, &awscw.PutMetricDataInput{Namespace: aws.String("shop"),
			MetricData: []cwtypes.MetricDatum{c.datum}}))(t)
		r := must(b.GetMetricData(b.ctx, b.ask("p50", "Maximum")))(t).MetricDataResults
		if len(r[0].Values) > 0 != c.has || len(r[1].Values) != 1 {
			t.Errorf("%s: %v, %v", name, r[0].Values, r[1].Values)
		}
	}
}

// Each page has at most MaxDatapoints values, a query that is cut is PartialData, and the pages
// together are the whole, in both orders. Values that arrive between two pages change nothing.
func TestMetricDataInPages(t *testing.T) {
	for _, order := range []cwtypes.ScanBy{"TimestampAscending", "TimestampDescending", ""} {
		b := newBench(t)
		for i := range 7 {
			b.put(t, b.clock.now.Add(time.Duration(i-10)*time.Minute), float64(i))
		}
		in := b.ask("Sum", "Maximum", "TM(99:)", "SampleCount")
		in.ScanBy = order
		whole := must(b.GetMetricData(b.ctx, in))(t)
		if whole.NextToken != nil || len(whole.MetricDataResults) != 4 {
			t.Fatalf("%+v", whole)
		}
		in.MaxDatapoints = aws.Int32(4)
		got, pages := map[string][]float64{}, 0
		for p := awscw.NewGetMetricDataPaginator(b.Client, in); p.HasMorePages(); pages++ {
			page, n := must(p.NextPage(b.ctx))(t), 0
			for i, r := range page.MetricDataResults {
				n += len(r.Values)
				got[*r.Id] = append(got[*r.Id], r.Values...)
				cut := page.NextToken != nil && i == len(page.MetricDataResults)-1
				if r.StatusCode == "PartialData" && !cut {
					t.Errorf("page %d: %s is %s", pages, *r.Id, r.StatusCode)
				}
			}
			if n > 4 {
				t.Errorf("page %d has %d values", pages, n)
			}
			if pages == 0 {
				b.put(t, b.clock.now, 100) // newer than every value
			}
		}
		if pages != 6 && order != "TimestampAscending" {
			t.Errorf("%d pages", pages)
		}
		for _, r := range whole.MetricDataResults {
			if all := fmt.Sprint(got[*r.Id]); !strings.Contains(all, strings.Trim(fmt.Sprint(r.Values), "[]")) {
				t.Errorf("%s %s: pages have %s, the whole is %v", order, *r.Id, all, r.Values)
			}
		}
	}
	b := newBench(t)
	in := b.ask("Sum")
	in.MaxDatapoints = aws.Int32(0)
	refused(b.GetMetricData(b.ctx, in))(t, "ValidationError", "maxDatapoints")
	for _, token := range []string{"x", "ZGF0YSA5IDA", "ZGF0YSAtMSAw"} {
		in = b.ask("Sum")
		in.NextToken = &token
		refused(b.GetMetricData(b.ctx, in))(t, "InvalidNextToken", "")
	}
}
