package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// partText returns the parts of a query, as AWS gets them in a call.
func partText(q Query) string {
	var out []string
	for _, p := range q.partsWithPrefix("q3_") {
		text := aws.ToString(p.Id) + ": "
		if p.Expression != nil {
			text += fmt.Sprintf("%s /%d", *p.Expression, *p.Period)
		} else {
			m := p.MetricStat
			text += fmt.Sprintf("%s %s %s /%d", *m.Metric.Namespace, *m.Metric.MetricName, *m.Stat, *m.Period)
			for _, d := range m.Metric.Dimensions {
				text += fmt.Sprintf(" %s=%s", *d.Name, *d.Value)
			}
		}
		if p.ReturnData != nil && !*p.ReturnData {
			text += " hidden"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

func TestParseQuery(t *testing.T) {
	const stat = `{"Metric": {"Namespace": "My App", "MetricName": "Orders",
		"Dimensions": [{"Name": "A", "Value": "b, c"}]}, "Stat": "p99.9"}`
	for text, want := range map[string]string{
		"AWS/ApplicationELB RequestCount Sum LoadBalancer=app/x/1,TargetGroup=targetgroup/y/2": "q3_m: " +
			"AWS/ApplicationELB RequestCount Sum /120 LoadBalancer=app/x/1 TargetGroup=targetgroup/y/2",
		"  Shop Orders p99\n": "q3_m: Shop Orders p99 /120",
		"S M Sum A=b=c, D=e":  "q3_m: S M Sum /120 A=b=c D=e",
		"= 100 * e / (a + ea)\ne: S Errors Sum A=b\n\n a : S All Sum\nea: S Other Sum": "q3_result: " +
			"100 * q3_e / (q3_a + q3_ea) /120; q3_e: S Errors Sum /120 A=b hidden; " +
			"q3_a: S All Sum /120 hidden; q3_ea: S Other Sum /120 hidden",
		`= SUM(SEARCH('{S,a} a="a"', 'Sum'))` +
			"\na: S M Sum": `q3_result: SUM(SEARCH('{S,a} a="a"', 'Sum')) /120; q3_a: S M Sum /120 hidden`,
		`= SELECT SUM(Orders) FROM "Shop"`: `q3_result: SELECT SUM(Orders) FROM "Shop" /120`,
		stat:                               "q3_m: My App Orders p99.9 /120 A=b, c",
		`[{"Id": "x", "Expression": "y * 2"}, {"Id": "y", "ReturnData": false, "MetricStat": ` + stat + `}]`: "q3_x: " +
			"q3_y * 2 /120; q3_y: My App Orders p99.9 /120 A=b, c hidden",

		"":                            "the query is empty",
		"Shop Orders":                 "is no metric: write namespace",
		"Shop Orders Sum A":           `"A" is no dimension`,
		"Shop Orders Sum =b":          `"=b" is no dimension`,
		"Shop Orders Summe":           `"Summe" is no statistic`,
		"Shop Orders p101":            `"p101" is no statistic`,
		"Shop Orders TC(0.5":          "is no statistic",
		"= ":                          "the expression is empty",
		"= a\nA: S M Sum":             "is no metric of an expression",
		"= a\nno colon":               "is no metric of an expression",
		"= a\na: S M":                 "is no metric",
		"= a\na: S M Sum\na: S N Sum": `two metrics of the query have the ID "a"`,
		"= SUM(METRICS())":            "name the metrics",
		`= SUM(metrics ("a"))`:        "name the metrics",
		`{"Metric": {"MetricName": "M"}, "Stat": 1}`: "not the JSON",
		`{"Stat": "Sum"}`:                  "needs a Namespace and a MetricName",
		`{"Metrik": {}}`:                   "not the JSON",
		stat + stat:                        "text after its JSON",
		`[]`:                               "0 metrics of the query return data",
		`[{"Id": "A", "Expression": "1"}]`: `"A" is no ID`,
		`[{"Id": "a"}]`:                    "needs either an Expression or a MetricStat",
		`[{"Id": "a", "Expression": "1"}, {"Id": "b", "Expression": "2"}]`: "2 metrics of the query return data",
	} {
		q, err := ParseQuery(text, 2*time.Minute)
		if err != nil && (want == "" || !strings.Contains(err.Error(), want)) || err == nil && partText(q) != want {
			t.Errorf("%q:\n%s, %v\nwant %s", text, partText(q), err, want)
		}
	}
}

func TestPeriodsOfCloudWatch(t *testing.T) {
	for step, want := range map[time.Duration]string{
		30 * time.Second: "an interval of 30s is too short", time.Minute: "",
		90 * time.Second: "not a whole number of minutes",
	} {
		_, err := ParseQuery("S M Sum", step)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", step, err, want)
		}
	}
}

// Every statistic of CloudWatch's documentation is accepted.
func TestStatistics(t *testing.T) {
	for _, s := range strings.Fields(`SampleCount Sum Average Minimum Maximum IQM p50 p99 p99.9 p100 p5 tm99 tm99.9
		TM(25%:75%)
		TM(:0.5) TM(0.005:0.030) wm98 WM(10%:90%) TC(0.5:) TC(:80%) tc95 ts90 TS(80%:) PR(:300) PR(0.1:0.5)`) {
		if !statistics.MatchString(s) {
			t.Errorf("%s is refused", s)
		}
	}
}

// A chunk is one call: at most 500 parts, and the parts of a query stay together.
func TestQueriesAreDividedIntoCalls(t *testing.T) {
	two, err := ParseQuery("= a * 2\na: S M Sum", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var all []Query
	for range 249 {
		all = append(all, two)
	}
	one := Series{Namespace: "S", Metric: "M", Statistic: "Sum"}.Query()
	all = append(all, one, two, one)
	var got []int
	for _, c := range chunkQueries(all) {
		n := 0
		for _, q := range c {
			n += len(q.parts)
		}
		got = append(got, n)
	}
	if fmt.Sprint(got) != "[499 3]" {
		t.Error(got)
	}
}
