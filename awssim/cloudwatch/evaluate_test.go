package cloudwatch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// timeAlarm watches the sum of shop/time: above 5 in that many of three periods of five minutes.
func timeAlarm(needed int32, treat string) *awscw.PutMetricAlarmInput {
	return &awscw.PutMetricAlarmInput{AlarmName: aws.String("slow"), Namespace: aws.String("shop"),
		MetricName: aws.String("time"), Statistic: "Sum", Period: aws.Int32(300), EvaluationPeriods: aws.Int32(3),
		DatapointsToAlarm: &needed, Threshold: aws.Float64(5), ComparisonOperator: "GreaterThanThreshold",
		TreatMissingData: &treat}
}

// The rows are the tables of AWS's user guide, "Configuring how CloudWatch alarms treat missing
// data": 0 is within the threshold, X beyond it, - missing; the newest is last. The states are those
// for missing, ignore, breaching and notBreaching. "kept" is the state before.
func TestMissingDataOfAlarms(t *testing.T) {
	b, want := newBench(t), map[string]string{}
	for _, c := range []struct {
		needed int32
		points string
		want   [4]string
	}{
		{3, "0-X-X", [4]string{"OK", "OK", "OK", "OK"}},
		{3, "----0", [4]string{"OK", "OK", "OK", "OK"}},
		{3, "-----", [4]string{"INSUFFICIENT_DATA", "kept", "ALARM", "OK"}},
		{3, "0XX-X", [4]string{"ALARM", "ALARM", "ALARM", "ALARM"}},
		{3, "--X--", [4]string{"ALARM", "kept", "ALARM", "OK"}},
		{2, "0-X-X", [4]string{"ALARM", "ALARM", "ALARM", "ALARM"}},
		{2, "00X0X", [4]string{"ALARM", "ALARM", "ALARM", "ALARM"}},
		{2, "0-X--", [4]string{"OK", "OK", "ALARM", "OK"}},
		{2, "----0", [4]string{"OK", "OK", "ALARM", "OK"}},
		{2, "---X-", [4]string{"ALARM", "kept", "ALARM", "OK"}},
		// not in the tables: one value of three, too young to decide
		{3, "----X", [4]string{"kept", "kept", "ALARM", "OK"}},
		{1, "X0000", [4]string{"OK", "OK", "OK", "OK"}},
	} {
		for i, at := range []int{-5, -4, -3, -2, -1} {
			if x := c.points[i]; x != '-' {
				must(b.PutMetricData(b.ctx, &awscw.PutMetricDataInput{Namespace: aws.String("shop"),
					MetricData: []cwtypes.MetricDatum{{MetricName: aws.String("time" + c.points),
						Value:     aws.Float64(map[byte]float64{'0': 1, 'X': 9}[x]),
						Timestamp: aws.Time(b.clock.now.Add(time.Duration(at)*5*time.Minute + 150*time.Second))}}}))(t)
			}
		}
		for i, treat := range []string{"missing", "ignore", "breaching", "notBreaching"} {
			for _, before := range []cwtypes.StateValue{"OK", "ALARM"} {
				in := timeAlarm(c.needed, treat)
				in.AlarmName = aws.String(fmt.Sprintf("%d of 3, %s, %s, before %s", c.needed, c.points, treat, before))
				in.MetricName = aws.String("time" + c.points)
				must(b.PutMetricAlarm(b.ctx, in))(t)
				b.set(t, *in.AlarmName, before)
				if want[*in.AlarmName] = c.want[i]; c.want[i] == "kept" {
					want[*in.AlarmName] = string(before)
				}
			}
		}
	}
	b.after(time.Minute)
	for p := awscw.NewDescribeAlarmsPaginator(b.Client, &awscw.DescribeAlarmsInput{}); p.HasMorePages(); {
		for _, a := range must(p.NextPage(b.ctx))(t).MetricAlarms {
			if string(a.StateValue) != want[*a.AlarmName] {
				t.Errorf("%s: %s, want %s", *a.AlarmName, a.StateValue, want[*a.AlarmName])
			}
			delete(want, *a.AlarmName)
		}
	}
	if len(want) > 0 {
		t.Errorf("not described: %v", want)
	}
}

// A state that SetAlarmState set lasts until the next evaluation. Reasons are AWS's.
func TestAlarmsAreEvaluatedEveryMinute(t *testing.T) {
	b := newBench(t)
	in := timeAlarm(1, "notBreaching")
	in.Period = aws.Int32(60)
	must(b.PutMetricAlarm(b.ctx, in))(t)
	if a := b.describe(t, "slow"); a.StateValue != "INSUFFICIENT_DATA" ||
		*a.StateReason != "Unchecked: Initial alarm creation" {
		t.Errorf("%s: %s", a.StateValue, *a.StateReason)
	}
	wants := func(state cwtypes.StateValue, reason string) {
		t.Helper()
		if a := b.describe(t, "slow"); a.StateValue != state || *a.StateReason != reason {
			t.Errorf("%s: %s; want %s: %s", a.StateValue, *a.StateReason, state, reason)
		}
	}
	b.after(time.Minute)
	none := "Threshold Crossed: no datapoints were received for 3 periods and 3 missing datapoints were treated as " +
		"[NonBreaching]."
	wants("OK", none)
	b.set(t, "slow", "ALARM")
	wants("ALARM", "by hand")
	b.after(time.Minute)
	wants("OK", none)
	first := b.clock.now.Truncate(time.Minute)
	for i := range 3 {
		b.put(t, first.Add(time.Duration(i)*time.Minute), 4.5*float64(i))
	}
	b.after(4 * time.Minute)
	wants("ALARM", "Threshold Crossed: 1 out of the last 3 datapoints [9.0 (02/01/27 03:08:00)] was greater than the "+
		"threshold (5.0) (minimum 1 datapoint for OK -> ALARM transition).")
}

func TestReasonsOfAlarms(t *testing.T) {
	b := newBench(t)
	in := timeAlarm(2, "missing")
	in.Period, in.Statistic, in.ExtendedStatistic = aws.Int32(60), "", aws.String("p90")
	must(b.PutMetricAlarm(b.ctx, in))(t)
	first := b.clock.now.Truncate(time.Minute)
	for i, v := range []float64{0.25, 9, 7.5} {
		b.put(t, first.Add(time.Duration(i)*time.Minute), v, v, v)
	}
	b.after(4 * time.Minute)
	a := b.describe(t, "slow")
	if want := "Threshold Crossed: 2 out of the last 3 datapoints [7.5 (02/01/27 03:06:00), 9.0 (02/01/27 03:05:00)] were " +
		"greater than the threshold (5.0) (minimum 2 datapoints for OK -> ALARM transition)."; *a.StateReason != want {
		t.Errorf("%s: %s", a.StateValue, *a.StateReason)
	}
	for _, part := range []string{`"statistic":"p90"`, `"recentDatapoints":[0.25,9,7.5]`, `"period":60`,
		`"queryDate":"2027-01-02T03:0`, `"startDate":"2027-01-02T03:04:00.000+0000"`} {
		if !strings.Contains(*a.StateReasonData, part) {
			t.Errorf("%s is not in %s", part, *a.StateReasonData)
		}
	}
	b.after(20 * time.Minute)
	if a := b.describe(t, "slow"); *a.StateReason != "Insufficient Data: 3 datapoints were unknown." ||
		a.StateValue != "INSUFFICIENT_DATA" {
		t.Errorf("%s: %s", a.StateValue, *a.StateReason)
	}
	must(b.DeleteAlarms(b.ctx, &awscw.DeleteAlarmsInput{AlarmNames: []string{"slow"}}))(t)
	n := len(b.changes)
	b.after(20 * time.Minute)
	must(b.DescribeAlarms(b.ctx, &awscw.DescribeAlarmsInput{}))(t)
	if len(b.changes) != n {
		t.Errorf("a deleted alarm changes: %v", b.changes[n:])
	}
}
