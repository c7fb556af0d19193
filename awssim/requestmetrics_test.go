package awssim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
)

const webDimension = "app/web/0123456789abcdef"

// minuteSums returns the sums of a metric of the load balancer, or of one of its groups, by minute.
func minuteSums(t testing.TB, cfg aws.Config, metric, group string, from, to time.Time) map[time.Time]float64 {
	t.Helper()
	return minuteValues(t, cfg, metric, "Sum", group, from, to)
}

// minuteValues returns a statistic of a metric of the load balancer, or of one of its groups, by
// minute.
func minuteValues(t testing.TB, cfg aws.Config, metric, stat, group string, from, to time.Time) map[time.Time]float64 {
	t.Helper()
	dims := []cwtypes.Dimension{{Name: aws.String("LoadBalancer"), Value: aws.String(webDimension)}}
	if group != "" {
		dims = append(dims, cwtypes.Dimension{Name: aws.String("TargetGroup"),
			Value: aws.String(group[strings.LastIndex(group, ":")+1:])})
	}
	out, err := awscw.NewFromConfig(cfg).GetMetricData(ctx, &awscw.GetMetricDataInput{StartTime: &from, EndTime: &to,
		MetricDataQueries: []cwtypes.MetricDataQuery{{Id: aws.String("m"), MetricStat: &cwtypes.MetricStat{
			Metric: &cwtypes.Metric{Namespace: aws.String("AWS/ApplicationELB"), MetricName: &metric, Dimensions: dims},
			Period: aws.Int32(60), Stat: &stat}}}})
	if err != nil {
		t.Fatal(err)
	}
	sums := map[time.Time]float64{}
	for i, at := range out.MetricDataResults[0].Timestamps {
		sums[at.UTC()] = out.MetricDataResults[0].Values[i]
	}
	return sums
}

func sumOf(points map[time.Time]float64) (sum float64) {
	for _, n := range points {
		sum += n
	}
	return sum
}

// callWeb attaches 200 modelled requests a second.
func callWeb(s *awssim.Sim) *loadgen.Tally {
	v := s.View().Regions[0]
	return loadgen.Attach(s.World(), s.Balancer(), loadgen.Caller{
		Key: world.Key{Account: v.Account, Region: v.Region}, Balancer: v.LoadBalancers[0].ARN, Port: 80, Rate: 200,
		Request: loadbalancer.Request{Method: "GET", Scheme: "http", Host: "web.test", Path: "/"}})
}

// The points of all minutes are the requests that callers sent, by status and by group; a group
// without requests has no point.
func TestMetricsAreTheModelledRequests(t *testing.T) {
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock})
	load(t, s, strings.ReplaceAll(string(canaryFile(t)), "sim/web:v1", "sim/web:v1?errors=10%"))
	cfg, from := s.Config(), clock.Now()
	clock.move(30 * time.Second)
	calls := callWeb(s)
	clock.move(9*time.Minute + 30*time.Second)
	r, to := calls.Report(), clock.Now()
	clock.move(3 * time.Minute)
	failed := 0.0
	for _, l := range r.Lines {
		if l.Status == 500 {
			failed += l.Count
		}
	}
	if r.Requests != 200*570 || failed < 0.09*r.Requests {
		t.Fatalf("%v requests, %v failed", r.Requests, failed)
	}
	for _, c := range []struct {
		metric, group string
		want          float64
	}{
		{"RequestCount", "", r.Requests}, {"RequestCount", primaryARN, r.Requests}, {"RequestCount", canaryARN, 0},
		{"HTTPCode_Target_5XX_Count", primaryARN, failed}, {"HTTPCode_Target_5XX_Count", "", failed},
		{"HTTPCode_Target_2XX_Count", primaryARN, r.Requests - failed}, {"HTTPCode_Target_4XX_Count", primaryARN, 0},
	} {
		points := minuteSums(t, cfg, c.metric, c.group, from, to)
		if got := sumOf(points); got < c.want-1e-6 || got > c.want+1e-6 {
			t.Errorf("%s of %q: %v, callers sent %v", c.metric, c.group, got, c.want)
		}
		if c.want == 0 && len(points) != 0 {
			t.Errorf("%s of %q has points without requests: %v", c.metric, c.group, points)
		}
	}
	if n := minuteSums(t, cfg, "RequestCount", primaryARN, from, to)[from]; n != 200*30 {
		t.Errorf("the first minute has %v requests, callers sent them for half of it", n)
	}
}

// A minute is not there at its end, grows, and is whole three minutes later.
func TestMetricsComeLateAndGrow(t *testing.T) {
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock})
	load(t, s, string(canaryFile(t)))
	cfg, from := s.Config(), clock.Now()
	callWeb(s)
	const minutes = 20
	partial, last := 0, map[time.Time]float64{}
	for range (minutes + 4) * 12 {
		clock.move(5 * time.Second)
		now := clock.Now()
		points := minuteSums(t, cfg, "RequestCount", primaryARN, from, from.Add(minutes*time.Minute))
		for at, n := range points {
			age := now.Sub(at.Add(time.Minute))
			switch {
			case age < time.Minute:
				t.Fatalf("the minute %v is visible after %v", at, age)
			case age >= 3*time.Minute && n != 12000, n > 12000, n < last[at]:
				t.Fatalf("the minute %v has %v requests after %v, had %v", at, n, age, last[at])
			case n < 12000 && n != last[at]:
				partial++
			}
			last[at] = n
		}
	}
	if partial < minutes/4 || len(last) != minutes {
		t.Errorf("%d of %d minutes were seen in part", partial, len(last))
	}
}

func TestMetricsAreTheRealRequests(t *testing.T) {
	s := newSim(t, awssim.Options{Clock: newFast(60), Speed: 60})
	load(t, s, string(canaryFile(t))+"\nknobs: {metricDelay: 0s}\n")
	l := listen(t, s)
	cfg := remote(t, s, l)
	from, at := s.View().Now.Truncate(time.Minute), door(t, cfg)
	for range 20 {
		if status, body := fetch(t, "GET", at, ""); status != 200 {
			t.Fatal(status, body)
		}
	}
	sum := func(metric string) float64 {
		return sumOf(minuteSums(t, cfg, metric, primaryARN, from, from.Add(time.Hour)))
	}
	until(t, "20 requests are in the metric", func() bool { return sum("RequestCount") == 20 })
	if ok, bad := sum("HTTPCode_Target_2XX_Count"), sum("HTTPCode_Target_5XX_Count"); ok != 20 || bad != 0 {
		t.Errorf("%v answered 2XX and %v 5XX", ok, bad)
	}
}

// Response times are those of the images, without requests that no target answered. A time of
// exactly the bound is not slower than it.
func TestResponseTimesAreTheModelledOnes(t *testing.T) {
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock})
	load(t, s, strings.ReplaceAll(string(canaryFile(t)), "sim/web:v1", "sim/web:v1?errors=10%&latency=500ms"))
	cfg, from := s.Config(), clock.Now()
	r := callWeb(s)
	clock.move(10 * time.Minute)
	sent, to := r.Report().Requests, clock.Now()
	clock.move(3 * time.Minute)
	for stat, want := range map[string]float64{"SampleCount": sent, "Sum": sent / 2, "TC(0.499:)": sent, "TC(0.5:)": 0,
		"TC(:0.5)": sent, "p99": .5 * 10, "PR(:0.5)": 100 * 10, "Maximum": .5 * 10} {
		if got := sumOf(minuteValues(t, cfg, "TargetResponseTime", stat, primaryARN, from, to)); got != want {
			t.Errorf("%s: %v, want %v", stat, got, want)
		}
	}
	if points := minuteValues(t, cfg, "TargetResponseTime", "TC(0:)", canaryARN, from, to); len(points) != 0 {
		t.Errorf("a group without requests has points: %v", points)
	}
}

// All metrics of a minute arrive together: at no time do they contradict each other.
func TestMetricsOfAMinuteAgree(t *testing.T) {
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock})
	load(t, s, strings.ReplaceAll(string(canaryFile(t)), "sim/web:v1", "sim/web:v1?errors=10%&latency=500ms"))
	cfg, from := s.Config(), clock.Now()
	callWeb(s)
	for range 10 * 6 {
		clock.move(10 * time.Second)
		read := func(metric, stat string) map[time.Time]float64 {
			return minuteValues(t, cfg, metric, stat, primaryARN, from, from.Add(time.Hour))
		}
		ok, bad := read("HTTPCode_Target_2XX_Count", "Sum"), read("HTTPCode_Target_5XX_Count", "Sum")
		timed := read("TargetResponseTime", "SampleCount")
		for at, n := range read("RequestCount", "Sum") {
			if ok[at]+bad[at] != n || timed[at] != n {
				t.Fatalf("%v: %v requests, %v and %v answers, %v times", at, n, ok[at], bad[at], timed[at])
			}
			if share := bad[at] / n; share < .099 || share > .101 {
				t.Fatalf("%v: %v of %v requests failed", at, bad[at], n)
			}
		}
	}
}

// The clock runs 60 times faster than the machine's. Only the latency of the image follows it.
func TestResponseTimesAreTheRealOnes(t *testing.T) {
	s := newSim(t, awssim.Options{Clock: newFast(60), Speed: 60})
	load(t, s, strings.ReplaceAll(string(canaryFile(t)), "sim/web:v1", "sim/web:v1?latency=20s&check-latency=1ms")+
		"\nknobs: {metricDelay: 0s}\n")
	l := listen(t, s)
	cfg := remote(t, s, l)
	from, at := s.View().Now.Truncate(time.Minute), door(t, cfg)
	if status, body := fetch(t, "GET", at, ""); status != 200 {
		t.Fatal(status, body)
	}
	value := func(stat string) float64 {
		return sumOf(minuteValues(t, cfg, "TargetResponseTime", stat, primaryARN, from, from.Add(time.Hour)))
	}
	until(t, "the request is in the metric", func() bool { return value("SampleCount") == 1 })
	if got := value("Maximum"); got < 20 || got > 22 {
		t.Errorf("the request took %v s", got)
	}
}

// A request that no target answered counts, and has no response time and no status class.
func TestResponseTimesAreOfAnswers(t *testing.T) {
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock})
	load(t, s, strings.ReplaceAll(string(canaryFile(t)), "sim/web:v1", "sim/web:v1?crash-after=90s"))
	cfg, from := s.Config(), clock.Now()
	callWeb(s)
	clock.move(10 * time.Minute)
	sum := func(metric, stat string) float64 {
		return sumOf(minuteValues(t, cfg, metric, stat, primaryARN, from, from.Add(5*time.Minute)))
	}
	all, answered := sum("RequestCount", "Sum"), sum("HTTPCode_Target_2XX_Count", "Sum")
	if timed := sum("TargetResponseTime", "SampleCount"); answered >= all || timed != answered {
		t.Errorf("%v requests, %v answered, %v with a time", all, answered, timed)
	}
}

// An alarm follows what callers got.
func TestAlarmsFollowTheRequests(t *testing.T) {
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock})
	load(t, s, strings.ReplaceAll(string(canaryFile(t)), "sim/web:v1", "sim/web:v1?errors-grow=1%/m"))
	alarms := awscw.NewFromConfig(s.Config())
	if _, err := alarms.PutMetricAlarm(ctx, &awscw.PutMetricAlarmInput{AlarmName: aws.String("5xx"),
		Namespace: aws.String("AWS/ApplicationELB"), MetricName: aws.String("HTTPCode_Target_5XX_Count"),
		Dimensions: []cwtypes.Dimension{{Name: aws.String("LoadBalancer"), Value: aws.String(webDimension)}},
		Statistic:  "Sum", Period: aws.Int32(60), EvaluationPeriods: aws.Int32(3), Threshold: aws.Float64(1000),
		DatapointsToAlarm:  aws.Int32(1), // the newest minute is not whole yet
		ComparisonOperator: "GreaterThanThreshold", TreatMissingData: aws.String("notBreaching")}); err != nil {
		t.Fatal(err)
	}
	callWeb(s)
	var states []string
	for range 20 * 4 {
		clock.move(15 * time.Second)
		out, err := alarms.DescribeAlarms(ctx, &awscw.DescribeAlarmsInput{})
		if err != nil {
			t.Fatal(err)
		}
		state := string(out.MetricAlarms[0].StateValue)
		if n := len(states); n == 0 || states[n-1] != state {
			states = append(states, state)
		}
	}
	if got := strings.Join(states, ", "); got != "INSUFFICIENT_DATA, OK, ALARM" {
		t.Errorf("the alarm was %s", got)
	}
}

// Rare errors are not rounded away: 300 requests a minute with 0.1 % are one error in three minutes.
func TestRareErrorsAreCounted(t *testing.T) {
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock})
	load(t, s, strings.ReplaceAll(string(canaryFile(t)), "sim/web:v1", "sim/web:v1?errors=0.1%"))
	cfg, from := s.Config(), clock.Now()
	v := s.View().Regions[0]
	loadgen.Attach(s.World(), s.Balancer(), loadgen.Caller{Key: world.Key{Account: v.Account, Region: v.Region},
		Balancer: v.LoadBalancers[0].ARN, Port: 80, Rate: 5,
		Request: loadbalancer.Request{Method: "GET", Scheme: "http", Host: "web.test", Path: "/"}})
	clock.move(5 * time.Hour)
	errors := minuteValues(t, cfg, "HTTPCode_Target_5XX_Count", "Sum", primaryARN, from, clock.Now())
	if n := sumOf(errors); n < 60 || n > 120 || len(errors) != int(n) {
		t.Errorf("%v errors in %d minutes, callers got 90", n, len(errors))
	}
}
