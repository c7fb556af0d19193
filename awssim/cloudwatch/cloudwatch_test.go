package cloudwatch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/cloudwatch"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

type stopped struct{ now time.Time }

func (c *stopped) Now() time.Time                             { return c.now }
func (c *stopped) Sleep(context.Context, time.Duration) error { return nil }

// bench is a world with the room and an unmodified client of it.
type bench struct {
	*awscw.Client
	world   *world.World
	clock   *stopped
	ctx     context.Context
	changes []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{clock: &stopped{time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)}, ctx: context.Background()}
	b.world = world.New(world.Options{Clock: b.clock, Strict: true})
	b.world.Watch(func(_ *world.Tx, c world.Change) {
		if a, ok := c.Object.(*world.Alarm); ok && c.Kind == world.AlarmChanged {
			b.changes = append(b.changes, fmt.Sprintf("%s %s %t", a.Name, a.State, a.Deleted))
		}
	})
	server := wire.New(b.world, cloudwatch.NewAPI(b.world))
	b.Client = awscw.NewFromConfig(aws.Config{Region: "eu-west-1", HTTPClient: &http.Client{Transport: server},
		BaseEndpoint: aws.String("http://sim"), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "123456789012", SecretAccessKey: "x"}, nil
		})})
	return b
}

func (b *bench) after(d time.Duration) { b.clock.now = b.clock.now.Add(d) }

func alarm(name string) *awscw.PutMetricAlarmInput {
	return &awscw.PutMetricAlarmInput{AlarmName: &name, Namespace: aws.String("AWS/ApplicationELB"),
		MetricName: aws.String("HTTPCode_Target_5XX_Count"),
		Statistic:  "Sum", Period: aws.Int32(60), EvaluationPeriods: aws.Int32(2), Threshold: aws.Float64(1),
		ComparisonOperator: "GreaterThanThreshold", TreatMissingData: aws.String("ignore"),
		AlarmActions: []string{"arn:aws:sns:eu-west-1:123456789012:ops"},
		Dimensions:   []cwtypes.Dimension{{Name: aws.String("TargetGroup"), Value: aws.String("targetgroup/web/1")}},
		Tags:         []cwtypes.Tag{{Key: aws.String("team"), Value: aws.String("a")}}}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func refused[T any](_ T, err error) func(t *testing.T, code, text string) {
	return func(t *testing.T, code, text string) {
		t.Helper()
		var api smithy.APIError
		if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
			t.Errorf("got %v, want %s with %q", err, code, text)
		}
	}
}

func (b *bench) describe(t *testing.T, name string) cwtypes.MetricAlarm {
	t.Helper()
	out := must(b.DescribeAlarms(b.ctx, &awscw.DescribeAlarmsInput{AlarmNames: []string{name}}))(t)
	if len(out.MetricAlarms) != 1 {
		t.Fatalf("%d alarms are called %s", len(out.MetricAlarms), name)
	}
	return out.MetricAlarms[0]
}

func (b *bench) set(t *testing.T, name string, state cwtypes.StateValue) {
	t.Helper()
	must(b.SetAlarmState(b.ctx, &awscw.SetAlarmStateInput{AlarmName: &name, StateValue: state,
		StateReason: aws.String("by hand")}))(t)
}

func TestAnAlarmIsAFactFromItsCreationToItsEnd(t *testing.T) {
	b := newBench(t)
	must(b.PutMetricAlarm(b.ctx, alarm("5xx")))(t)
	a := b.describe(t, "5xx")
	if a.StateValue != "INSUFFICIENT_DATA" || *a.StateReason != "Unchecked: Initial alarm creation" ||
		!*a.ActionsEnabled ||
		*a.AlarmArn != "arn:aws:cloudwatch:eu-west-1:123456789012:alarm:5xx" || *a.Threshold != 1 ||
		len(a.Dimensions) != 1 || a.OKActions == nil {
		t.Errorf("new: %+v", a)
	}
	b.after(time.Minute)
	b.set(t, "5xx", "OK")
	b.after(time.Minute)
	b.set(t, "5xx", "ALARM")
	raised := b.clock.now
	b.after(time.Minute)
	b.set(t, "5xx", "ALARM")
	a = b.describe(t, "5xx")
	if a.StateValue != "ALARM" || *a.StateReason != "by hand" || !a.StateUpdatedTimestamp.Equal(b.clock.now) ||
		!a.StateTransitionedTimestamp.Equal(raised) {
		t.Errorf("raised: %+v", a)
	}
	changed := alarm("5xx")
	changed.Threshold = aws.Float64(7)
	must(b.PutMetricAlarm(b.ctx, changed))(t)
	if a = b.describe(t, "5xx"); a.StateValue != "ALARM" || *a.Threshold != 7 {
		t.Errorf("changed: %+v", a)
	}
	must(b.DeleteAlarms(b.ctx, &awscw.DeleteAlarmsInput{AlarmNames: []string{"5xx"}}))(t)
	if out := must(b.DescribeAlarms(b.ctx, &awscw.DescribeAlarmsInput{}))(t); len(out.MetricAlarms) != 0 {
		t.Errorf("left: %+v", out.MetricAlarms)
	}
	want := "5xx INSUFFICIENT_DATA false, 5xx OK false, 5xx ALARM false, 5xx ALARM false, 5xx ALARM false, 5xx " +
		"ALARM true"
	if got := strings.Join(b.changes, ", "); got != want {
		t.Errorf("laws were told %s", got)
	}
}

func TestWhatALawSeesOfAnAlarm(t *testing.T) {
	b := newBench(t)
	must(b.PutMetricAlarm(b.ctx, alarm("5xx")))(t)
	_ = b.world.Do(world.Key{Account: "123456789012", Region: "eu-west-1"}, func(tx *world.Tx) error {
		a, _ := tx.Alarms.Get("5xx")
		if a == nil || a.Period != time.Minute || a.EvaluationPeriods != 2 || a.State != world.AlarmInsufficient {
			t.Errorf("%+v", a)
		}
		tx.SetAlarm(a, world.AlarmRaised, "a test says so", "")
		tx.AddAlarm(&world.Alarm{Name: "of a test", State: world.AlarmOK})
		return nil
	})
	if a := b.describe(t, "5xx"); a.StateValue != "ALARM" {
		t.Errorf("%+v", a)
	}
	if a := b.describe(t, "of a test"); a.StateValue != "OK" || a.AlarmArn == nil {
		t.Errorf("%+v", a)
	}
}

func TestAlarmsAreFoundByNamePrefixStateAndAction(t *testing.T) {
	b := newBench(t)
	for i := range 120 {
		must(b.PutMetricAlarm(b.ctx, alarm(fmt.Sprintf("a-%03d", 119-i))))(t)
	}
	other := alarm("b")
	other.AlarmActions = nil
	must(b.PutMetricAlarm(b.ctx, other))(t)
	b.set(t, "a-007", "ALARM")
	names := func(in awscw.DescribeAlarmsInput) string {
		t.Helper()
		var all []string
		for p := awscw.NewDescribeAlarmsPaginator(b.Client, &in); p.HasMorePages(); {
			for _, a := range must(p.NextPage(b.ctx))(t).MetricAlarms {
				all = append(all, *a.AlarmName)
			}
		}
		if len(all) > 3 {
			return fmt.Sprintf("%d from %s to %s", len(all), all[0], all[len(all)-1])
		}
		return strings.Join(all, " ")
	}
	for want, in := range map[string]awscw.DescribeAlarmsInput{
		"121 from a-000 to b":     {},
		"120 from a-000 to a-119": {AlarmNamePrefix: aws.String("a-"), MaxRecords: aws.Int32(7)},
		"20 from a-100 to a-119":  {AlarmNamePrefix: aws.String("a-1"), ActionPrefix: aws.String("arn:aws:sns:")},
		"a-007":                   {StateValue: "ALARM"},
		"a-003 b":                 {AlarmNames: []string{"b", "nope", "a-003"}},
		"":                        {AlarmTypes: []cwtypes.AlarmType{"CompositeAlarm"}},
	} {
		if got := names(in); got != want {
			t.Errorf("%+v: %s, want %s", in, got, want)
		}
	}
	if out := must(b.DescribeAlarms(b.ctx,
		&awscw.DescribeAlarmsInput{MaxRecords: aws.Int32(2)}))(t); len(out.MetricAlarms) != 2 || out.NextToken == nil {
		t.Errorf("a page of 2: %+v", out)
	}
	refused(b.DescribeAlarms(b.ctx, &awscw.DescribeAlarmsInput{AlarmNames: make([]string, 101)}))(t, "ValidationError",
		"less than or equal to 100")
	refused(b.DescribeAlarms(b.ctx, &awscw.DescribeAlarmsInput{MaxRecords: aws.Int32(101)}))(t, "ValidationError",
		"value less than or equal to 100")
	refused(b.DescribeAlarms(b.ctx, &awscw.DescribeAlarmsInput{NextToken: aws.String("x")}))(t, "InvalidNextToken", "")
	refused(b.DescribeAlarms(b.ctx, &awscw.DescribeAlarmsInput{AlarmNames: []string{"b"},
		AlarmNamePrefix: aws.String("b")}))(t, "InvalidParameterCombination", "together")
}

func TestAlarmsAreRefused(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		code, text string
		edit       func(*awscw.PutMetricAlarmInput)
	}{
		{"ValidationError", "at 'alarmName'", func(in *awscw.PutMetricAlarmInput) { in.AlarmName = aws.String("") }},
		{"ValidationError", "at 'comparisonOperator' failed to satisfy constraint: Member must satisfy enum value set",
			func(in *awscw.PutMetricAlarmInput) { in.ComparisonOperator = "More" }},
		{"ValidationError", "at 'evaluationPeriods' failed to satisfy constraint: Member must not be null",
			func(in *awscw.PutMetricAlarmInput) { in.EvaluationPeriods = nil }},
		{"ValidationError", "must be 10, 20, 30 or a multiple of 60",
			func(in *awscw.PutMetricAlarmInput) { in.Period = aws.Int32(90) }},
		{"ValidationError", "more than a day",
			func(in *awscw.PutMetricAlarmInput) { in.EvaluationPeriods = aws.Int32(1441) }},
		{"ValidationError", "DatapointsToAlarm",
			func(in *awscw.PutMetricAlarmInput) { in.DatapointsToAlarm = aws.Int32(3) }},
		{"ValidationError", "TreatMissingData",
			func(in *awscw.PutMetricAlarmInput) { in.TreatMissingData = aws.String("maybe") }},
		{"MissingParameter", "Statistic", func(in *awscw.PutMetricAlarmInput) { in.Statistic = "" }},
		{"MissingParameter", "Threshold", func(in *awscw.PutMetricAlarmInput) { in.Threshold = nil }},
		{"InvalidParameterCombination", "with Metrics",
			func(in *awscw.PutMetricAlarmInput) { in.Metrics = []cwtypes.MetricDataQuery{{Id: aws.String("a")}} }},
		{"InvalidParameterValue", "not simulated", func(in *awscw.PutMetricAlarmInput) {
			in.EvaluationCriteria = &cwtypes.EvaluationCriteriaMemberPromQLCriteria{Value: cwtypes.AlarmPromQLCriteria{Query: aws.String("up")}}
		}},
	} {
		in := alarm("a")
		c.edit(in)
		refused(b.PutMetricAlarm(b.ctx, in))(t, c.code, c.text)
	}
	_, err := b.SetAlarmState(b.ctx, &awscw.SetAlarmStateInput{AlarmName: aws.String("nope"), StateValue: "OK",
		StateReason: aws.String("x")})
	var typed *cwtypes.ResourceNotFound
	if !errors.As(err, &typed) {
		t.Errorf("an alarm that is not there: %v", err)
	}
	must(b.PutMetricAlarm(b.ctx, alarm("a")))(t)
	refused(b.SetAlarmState(b.ctx, &awscw.SetAlarmStateInput{AlarmName: aws.String("a"), StateValue: "OK",
		StateReason: aws.String("x"), StateReasonData: aws.String("{")}))(t, "InvalidFormat", "JSON")
	refused(b.DeleteAlarms(b.ctx, &awscw.DeleteAlarmsInput{AlarmNames: []string{"a", "nope"}}))(t, "ResourceNotFound",
		"")
	b.describe(t, "a") // none was deleted
	refused(b.PutDashboard(b.ctx, &awscw.PutDashboardInput{DashboardName: aws.String("d"),
		DashboardBody: aws.String("{}")}))(t, "UnknownOperationException", "")
}

func TestActionsTagsAndHistory(t *testing.T) {
	b := newBench(t)
	must(b.PutMetricAlarm(b.ctx, alarm("a")))(t)
	must(b.DisableAlarmActions(b.ctx, &awscw.DisableAlarmActionsInput{AlarmNames: []string{"a", "nope"}}))(t)
	a := b.describe(t, "a")
	if *a.ActionsEnabled {
		t.Error("actions are still enabled")
	}
	must(b.EnableAlarmActions(b.ctx, &awscw.EnableAlarmActionsInput{AlarmNames: []string{"a"}}))(t)
	if !*b.describe(t, "a").ActionsEnabled {
		t.Error("actions are not enabled again")
	}
	must(b.TagResource(b.ctx, &awscw.TagResourceInput{ResourceARN: a.AlarmArn,
		Tags: []cwtypes.Tag{{Key: aws.String("env"), Value: aws.String("x")}}}))(t)
	must(b.UntagResource(b.ctx, &awscw.UntagResourceInput{ResourceARN: a.AlarmArn, TagKeys: []string{"team"}}))(t)
	if tags := must(b.ListTagsForResource(b.ctx,
		&awscw.ListTagsForResourceInput{ResourceARN: a.AlarmArn}))(t).Tags; len(tags) != 1 || *tags[0].Key != "env" {
		t.Errorf("tags %+v", tags)
	}
	refused(b.ListTagsForResource(b.ctx,
		&awscw.ListTagsForResourceInput{ResourceARN: aws.String(
			"arn:aws:cloudwatch:eu-west-1:123456789012:alarm:no")}))(t, "ResourceNotFoundException", "does not exist")
	b.after(time.Minute)
	b.set(t, "a", "ALARM")
	must(b.DeleteAlarms(b.ctx, &awscw.DeleteAlarmsInput{AlarmNames: []string{"a"}}))(t)
	var got []string
	out := must(b.DescribeAlarmHistory(b.ctx, &awscw.DescribeAlarmHistoryInput{AlarmName: aws.String("a")}))(t)
	for _, x := range out.AlarmHistoryItems {
		got = append(got, string(x.HistoryItemType)+": "+*x.HistorySummary)
	}
	want := `ConfigurationUpdate: Alarm "a" deleted, StateUpdate: Alarm updated from INSUFFICIENT_DATA to ALARM, ConfigurationUpdate: Alarm "a" created`
	if strings.Join(got, ", ") != want {
		t.Errorf("history %q", got)
	}
}

func TestMetricDataComesBackSummedUp(t *testing.T) {
	b := newBench(t)
	start := b.clock.now.Truncate(time.Minute)
	put := func(data ...cwtypes.MetricDatum) {
		t.Helper()
		must(b.PutMetricData(b.ctx, &awscw.PutMetricDataInput{Namespace: aws.String("shop"), MetricData: data}))(t)
	}
	name, dims := aws.String("errors"), []cwtypes.Dimension{{Name: aws.String("b"), Value: aws.String("2")},
		{Name: aws.String("a"), Value: aws.String("1")}}
	put(cwtypes.MetricDatum{MetricName: name, Dimensions: dims, Value: aws.Float64(3),
		Timestamp: aws.Time(start.Add(time.Second))},
		cwtypes.MetricDatum{MetricName: name, Dimensions: dims, Values: []float64{1, 5}, Counts: []float64{2, 1},
			Timestamp: aws.Time(start.Add(30 * time.Second))},
		cwtypes.MetricDatum{MetricName: name, Dimensions: dims,
			StatisticValues: &cwtypes.StatisticSet{SampleCount: aws.Float64(4), Sum: aws.Float64(8),
				Minimum: aws.Float64(1), Maximum: aws.Float64(4)}, Timestamp: aws.Time(start.Add(70 * time.Second))},
		cwtypes.MetricDatum{MetricName: name, Value: aws.Float64(99)})
	stats := must(b.GetMetricStatistics(b.ctx, &awscw.GetMetricStatisticsInput{Namespace: aws.String("shop"),
		MetricName: name,
		Dimensions: []cwtypes.Dimension{dims[1], dims[0]}, StartTime: &start, EndTime: aws.Time(start.Add(time.Hour)),
		Period:     aws.Int32(60),
		Statistics: []cwtypes.Statistic{"Sum", "Average", "Maximum", "Minimum", "SampleCount"}}))(t)
	var got []string
	for _, p := range stats.Datapoints {
		got = append(got, fmt.Sprint(p.Timestamp.Sub(start), *p.Sum, *p.Average, *p.Minimum, *p.Maximum,
			*p.SampleCount))
	}
	if want := "0s 10 2.5 1 5 4, 1m0s 8 2 1 4 4"; strings.Join(got, ", ") != want {
		t.Errorf("statistics %q, want %s", got, want)
	}
	ask := &awscw.GetMetricDataInput{StartTime: &start, EndTime: aws.Time(start.Add(time.Hour)),
		MetricDataQueries: []cwtypes.MetricDataQuery{
			{Id: aws.String("e"), MetricStat: &cwtypes.MetricStat{Metric: &cwtypes.Metric{Namespace: aws.String("shop"),
				MetricName: name, Dimensions: dims}, Period: aws.Int32(60), Stat: aws.String("Sum")}},
			{Id: aws.String("none"), MetricStat: &cwtypes.MetricStat{Metric: &cwtypes.Metric{Namespace: aws.String(
				"shop"),
				MetricName: aws.String("x")}, Period: aws.Int32(60), Stat: aws.String("Sum")}}}}
	data := must(b.GetMetricData(b.ctx, ask))(t).MetricDataResults
	if len(data) != 2 || fmt.Sprint(data[0].Values) != "[8 10]" || len(data[1].Values) != 0 ||
		data[0].StatusCode != "Complete" {
		t.Errorf("data %+v", data)
	}
	ask.MetricDataQueries = []cwtypes.MetricDataQuery{{Id: aws.String("m"), Expression: aws.String("e/2")}}
	refused(b.GetMetricData(b.ctx, ask))(t, "InvalidParameterValue", "not simulated")
	refused(b.PutMetricData(b.ctx, &awscw.PutMetricDataInput{Namespace: aws.String("shop"),
		MetricData: []cwtypes.MetricDatum{{MetricName: name}}}))(t, "InvalidParameterCombination", "Exactly one")
}
